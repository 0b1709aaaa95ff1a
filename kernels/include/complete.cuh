// Point arithmetic without exceptional cases, for scalars that are secret.
//
// Homogeneous coordinates (X : Y : Z), x = X/Z, y = Y/Z, infinity (0 : 1 : 0), with the complete addition of Renes,
// Costello, Batina, "Complete addition formulas for prime order elliptic curves" (2016), algorithm 7. It holds for all
// inputs because neither group, nor the whole curve or twist around it, has a point of order two.
#pragma once
#include "curve.cuh"

namespace cuzkd {

template <class F, class CurveParams>
struct Complete {
    F X, Y, Z;

    static HD Complete infinity() { return Complete{F::zero(), F::one(), F::zero()}; }

    friend HD CUZKD_NOINLINE Complete operator+(const Complete& a, const Complete& b) {
        const F b1 = CurveParams::template b<F>();
        const F b3 = b1.dbl() + b1;
        F xx = a.X * b.X;
        F yy = a.Y * b.Y;
        F zz = a.Z * b.Z;
        F xy = (a.X + a.Y) * (b.X + b.Y) - xx - yy;
        F yz = (a.Y + a.Z) * (b.Y + b.Z) - yy - zz;
        F xz = b3 * ((a.X + a.Z) * (b.X + b.Z) - xx - zz);
        F xx3 = xx.dbl() + xx;
        F zz3 = b3 * zz;
        F plus = yy + zz3;
        F minus = yy - zz3;
        return Complete{xy * minus - yz * xz, minus * plus + xz * xx3, plus * yz + xx3 * xy};
    }

    // Infinity comes out as (0, 0), because the inverse of 0 is 0.
    HD Affine<F, CurveParams> to_affine() const {
        F inverse_z = Z.inverse_fermat();
        return Affine<F, CurveParams>{X * inverse_z, Y * inverse_z};
    }
};

namespace detail {

// a where mask is all ones, else b.
template <class P>
HD Field<P> select(word mask, const Field<P>& a, const Field<P>& b) {
    Field<P> r;
    for (unsigned i = 0; i < Field<P>::N; i++) r.v[i] = (a.v[i] & mask) | (b.v[i] & ~mask);
    return r;
}

template <class F>
HD Fq2<F> select(word mask, const Fq2<F>& a, const Fq2<F>& b) {
    return Fq2<F>{select(mask, a.c0, b.c0), select(mask, a.c1, b.c1)};
}

}  // namespace detail

// sum of scalars[i]·points[i] for scalars of 4 limbs each; branches and addresses don't depend on the scalars.
template <class F, class C>
HD Affine<F, C> combine_secret(const Affine<F, C>* points, const u64* scalars, u64 count) {
    using Point = Complete<F, C>;
    const Point infinity = Point::infinity();
    Point sum = infinity;
    for (unsigned bit = 256; bit-- > 0;) {
        sum = sum + sum;
        for (u64 i = 0; i < count; i++) {
            const word chosen = static_cast<word>(0) - static_cast<word>(scalars[4 * i + bit / 64] >> (bit % 64) & 1);
            const word mask = points[i].is_infinity() ? 0 : chosen;
            sum = sum + Point{detail::select(mask, points[i].x, infinity.X), detail::select(mask, points[i].y, infinity.Y),
                              detail::select(mask, F::one(), infinity.Z)};
        }
    }
    return sum.to_affine();
}

// The same sum for public scalars, faster: one accumulator, additions only where a bit is set (Straus, 1964).
template <class F, class C>
HD Affine<F, C> combine_public(const Affine<F, C>* points, const u64* scalars, u64 count) {
    auto sum = Xyzz<F, C>::infinity();
    for (unsigned bit = 256; bit-- > 0;) {
        sum = sum.dbl();
        for (u64 i = 0; i < count; i++)
            if (scalars[4 * i + bit / 64] >> (bit % 64) & 1) sum.add(points[i]);
    }
    return sum.to_affine();
}

}  // namespace cuzkd
