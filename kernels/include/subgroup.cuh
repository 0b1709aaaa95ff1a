// Membership in the subgroup of order r, by endomorphisms instead of a multiplication by r.
//
//   G1 of BN254        the whole curve
//   G1 of BLS12-381    phi(P) = -[x²]P, phi(X, Y) = (beta·X, Y)          Scott, eprint 2021/1130, section 6
//   G2 of BLS12-381    psi(P) = [x]P                                     Scott, eprint 2021/1130, section 4
//   G2 of BN254        [x + 1]P + psi([x]P) + psi²([x]P) = psi³([2x]P)   Dai, Lin, Zhao, Zhou, eprint 2022/348
// psi is the untwist-Frobenius-twist map. Points are on their curve and public: the time depends on them.
#pragma once
#include "curve.cuh"

namespace cuzkd {

// [|x|]P for the curve's parameter x, by double and add.
template <class F, class C>
HD Xyzz<F, C> multiply_by_x(const Xyzz<F, C>& p) {
    constexpr u64 x = C::Constants::X_ABS;
    Xyzz<F, C> sum = p;
    unsigned bit = 63;
    while (!(x >> bit & 1)) bit--;
    while (bit-- > 0) {
        sum = sum.dbl();
        if (x >> bit & 1) sum.add(p);
    }
    return sum;
}

// psi on the twist: conjugate, then scale x and y.
template <class F, class C>
HD Xyzz<F, C> psi(const Xyzz<F, C>& p) {
    using Constants = typename C::Constants;
    return Xyzz<F, C>{p.X.conjugate() * F::of(Constants::psi_x), p.Y.conjugate() * F::of(Constants::psi_y),
                      p.ZZ.conjugate(), p.ZZZ.conjugate()};
}

HD inline bool in_subgroup(const Bn254::G1&) { return true; }

HD inline bool in_subgroup(const Bls12381::G1& point) {
    const auto p = Bls12381::G1Xyzz::from_affine(point);
    const auto phi = Bls12381::G1Xyzz{p.X * Bls12381::Fq::of(Bls12381Constants::beta), p.Y, p.ZZ, p.ZZZ};
    return multiply_by_x(multiply_by_x(p)).neg() == phi;
}

HD inline bool in_subgroup(const Bls12381::G2& point) {
    const auto p = Bls12381::G2Xyzz::from_affine(point);
    static_assert(Bls12381Constants::X_NEGATIVE, "x·P is the negative of |x|·P");
    return multiply_by_x(p).neg() == psi(p);
}

HD inline bool in_subgroup(const Bn254::G2& point) {
    static_assert(!Bn254Constants::X_NEGATIVE, "x·P is |x|·P");
    const auto p = Bn254::G2Xyzz::from_affine(point);
    const auto xp = multiply_by_x(p);
    const auto psi_xp = psi(xp);
    const auto psi2_xp = psi(psi_xp);
    auto left = xp;
    left.add(p);
    left.add(psi_xp);
    left.add(psi2_xp);
    return left == psi(psi2_xp).dbl();
}

}  // namespace cuzkd
