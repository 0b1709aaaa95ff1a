// Field operations over 32-bit words, the device's representation: for each line "field a b" on standard input
// (limbs of 64 bits in hexadecimal, least first, joined by commas) the results, one a line.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "field.cuh"

using namespace cuzkd;
static_assert(sizeof(word) == 4, "compile with -DCUZKD_WORD32");

template <class F>
F parse(const std::string& text) {
    u64 limb[F::LIMBS64];
    std::stringstream in(text);
    std::string part;
    for (u64& value : limb) {
        std::getline(in, part, ',');
        value = std::stoul(part, nullptr, 16);
    }
    return F::from_raw(limb);
}

template <class F>
void print(const F& x) {
    u64 limb[F::LIMBS64];
    x.to_raw(limb);
    for (u64 value : limb) std::printf("%lx,", value);
    std::printf("\n");
}

template <class F>
void answer(const std::string& left, const std::string& right) {
    const F a = parse<F>(left), b = parse<F>(right);
    print(a + b);
    print(a - b);
    print(a * b);
    print(a.sqr());
    print(a.inverse());
    if constexpr (F::Params::SPARE_BITS >= 2) print(F::mul_sub(a, b, b, a.dbl()));
}

int main() {
    std::string field, a, b;
    while (std::cin >> field >> a >> b) {
        if (field == "bn128.fq") answer<Bn254Fq>(a, b);
        if (field == "bn128.fr") answer<Bn254Fr>(a, b);
        if (field == "bls12381.fq") answer<Bls12381Fq>(a, b);
        if (field == "bls12381.fr") answer<Bls12381Fr>(a, b);
    }
}
