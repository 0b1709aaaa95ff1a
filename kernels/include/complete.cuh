// Point arithmetic without exceptional cases, for scalars that are secret.
//
// Homogeneous coordinates (X : Y : Z), x = X/Z, y = Y/Z, infinity (0 : 1 : 0), with the complete addition and doubling
// of Renes, Costello, Batina, "Complete addition formulas for prime order elliptic curves" (2016), algorithms 7 and 9.
// They hold for all inputs because neither group, nor the whole curve or twist around it, has a point of order two.
#pragma once
#include "curve.cuh"

namespace cuzkd {

template <class F, class CurveParams>
struct Complete {
    F X, Y, Z;

    static HD Complete infinity() { return Complete{F::zero(), F::one(), F::zero()}; }
    static HD Complete from_affine(const Affine<F, CurveParams>& p) {
        return p.is_infinity() ? infinity() : Complete{p.x, p.y, F::one()};
    }

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

    HD CUZKD_NOINLINE Complete dbl() const {
        const F b1 = CurveParams::template b<F>();
        F yy = Y.sqr();
        F yy8 = yy.dbl().dbl().dbl();
        F zz3 = (b1.dbl() + b1) * Z.sqr();
        F minus = yy - (zz3.dbl() + zz3);
        return Complete{(minus * (X * Y)).dbl(), minus * (yy + zz3) + zz3 * yy8, yy8 * (Y * Z)};
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

// The 16 multiples of a point that four bits of a scalar choose from. A choice reads them all.
template <class F, class CurveParams>
struct SecretTable {
    static constexpr unsigned BITS = 4, SIZE = 1 << BITS;
    using Point = Complete<F, CurveParams>;

    Point multiple[SIZE];

    // Points are public.
    HD void fill(const Affine<F, CurveParams>& p) {
        multiple[0] = Point::infinity();
        multiple[1] = Point::from_affine(p);
        for (unsigned k = 2; k < SIZE; k++) multiple[k] = multiple[k - 1] + multiple[1];
    }
    HD Point at(unsigned digit) const {
        Point chosen = multiple[0];
        for (unsigned k = 1; k < SIZE; k++) {
            // All ones where k is the digit: only 0 - 1 sets the top bit.
            const word mask = static_cast<word>(0) - ((static_cast<word>(k ^ digit) - 1) >> (WORD_BITS - 1));
            chosen = Point{detail::select(mask, multiple[k].X, chosen.X), detail::select(mask, multiple[k].Y, chosen.Y),
                           detail::select(mask, multiple[k].Z, chosen.Z)};
        }
        return chosen;
    }
};

// sum of scalars[i]·points[i] for scalars of 4 limbs each, in groups of a few points that share their doublings;
// branches and addresses don't depend on the scalars.
template <class F, class C>
HD Affine<F, C> combine_secret(const Affine<F, C>* points, const u64* scalars, u64 count) {
    using Table = SecretTable<F, C>;
    constexpr u64 TOGETHER = 8;
    Table tables[TOGETHER];
    auto total = Complete<F, C>::infinity();
    for (u64 first = 0; first < count; first += TOGETHER) {
        const u64 group = count - first < TOGETHER ? count - first : TOGETHER;
        for (u64 i = 0; i < group; i++) tables[i].fill(points[first + i]);
        auto sum = Complete<F, C>::infinity();
        for (unsigned bit = 256; bit > 0;) {
            bit -= Table::BITS;
            for (unsigned k = 0; k < Table::BITS; k++) sum = sum.dbl();
            for (u64 i = 0; i < group; i++) {
                const u64 limb = scalars[4 * (first + i) + bit / 64];
                sum = sum + tables[i].at(static_cast<unsigned>(limb >> (bit % 64)) % Table::SIZE);
            }
        }
        total = total + sum;
    }
    return total.to_affine();
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
