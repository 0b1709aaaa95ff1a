// Prime fields in Montgomery form, and the quadratic extension Fq2 = Fq[u]/(u² + 1).
//
// Elements are canonical (< p) after every operation. Sums and products don't branch on an element's value;
// comparisons and `inverse` may.
#pragma once
#include "inverse.cuh"
#include "limbs.cuh"
#include "params.cuh"

namespace cuzkd {

template <class P>
struct Field {
    using Params = P;
    static constexpr unsigned N = WORDS<P>;
    static constexpr unsigned LIMBS64 = P::LIMBS32 / 2;
    // Inlining a product of six limbs, or anything in plain C++, gains little and costs compile time and cache.
    static constexpr bool INLINE_SUM = CUZKD_FAST_LIMBS;
    static constexpr bool INLINE_PRODUCT = CUZKD_FAST_LIMBS && LIMBS64 <= CUZKD_INLINED_LIMBS64;

    word v[N];

    static HD CUZKD_INLINE Field zero() { return Field{}; }
    static HD CUZKD_INLINE Field one() { return of(P::one); }

    // The element with the given constant limbs (already in Montgomery form), from limb `first` on.
    static HD CUZKD_INLINE Field of(u64 (*limb)(unsigned), unsigned first = 0) {
        Field r;
        for (unsigned i = 0; i < N; i++) r.v[i] = word_of(limb, first * (64 / WORD_BITS) + i);
        return r;
    }

    // A small integer as an element.
    static HD Field from_u32(u32 k) {
        Field r = zero();
        r.v[0] = k;
        return r.to_montgomery();
    }

    // The 64-bit limbs as they are, without conversion or reduction; the caller knows that they are < p.
    static HD CUZKD_INLINE Field from_raw(const u64* limb) {
        Field r;
        for (unsigned i = 0; i < N; i++) r.v[i] = static_cast<word>(limb[i * WORD_BITS / 64] >> (i * WORD_BITS % 64));
        return r;
    }

    HD CUZKD_INLINE void to_raw(u64* limb) const {
        constexpr unsigned PER = 64 / WORD_BITS;
        for (unsigned i = 0; i < LIMBS64; i++) {
            u64 value = 0;
            for (unsigned j = 0; j < PER; j++) value |= static_cast<u64>(v[i * PER + j]) << (j * WORD_BITS);
            limb[i] = value;
        }
    }

    HD CUZKD_INLINE word* limbs() { return v; }
    HD CUZKD_INLINE const word* limbs() const { return v; }

    friend HD CUZKD_INLINE Field operator+(const Field& a, const Field& b) {
        Field r;
        if constexpr (INLINE_SUM)
            cuzkd::limbs::add<P>(r.v, a.v, b.v);
        else
            add_call(r.v, a.v, b.v);
        return r;
    }
    friend HD CUZKD_INLINE Field operator-(const Field& a, const Field& b) {
        Field r;
        if constexpr (INLINE_SUM)
            cuzkd::limbs::sub<P>(r.v, a.v, b.v);
        else
            sub_call(r.v, a.v, b.v);
        return r;
    }
    friend HD CUZKD_INLINE Field operator*(const Field& a, const Field& b) {
        if constexpr (!INLINE_PRODUCT) return mul_call(a, b);
        Field r;
        cuzkd::limbs::mul<P>(r.v, a.v, b.v);
        return r;
    }
    // a·b + c·d and a·b - c·d, each with one reduction.
    static HD CUZKD_INLINE Field mul_add(const Field& a, const Field& b, const Field& c, const Field& d) {
        if constexpr (!INLINE_PRODUCT) return mul_add_call(a, b, c, d);
        Field r;
        cuzkd::limbs::mul_add<P>(r.v, a.v, b.v, c.v, d.v);
        return r;
    }
    static HD CUZKD_INLINE Field mul_sub(const Field& a, const Field& b, const Field& c, const Field& d) {
        return mul_add(a, b, -c, d);
    }
    HD CUZKD_INLINE Field operator-() const { return zero() - *this; }
    HD CUZKD_INLINE Field dbl() const { return *this + *this; }
    HD CUZKD_INLINE Field sqr() const {
        if constexpr (!INLINE_PRODUCT) return sqr_call(*this);
        Field r;
        cuzkd::limbs::sqr<P>(r.v, v);
        return r;
    }
    HD CUZKD_INLINE Field& operator+=(const Field& b) { return *this = *this + b; }
    HD CUZKD_INLINE Field& operator-=(const Field& b) { return *this = *this - b; }
    HD CUZKD_INLINE Field& operator*=(const Field& b) { return *this = *this * b; }

    HD CUZKD_INLINE bool is_zero() const {
        word any = 0;
        for (unsigned i = 0; i < N; i++) any |= v[i];
        return any == 0;
    }
    friend HD CUZKD_INLINE bool operator==(const Field& a, const Field& b) {
        word any = 0;
        for (unsigned i = 0; i < N; i++) any |= a.v[i] ^ b.v[i];
        return any == 0;
    }
    friend HD CUZKD_INLINE bool operator!=(const Field& a, const Field& b) { return !(a == b); }

    // Whether the words, read as an integer, are < p.
    HD CUZKD_INLINE bool is_canonical() const {
        for (unsigned i = N; i-- > 0;) {
            word p = word_of(P::modulus, i);
            if (v[i] != p) return v[i] < p;
        }
        return false;
    }

    HD CUZKD_INLINE Field to_montgomery() const { return *this * of(P::r_squared); }
    HD CUZKD_INLINE Field from_montgomery() const {
        Field plain_one = zero();
        plain_one.v[0] = 1;
        return *this * plain_one;
    }

    // this^e for e of `count` 64-bit limbs, least first; e may be public only.
    HD CUZKD_NOINLINE Field pow(const u64* e, unsigned count) const {
        Field r = one();
        for (unsigned i = 64 * count; i-- > 0;) {
            r = r.sqr();
            if (e[i / 64] >> (i % 64) & 1) r *= *this;
        }
        return r;
    }

    // 1/this, and 0 for 0; the time depends on the value.
    HD CUZKD_NOINLINE Field inverse() const {
        u64 limb[LIMBS64];
        u32 digit[P::LIMBS32];
        to_raw(limb);
        for (unsigned i = 0; i < P::LIMBS32; i++) digit[i] = static_cast<u32>(limb[i / 2] >> (32 * (i % 2)));
        detail::invert<P>(digit, digit);
        for (unsigned i = 0; i < LIMBS64; i++) limb[i] = digit[2 * i] | static_cast<u64>(digit[2 * i + 1]) << 32;
        // 1/(a·R) as an integer, and a^-1·R is wanted: R³ in two products.
        return from_raw(limb) * (of(P::r_squared) * of(P::r_squared));
    }

    // The same as this^(p - 2), whose course doesn't depend on the element: several times slower.
    HD CUZKD_NOINLINE Field inverse_fermat() const {
        u64 e[LIMBS64];
        for (unsigned i = 0; i < LIMBS64; i++) e[i] = P::modulus(i);
        e[0] -= 2;
        return pow(e, LIMBS64);
    }

  private:
    static HD CUZKD_NOINLINE void add_call(word* r, const word* a, const word* b) {
        cuzkd::limbs::add<P>(r, a, b);
    }
    static HD CUZKD_NOINLINE void sub_call(word* r, const word* a, const word* b) {
        cuzkd::limbs::sub<P>(r, a, b);
    }
    static HD CUZKD_NOINLINE Field mul_call(CUZKD_ARGUMENT(Field) a, CUZKD_ARGUMENT(Field) b) {
        Field r;
        cuzkd::limbs::mul<P>(r.v, a.v, b.v);
        return r;
    }
    static HD CUZKD_NOINLINE Field mul_add_call(CUZKD_ARGUMENT(Field) a, CUZKD_ARGUMENT(Field) b, CUZKD_ARGUMENT(Field) c,
                                                CUZKD_ARGUMENT(Field) d) {
        Field r;
        cuzkd::limbs::mul_add<P>(r.v, a.v, b.v, c.v, d.v);
        return r;
    }
    static HD CUZKD_NOINLINE Field sqr_call(CUZKD_ARGUMENT(Field) a) {
        Field r;
        cuzkd::limbs::sqr<P>(r.v, a.v);
        return r;
    }
};

template <class F>
struct Fq2 {
    using Base = F;
    static constexpr unsigned LIMBS64 = 2 * F::LIMBS64;

    F c0, c1;

    static HD CUZKD_INLINE Fq2 zero() { return Fq2{F::zero(), F::zero()}; }
    static HD CUZKD_INLINE Fq2 one() { return Fq2{F::one(), F::zero()}; }
    static HD CUZKD_INLINE Fq2 of(u64 (*limb)(unsigned), unsigned first = 0) {
        return Fq2{F::of(limb, first), F::of(limb, first + F::LIMBS64)};
    }
    static HD CUZKD_INLINE Fq2 from_raw(const u64* limb) {
        return Fq2{F::from_raw(limb), F::from_raw(limb + F::LIMBS64)};
    }
    HD CUZKD_INLINE void to_raw(u64* limb) const {
        c0.to_raw(limb);
        c1.to_raw(limb + F::LIMBS64);
    }

    friend HD CUZKD_INLINE Fq2 operator+(const Fq2& a, const Fq2& b) { return Fq2{a.c0 + b.c0, a.c1 + b.c1}; }
    friend HD CUZKD_INLINE Fq2 operator-(const Fq2& a, const Fq2& b) { return Fq2{a.c0 - b.c0, a.c1 - b.c1}; }

    // Four products and two reductions, all in registers: faster than Karatsuba's three of each.
    friend HD CUZKD_NOINLINE Fq2 operator*(CUZKD_ARGUMENT(Fq2) a, CUZKD_ARGUMENT(Fq2) b) {
        return Fq2{F::mul_sub(a.c0, b.c0, a.c1, b.c1), F::mul_add(a.c0, b.c1, a.c1, b.c0)};
    }
    static HD CUZKD_INLINE Fq2 mul_sub(const Fq2& a, const Fq2& b, const Fq2& c, const Fq2& d) {
        return a * b - c * d;
    }
    friend HD CUZKD_INLINE Fq2 operator*(const Fq2& a, const F& k) { return Fq2{a.c0 * k, a.c1 * k}; }
    HD CUZKD_INLINE Fq2 operator-() const { return Fq2{-c0, -c1}; }
    HD CUZKD_INLINE Fq2 dbl() const { return *this + *this; }
    HD CUZKD_INLINE Fq2 sqr() const { return sqr_call(*this); }
    HD CUZKD_INLINE Fq2& operator+=(const Fq2& b) { return *this = *this + b; }
    HD CUZKD_INLINE Fq2& operator-=(const Fq2& b) { return *this = *this - b; }
    HD CUZKD_INLINE Fq2& operator*=(const Fq2& b) { return *this = *this * b; }
    HD CUZKD_INLINE Fq2 conjugate() const { return Fq2{c0, -c1}; }

    HD CUZKD_INLINE bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
    HD CUZKD_INLINE bool is_canonical() const { return c0.is_canonical() && c1.is_canonical(); }
    friend HD CUZKD_INLINE bool operator==(const Fq2& a, const Fq2& b) { return a.c0 == b.c0 && a.c1 == b.c1; }
    friend HD CUZKD_INLINE bool operator!=(const Fq2& a, const Fq2& b) { return !(a == b); }

    HD Fq2 to_montgomery() const { return Fq2{c0.to_montgomery(), c1.to_montgomery()}; }
    HD Fq2 from_montgomery() const { return Fq2{c0.from_montgomery(), c1.from_montgomery()}; }

    HD Fq2 inverse() const { return conjugate() * (c0.sqr() + c1.sqr()).inverse(); }
    HD Fq2 inverse_fermat() const { return conjugate() * (c0.sqr() + c1.sqr()).inverse_fermat(); }

  private:
    static HD CUZKD_NOINLINE Fq2 sqr_call(CUZKD_ARGUMENT(Fq2) a) {
        F product = a.c0 * a.c1;
        return Fq2{(a.c0 + a.c1) * (a.c0 - a.c1), product.dbl()};
    }
};

using Bn254Fq = Field<Bn254FqParams>;
using Bn254Fr = Field<Bn254FrParams>;
using Bls12381Fq = Field<Bls12381FqParams>;
using Bls12381Fr = Field<Bls12381FrParams>;

}  // namespace cuzkd
