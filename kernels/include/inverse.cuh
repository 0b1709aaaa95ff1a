// Modular inversion by the binary Euclidean algorithm, some thirty steps at a time on 64-bit approximations.
//
// Source: Pornin, "Optimized binary GCD for modular inversion" (eprint 2020/972), algorithm 2 with k = 32. Big numbers
// are digits of 32 bits, so that no product needs more than 64 bits on any machine. The course depends on the value:
// secrets are inverted by `Field::inverse_fermat`.
#pragma once
#include "params.cuh"

namespace cuzkd::detail {

using i64 = long;

// Steps at a time. Thirty keep their factors within 32 bits, which a device's registers have.
#if defined(__CUDA_ARCH__)
constexpr unsigned STEPS = 30;
#else
constexpr unsigned STEPS = 31;
#endif

// What the steps do: (a, b) becomes (f0·a + g0·b, f1·a + g1·b) / 2^STEPS. |f| + |g| ≤ 2^STEPS.
struct Steps {
    i64 f0 = 1, g0 = 0, f1 = 0, g1 = 1;
};

#if defined(__CUDA_ARCH__)

HD inline Steps some_steps(u64 a, u64 b) {
    int f0 = 1, g0 = 0, f1 = 0, g1 = 1;
#pragma unroll 6
    for (unsigned i = 0; i < STEPS; i++) {
        const bool odd = a & 1, swap = odd && a < b;
        const u64 larger = swap ? b : a, smaller = swap ? a : b;
        const int f = swap ? f1 : f0, g = swap ? g1 : g0;
        f1 = swap ? f0 : f1, g1 = swap ? g0 : g1;
        b = smaller;
        a = (larger - (odd ? smaller : 0)) >> 1;
        f0 = odd ? f - f1 : f, g0 = odd ? g - g1 : g;
        f1 *= 2, g1 *= 2;
    }
    return Steps{f0, g0, f1, g1};
}

#else

HD inline Steps some_steps(u64 a, u64 b) {
    Steps s;
    for (unsigned i = 0; i < STEPS; i++) {
        const u64 odd = static_cast<u64>(0) - (a & 1);
        const u64 swap = a < b ? odd : 0;
        const u64 ab = (a ^ b) & swap;
        const i64 f = (s.f0 ^ s.f1) & static_cast<i64>(swap), g = (s.g0 ^ s.g1) & static_cast<i64>(swap);
        a ^= ab, b ^= ab, s.f0 ^= f, s.f1 ^= f, s.g0 ^= g, s.g1 ^= g;
        a = (a - (b & odd)) >> 1;
        s.f0 -= s.f1 & static_cast<i64>(odd);
        s.g0 -= s.g1 & static_cast<i64>(odd);
        s.f1 *= 2;
        s.g1 *= 2;
    }
    return s;
}

#endif

#if defined(__CUDA_ARCH__)

// Approximations of a and b at the length of the longer one, as below, without an index that registers don't have.
template <unsigned D>
HD inline void approximate(u64& a64, u64& b64, const u32* a, const u32* b) {
    u32 a2 = 0, a1 = 0, a0 = 0, b2 = 0, b1 = 0, b0 = 0;
    bool is_long = false;
#pragma unroll
    for (unsigned i = 2; i < D; i++) {
        if ((a[i] | b[i]) == 0) continue;
        is_long = true;
        a2 = a[i], a1 = a[i - 1], a0 = a[i - 2];
        b2 = b[i], b1 = b[i - 1], b0 = b[i - 2];
    }
    const unsigned shift = __clz(a2 | b2);
    const u64 low = 0x7fffffff;
    const u64 top_a = static_cast<u64>(__funnelshift_l(a1, a2, shift)) << 32 | __funnelshift_l(a0, a1, shift);
    const u64 top_b = static_cast<u64>(__funnelshift_l(b1, b2, shift)) << 32 | __funnelshift_l(b0, b1, shift);
    a64 = is_long ? (a[0] & low) | (top_a & ~low) : a[0] | static_cast<u64>(a[1]) << 32;
    b64 = is_long ? (b[0] & low) | (top_b & ~low) : b[0] | static_cast<u64>(b[1]) << 32;
}

#else

template <unsigned D>
HD unsigned bit_length(const u32* a) {
    unsigned i = D;
    while (i > 0 && a[i - 1] == 0) i--;
    unsigned bits = 0;
    for (u32 top = i > 0 ? a[i - 1] : 0; top != 0; top >>= 1) bits++;
    return i > 0 ? 32 * (i - 1) + bits : 0;
}

// The lowest 31 bits of a under its 33 bits below bit n, for a < 2^n and 64 ≤ n ≤ 32·D.
template <unsigned D>
HD u64 approximation(const u32* a, unsigned n) {
    const unsigned first = (n - 33) / 32, shift = (n - 33) % 32;
    u64 top = (a[first] | static_cast<u64>(a[first + 1]) << 32) >> shift;
    if (shift != 0 && first + 2 < D) top |= static_cast<u64>(a[first + 2]) << (64 - shift);
    return (a[0] & 0x7fffffff) | top << 31;
}

// The approximations of a and b at the length of the longer one.
template <unsigned D>
HD void approximate(u64& a64, u64& b64, const u32* a, const u32* b) {
    const unsigned bits_a = bit_length<D>(a), bits_b = bit_length<D>(b);
    const unsigned longest = bits_a > bits_b ? bits_a : bits_b;
    const unsigned n = longest > 64 ? longest : 64;
    a64 = approximation<D>(a, n);
    b64 = approximation<D>(b, n);
}

#endif

// d = f·a + g·b, without its last carry, which is returned and has the sum's sign.
template <unsigned D>
HD i64 combine(u32* d, const u32* a, i64 f, const u32* b, i64 g) {
    i64 carry = 0;
    for (unsigned i = 0; i < D; i++) {
        // At most 2^63 - 1 in size, because |f| + |g| ≤ 2^STEPS and |carry| ≤ 2^31.
        const i64 t = f * static_cast<i64>(a[i]) + g * static_cast<i64>(b[i]) + carry;
        d[i] = static_cast<u32>(t);
        carry = t >> 32;
    }
    return carry;
}

// (top:d) / 2^STEPS, modulo 2^(32·D)
template <unsigned D>
HD void shift_steps(u32* d, i64 top) {
    for (unsigned i = 0; i + 1 < D; i++) d[i] = d[i] >> STEPS | d[i + 1] << (32 - STEPS);
    d[D - 1] = d[D - 1] >> STEPS | static_cast<u32>(top) << (32 - STEPS);
}

// a = |(f·a + g·b) / 2^STEPS|, an exact division; whether it was negative.
template <unsigned D>
HD bool step_value(u32* r, const u32* a, i64 f, const u32* b, i64 g) {
    const i64 top = combine<D>(r, a, f, b, g);
    shift_steps<D>(r, top);
    if (top >= 0) return false;
    u64 carry = 1;
    for (unsigned i = 0; i < D; i++) {
        carry += static_cast<u32>(~r[i]);
        r[i] = static_cast<u32>(carry);
        carry >>= 32;
    }
    return true;
}

template <class P>
HD constexpr u32 digit(unsigned i) {
    return static_cast<u32>(P::modulus(i / 2) >> (32 * (i % 2)));
}

// d += sign·p for sign ±1; the carry or borrow out as 0 or -1 (borrow), 1 (carry).
template <class P>
HD i64 add_modulus(u32* d, i64 sign) {
    i64 carry = 0;
    for (unsigned i = 0; i < P::LIMBS32; i++) {
        carry += static_cast<i64>(d[i]) + sign * static_cast<i64>(digit<P>(i));
        d[i] = static_cast<u32>(carry);
        carry >>= 32;
    }
    return carry;
}

// r = (f·u + g·v) / 2^STEPS mod p, for u, v < p: a multiple of p makes the division exact.
template <class P>
HD void step_cofactor(u32* r, const u32* u, i64 f, const u32* v, i64 g) {
    constexpr unsigned D = P::LIMBS32;
    i64 top = combine<D>(r, u, f, v, g);
    const u64 q = (r[0] * static_cast<u32>(P::INV)) & ((1u << STEPS) - 1);
    u64 carry = 0;
    for (unsigned i = 0; i < D; i++) {
        carry += q * digit<P>(i) + r[i];
        r[i] = static_cast<u32>(carry);
        carry >>= 32;
    }
    top += static_cast<i64>(carry);
    shift_steps<D>(r, top);
    // Now in -p < r < 2p.
    if (top < 0 || add_modulus<P>(r, -1) < 0) add_modulus<P>(r, 1);
}

// r = 1/a mod p for 0 < a < p, and 0 for 0, as plain integers of LIMBS32 digits.
template <class P>
HD void invert(u32* r, const u32* value) {
    constexpr unsigned D = P::LIMBS32;
    u32 a[D], b[D], u[D], v[D];
    for (unsigned i = 0; i < D; i++) {
        a[i] = value[i];
        b[i] = digit<P>(i);
        u[i] = i == 0;
        v[i] = 0;
    }
    for (;;) {
        u32 any = 0;
        for (unsigned i = 0; i < D; i++) any |= a[i];
        if (any == 0) break;
        u64 a64, b64;
        approximate<D>(a64, b64, a, b);
        Steps s = some_steps(a64, b64);
        u32 next_a[D], next_b[D], next_u[D];
        if (step_value<D>(next_a, a, s.f0, b, s.g0)) s.f0 = -s.f0, s.g0 = -s.g0;
        if (step_value<D>(next_b, a, s.f1, b, s.g1)) s.f1 = -s.f1, s.g1 = -s.g1;
        step_cofactor<P>(next_u, u, s.f0, v, s.g0);
        step_cofactor<P>(v, u, s.f1, v, s.g1);
        for (unsigned i = 0; i < D; i++) a[i] = next_a[i], b[i] = next_b[i], u[i] = next_u[i];
    }
    // b is the greatest common divisor: 1, or p for the value 0, whose v is 0.
    for (unsigned i = 0; i < D; i++) r[i] = v[i];
}

}  // namespace cuzkd::detail
