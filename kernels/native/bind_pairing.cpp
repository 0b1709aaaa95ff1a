// Bindings of the pairing; a row of `p` and the same row of `q` are one term of a product.
#include "bindings.hpp"
#include "pairing.hpp"

namespace cuzkd {
namespace {

// The terms with neither point at infinity: the others are one. Points must be on their curve.
template <class C>
std::vector<typename Pairing<C>::Term> terms_of(const Limbs& p, const Limbs& q) {
    using G1 = typename C::G1;
    using G2 = typename C::G2;
    require(p.shape(1) == G1::LIMBS64 && q.shape(1) == G2::LIMBS64, "points have another width");
    require(p.shape(0) == q.shape(0), "p and q have one length");
    std::vector<typename Pairing<C>::Term> terms;
    for (size_t i = 0; i < p.shape(0); i++) {
        const G1 a = G1::from_raw(p.data() + G1::LIMBS64 * i);
        const G2 b = G2::from_raw(q.data() + G2::LIMBS64 * i);
        require(a.is_on_curve() && b.is_on_curve(), "a point is off its curve");
        if (!a.is_infinity() && !b.is_infinity()) terms.push_back({a, b});
    }
    return terms;
}

template <class C>
Fq12<C> product(const Limbs& p, const Limbs& q) {
    const auto terms = terms_of<C>(p, q);
    nb::gil_scoped_release release;
    return Pairing<C>::final_power(Pairing<C>::miller_loop(terms));
}

void pairing(const std::string& curve, Limbs p, Limbs q, LimbsOut out) {
    with_curve(curve, [&](auto c) {
        using C = decltype(c);
        using Fq2 = typename C::Fq2;
        require(out.shape(0) == 6 && out.shape(1) == Fq2::LIMBS64, "out is six elements of Fq2");
        const Fq12<C> value = product<C>(p, q);
        const Fq2 parts[6] = {value.c0.c0, value.c0.c1, value.c0.c2, value.c1.c0, value.c1.c1, value.c1.c2};
        for (size_t i = 0; i < 6; i++) parts[i].from_montgomery().to_raw(out.data() + Fq2::LIMBS64 * i);
    });
}

bool product_is_one(const std::string& curve, Limbs p, Limbs q) {
    return with_curve(curve, [&](auto c) { return product<decltype(c)>(p, q) == Fq12<decltype(c)>::one(); });
}

}  // namespace

void bind_pairing(nb::module_& m) {
    using namespace nb::literals;
    m.def("pairing", &pairing, "curve"_a, "p"_a, "q"_a, "out"_a);
    m.def("product_is_one", &product_is_one, "curve"_a, "p"_a, "q"_a);
}

}  // namespace cuzkd
