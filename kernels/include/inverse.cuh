// Modular inversion by the binary Euclidean algorithm, 31 steps at a time on 64-bit approximations.
//
// Source: Pornin, "Optimized binary GCD for modular inversion" (eprint 2020/972), algorithm 2 with k = 32. Big numbers
// are digits of 32 bits, so that no product needs more than 64 bits on any machine. The course depends on the value:
// secrets are inverted by `Field::inverse_fermat`.
#pragma once
#include "params.cuh"

namespace cuzkd::detail {

using i64 = long;

// What 31 steps do: (a, b) becomes (f0·a + g0·b, f1·a + g1·b) / 2^31. |f| + |g| ≤ 2^31.
struct Steps {
    i64 f0 = 1, g0 = 0, f1 = 0, g1 = 1;
};

HD inline Steps thirty_one_steps(u64 a, u64 b) {
    Steps s;
    for (unsigned i = 0; i < 31; i++) {
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

// d = f·a + g·b, without its last carry, which is returned and has the sum's sign.
template <unsigned D>
HD i64 combine(u32* d, const u32* a, i64 f, const u32* b, i64 g) {
    i64 carry = 0;
    for (unsigned i = 0; i < D; i++) {
        // At most 2^63 - 1 in size, because |f| + |g| ≤ 2^31 and |carry| ≤ 2^31.
        const i64 t = f * static_cast<i64>(a[i]) + g * static_cast<i64>(b[i]) + carry;
        d[i] = static_cast<u32>(t);
        carry = t >> 32;
    }
    return carry;
}

// (top:d) / 2^31, modulo 2^(32·D)
template <unsigned D>
HD void shift_31(u32* d, i64 top) {
    for (unsigned i = 0; i + 1 < D; i++) d[i] = d[i] >> 31 | d[i + 1] << 1;
    d[D - 1] = d[D - 1] >> 31 | static_cast<u32>(top) << 1;
}

// a = |(f·a + g·b) / 2^31|, an exact division; whether it was negative.
template <unsigned D>
HD bool step_value(u32* r, const u32* a, i64 f, const u32* b, i64 g) {
    const i64 top = combine<D>(r, a, f, b, g);
    shift_31<D>(r, top);
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

// r = (f·u + g·v) / 2^31 mod p, for u, v < p: a multiple of p makes the division exact.
template <class P>
HD void step_cofactor(u32* r, const u32* u, i64 f, const u32* v, i64 g) {
    constexpr unsigned D = P::LIMBS32;
    i64 top = combine<D>(r, u, f, v, g);
    const u64 q = (r[0] * static_cast<u32>(P::INV)) & 0x7fffffff;
    u64 carry = 0;
    for (unsigned i = 0; i < D; i++) {
        carry += q * digit<P>(i) + r[i];
        r[i] = static_cast<u32>(carry);
        carry >>= 32;
    }
    top += static_cast<i64>(carry);
    shift_31<D>(r, top);
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
        const unsigned bits_a = bit_length<D>(a), bits_b = bit_length<D>(b);
        if (bits_a == 0) break;
        const unsigned longest = bits_a > bits_b ? bits_a : bits_b;
        const unsigned n = longest > 64 ? longest : 64;
        Steps s = thirty_one_steps(approximation<D>(a, n), approximation<D>(b, n));
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
