// Field operations four lanes at a time: for each line "curve a b" on standard input (limbs of 64 bits in hexadecimal,
// least first, joined by commas) the results, one a line. The line's numbers are in one lane, which changes from line
// to line; the others hold what the line before had.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "lanes2.hpp"

using namespace cuzkd;

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
struct Four {
    F element[4] = {};

    typename LanesOf<F>::type load() const {
        const F* const each[4] = {element, element + 1, element + 2, element + 3};
        return LanesOf<F>::type::load(each);
    }
    void store(typename LanesOf<F>::type lanes) {
        F* const each[4] = {element, element + 1, element + 2, element + 3};
        lanes.reduce();
        lanes.store(each);
    }
};

template <class F>
void print(const Four<F>& four, unsigned lane) {
    u64 limb[F::LIMBS64];
    four.element[lane].to_raw(limb);
    for (u64 value : limb) std::printf("%lx,", value);
    std::printf("\n");
}

// b - a, a·b, 2^SCALE·a·b, and over Fq2 (a + b·u)·(b + a·u).
template <class F>
CUZKD_NOINLINE void compute(const Four<F>& a, const Four<F>& b, Four<F>* results, Four<Fq2<F>>& square) {
    using L = typename LanesOf<F>::type;
    using L2 = typename LanesOf<Fq2<F>>::type;
    const RoundTowardsZero rounding;
    const L x = a.load(), y = b.load();
    const L difference = L::template difference<1>(y, x);
    const L product = L::mul(x.doubles(), y.template factor<2>());
    results[0].store(difference);
    results[1].store(product);
    results[2].store(L::mul(product.scaled().doubles(), L::broadcast(F::one()).template factor<2>()));
    square.store(L2::mul(L2{x, y}.doubles(), L2{y, x}.template factor<2>()));
}

template <class F>
void answer(const std::string& left, const std::string& right, unsigned lane) {
    static Four<F> a, b;
    a.element[lane] = parse<F>(left), b.element[lane] = parse<F>(right);
    Four<F> results[3];
    Four<Fq2<F>> square;
    compute(a, b, results, square);
    for (const Four<F>& result : results) print(result, lane);
    print(square, lane);
    const auto x = a.load(), y = b.load();
    std::printf("%d%d\n", x.zeros() >> lane & 1, x.equals(y) >> lane & 1);
}

int main() {
    std::string curve, a, b;
    for (unsigned line = 0; std::cin >> curve >> a >> b; ++line) {
        if (curve == "bn128") answer<Bn254Fq>(a, b, line % 4);
        if (curve == "bls12381") answer<Bls12381Fq>(a, b, line % 4);
    }
}
