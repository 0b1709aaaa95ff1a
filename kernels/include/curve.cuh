// Short Weierstrass points y² = x³ + b: affine storage and XYZZ accumulators, over Fq or Fq2.
//
// Affine is the byte layout of a proving key: x, y in Montgomery form, all zeros for infinity ((0, 0) is on neither
// curve). Xyzz is (X, Y, ZZ, ZZZ) with x = X/ZZ, y = Y/ZZZ, ZZ³ = ZZZ², and ZZ = 0 for infinity; its formulas are
// those of the Explicit-Formulas Database, "shortw/xyzz": madd-2008-s, add-2008-s, dbl-2008-s-1, mdbl-2008-s-1.
#pragma once
#include "field.cuh"

namespace cuzkd {

template <class F, class CurveParams>
struct Affine {
    using Coordinate = F;
    static constexpr unsigned LIMBS64 = 2 * F::LIMBS64;

    F x, y;

    static HD CUZKD_INLINE Affine infinity() { return Affine{F::zero(), F::zero()}; }
    static HD CUZKD_INLINE Affine from_raw(const u64* limb) {
        return Affine{F::from_raw(limb), F::from_raw(limb + F::LIMBS64)};
    }
    HD CUZKD_INLINE void to_raw(u64* limb) const {
        x.to_raw(limb);
        y.to_raw(limb + F::LIMBS64);
    }
    HD CUZKD_INLINE bool is_infinity() const { return x.is_zero() && y.is_zero(); }
    HD CUZKD_INLINE Affine operator-() const { return Affine{x, -y}; }
    friend HD CUZKD_INLINE bool operator==(const Affine& a, const Affine& b) { return a.x == b.x && a.y == b.y; }
    friend HD CUZKD_INLINE bool operator!=(const Affine& a, const Affine& b) { return !(a == b); }

    // Coordinates < q and the equation holds; infinity is on the curve. Subgroups are checked elsewhere.
    HD bool is_on_curve() const {
        if (!x.is_canonical() || !y.is_canonical()) return false;
        return is_infinity() || y.sqr() == x.sqr() * x + CurveParams::template b<F>();
    }
};

template <class F, class CurveParams>
struct Xyzz {
    using Point = Affine<F, CurveParams>;

    F X, Y, ZZ, ZZZ;

    static HD CUZKD_INLINE Xyzz infinity() { return Xyzz{F::zero(), F::zero(), F::zero(), F::zero()}; }
    static HD CUZKD_INLINE Xyzz from_affine(const Point& p) {
        return p.is_infinity() ? infinity() : Xyzz{p.x, p.y, F::one(), F::one()};
    }
    HD CUZKD_INLINE bool is_infinity() const { return ZZ.is_zero(); }
    HD CUZKD_INLINE Xyzz neg() const { return Xyzz{X, -Y, ZZ, ZZZ}; }

    // this += p, for every p: 8 products and 2 squarings in the common case. `add_inline` is for one hot loop.
    HD CUZKD_NOINLINE void add(const Point& p) { add_inline(p); }
    HD CUZKD_INLINE void add_inline(const Point& p) {
        if (p.is_infinity()) return;
        if (is_infinity()) {
            *this = from_affine(p);
            return;
        }
        F P = p.x * ZZ - X;
        F R = p.y * ZZZ - Y;
        if (P.is_zero()) {
            *this = R.is_zero() ? dbl_affine(p) : infinity();
            return;
        }
        F PP = P.sqr();
        F PPP = P * PP;
        F Q = X * PP;
        X = R.sqr() - PPP - Q.dbl();
        Y = F::mul_sub(R, Q - X, Y, PPP);
        ZZ = ZZ * PP;
        ZZZ = ZZZ * PPP;
    }

    // this += o, for every o: 12 products and 2 squarings in the common case.
    HD CUZKD_NOINLINE void add(const Xyzz& o) {
        if (o.is_infinity()) return;
        if (is_infinity()) {
            *this = o;
            return;
        }
        F U1 = X * o.ZZ;
        F S1 = Y * o.ZZZ;
        F P = o.X * ZZ - U1;
        F R = o.Y * ZZZ - S1;
        if (P.is_zero()) {
            *this = R.is_zero() ? dbl() : infinity();
            return;
        }
        F PP = P.sqr();
        F PPP = P * PP;
        F Q = U1 * PP;
        F x3 = R.sqr() - PPP - Q.dbl();
        Y = F::mul_sub(R, Q - x3, S1, PPP);
        X = x3;
        ZZ = ZZ * o.ZZ * PP;
        ZZZ = ZZZ * o.ZZZ * PPP;
    }

    // 2·this: 6 products and 3 squarings. Neither group has a point with y = 0 (their orders are odd).
    HD CUZKD_NOINLINE Xyzz dbl() const {
        if (is_infinity()) return *this;
        F U = Y.dbl();
        F V = U.sqr();
        F W = U * V;
        F S = X * V;
        F XX = X.sqr();
        F M = XX.dbl() + XX;
        F x3 = M.sqr() - S.dbl();
        return Xyzz{x3, F::mul_sub(M, S - x3, W, Y), V * ZZ, W * ZZZ};
    }

    // 2·p for an affine point.
    static HD CUZKD_NOINLINE Xyzz dbl_affine(const Point& p) {
        if (p.is_infinity()) return infinity();
        F U = p.y.dbl();
        F V = U.sqr();
        F W = U * V;
        F S = p.x * V;
        F XX = p.x.sqr();
        F M = XX.dbl() + XX;
        F x3 = M.sqr() - S.dbl();
        return Xyzz{x3, F::mul_sub(M, S - x3, W, p.y), V, W};
    }

    // One inversion: 1/ZZZ gives 1/ZZ = (ZZ/ZZZ)², because ZZ/ZZZ = 1/Z.
    HD CUZKD_NOINLINE Point to_affine() const {
        if (is_infinity()) return Point::infinity();
        F inverse_zzz = ZZZ.inverse();
        F inverse_z = ZZ * inverse_zzz;
        return Point{X * inverse_z.sqr(), Y * inverse_zzz};
    }

    friend HD bool operator==(const Xyzz& a, const Xyzz& b) {
        if (a.is_infinity() || b.is_infinity()) return a.is_infinity() && b.is_infinity();
        return a.X * b.ZZ == b.X * a.ZZ && a.Y * b.ZZZ == b.Y * a.ZZZ;
    }
};

// affine[i] = points[i] for i < count with one inversion in all (Montgomery's trick); `scratch` has `count` elements.
template <class F, class C>
HD void normalize(const Xyzz<F, C>* points, u64 count, Affine<F, C>* affine, F* scratch) {
    F product = F::one();
    for (u64 i = 0; i < count; i++) {
        scratch[i] = product;
        if (!points[i].is_infinity()) product *= points[i].ZZZ;
    }
    F inverse = product.inverse();
    for (u64 i = count; i-- > 0;) {
        const Xyzz<F, C>& p = points[i];
        if (p.is_infinity()) {
            affine[i] = Affine<F, C>::infinity();
            continue;
        }
        F inverse_zzz = inverse * scratch[i];
        F inverse_z = p.ZZ * inverse_zzz;
        affine[i] = Affine<F, C>{p.X * inverse_z.sqr(), p.Y * inverse_zzz};
        inverse *= p.ZZZ;
    }
}

// A curve by name: its fields, the groups' affine points and accumulators, and the constants b.
template <class FqParams, class FrParams, class ConstantsOf>
struct PairingCurve {
    using Constants = ConstantsOf;
    using Fq = Field<FqParams>;
    using Fr = Field<FrParams>;
    using Fq2 = cuzkd::Fq2<Fq>;
    using G1 = Affine<Fq, PairingCurve>;
    using G2 = Affine<Fq2, PairingCurve>;
    using G1Xyzz = Xyzz<Fq, PairingCurve>;
    using G2Xyzz = Xyzz<Fq2, PairingCurve>;

    template <class F>
    static HD CUZKD_INLINE F b() {
        if constexpr (F::LIMBS64 == Fq::LIMBS64)
            return F::of(Constants::b);
        else
            return F::of(Constants::b2);
    }
    static HD G1 generator1() { return G1{Fq::of(Constants::g1), Fq::of(Constants::g1, Fq::LIMBS64)}; }
    static HD G2 generator2() { return G2{Fq2::of(Constants::g2), Fq2::of(Constants::g2, Fq2::LIMBS64)}; }
};

using Bn254 = PairingCurve<Bn254FqParams, Bn254FrParams, Bn254Constants>;
using Bls12381 = PairingCurve<Bls12381FqParams, Bls12381FrParams, Bls12381Constants>;

}  // namespace cuzkd
