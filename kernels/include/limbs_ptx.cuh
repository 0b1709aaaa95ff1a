// The primitives of limbs.cuh for NVIDIA devices: 32-bit words and PTX carry chains.
//
// A product keeps two accumulators, one for the words of even and one for those of odd weight, so that the low and the
// high half of every partial product fall on an aligned pair of words and become one wide multiply-add; the two are
// added at the end. Values stay below 2p between rows, because every modulus leaves its top bit free.
#pragma once
#include "limbs.cuh"

namespace cuzkd::limbs {

namespace ptx {

// One instruction each. The carry flag ties them together, so nothing may come between two of a chain: hence volatile.
#define CUZKD_PTX2(name, code)                                                                   \
    __device__ __forceinline__ u32 name(u32 a, u32 b) {                                          \
        u32 r;                                                                                   \
        asm volatile(code " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));                            \
        return r;                                                                                \
    }
#define CUZKD_PTX3(name, code)                                                                   \
    __device__ __forceinline__ u32 name(u32 a, u32 b, u32 c) {                                   \
        u32 r;                                                                                   \
        asm volatile(code " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));                \
        return r;                                                                                \
    }
CUZKD_PTX2(add_cc, "add.cc.u32")
CUZKD_PTX2(addc_cc, "addc.cc.u32")
CUZKD_PTX2(addc, "addc.u32")
CUZKD_PTX2(sub_cc, "sub.cc.u32")
CUZKD_PTX2(subc_cc, "subc.cc.u32")
CUZKD_PTX2(subc, "subc.u32")
CUZKD_PTX2(mul_lo, "mul.lo.u32")
CUZKD_PTX2(mul_hi, "mul.hi.u32")
CUZKD_PTX3(mad_lo_cc, "mad.lo.cc.u32")
CUZKD_PTX3(madc_lo_cc, "madc.lo.cc.u32")
CUZKD_PTX3(madc_hi_cc, "madc.hi.cc.u32")
CUZKD_PTX3(madc_hi, "madc.hi.u32")
#undef CUZKD_PTX2
#undef CUZKD_PTX3

}  // namespace ptx

template <class P>
HD constexpr u32 modulus(unsigned i) {
    return word_of(P::modulus, i);
}

// Word i of p or 2p.
template <class P, unsigned TIMES>
HD constexpr u32 multiple(unsigned i) {
    static_assert(TIMES == 1 || TIMES == 2);
    if (TIMES == 1) return modulus<P>(i);
    return modulus<P>(i) << 1 | (i > 0 ? modulus<P>(i - 1) >> 31 : 0);
}

// r = a + b without its carry.
template <unsigned N>
__device__ __forceinline__ void add_words(u32* r, const u32* a, const u32* b) {
    r[0] = ptx::add_cc(a[0], b[0]);
#pragma unroll
    for (unsigned i = 1; i < N - 1; i++) r[i] = ptx::addc_cc(a[i], b[i]);
    r[N - 1] = ptx::addc(a[N - 1], b[N - 1]);
}

// r = a - b; all ones if it borrowed, else 0.
template <unsigned N>
__device__ __forceinline__ u32 sub_words(u32* r, const u32* a, const u32* b) {
    r[0] = ptx::sub_cc(a[0], b[0]);
#pragma unroll
    for (unsigned i = 1; i < N; i++) r[i] = ptx::subc_cc(a[i], b[i]);
    return ptx::subc(0, 0);
}

// r = t - m for m = p or 2p if that is not negative, else t: t mod p for t < 2p and m = p.
template <class P, unsigned TIMES = 1>
__device__ __forceinline__ void subtract_once(u32* r, const u32* t) {
    constexpr unsigned N = WORDS<P>;
    u32 reduced[N];
    reduced[0] = ptx::sub_cc(t[0], multiple<P, TIMES>(0));
#pragma unroll
    for (unsigned i = 1; i < N; i++) reduced[i] = ptx::subc_cc(t[i], multiple<P, TIMES>(i));
    const u32 borrow = ptx::subc(0, 0);
#pragma unroll
    for (unsigned i = 0; i < N; i++) r[i] = borrow ? t[i] : reduced[i];
}

template <class P>
__device__ __forceinline__ void add(u32* r, const u32* a, const u32* b) {
    u32 t[WORDS<P>];
    add_words<WORDS<P>>(t, a, b);
    subtract_once<P>(r, t);
}

template <class P>
__device__ __forceinline__ void sub(u32* r, const u32* a, const u32* b) {
    constexpr unsigned N = WORDS<P>;
    u32 t[N];
    const u32 borrow = sub_words<N>(t, a, b);
    r[0] = ptx::add_cc(t[0], modulus<P>(0) & borrow);
#pragma unroll
    for (unsigned i = 1; i < N - 1; i++) r[i] = ptx::addc_cc(t[i], modulus<P>(i) & borrow);
    r[N - 1] = ptx::addc(t[N - 1], modulus<P>(N - 1) & borrow);
}

template <class P>
__device__ __forceinline__ void sub_lazy(u32* r, const u32* a, const u32* b) {
    constexpr unsigned N = WORDS<P>;
    u32 t[N];
    sub_words<N>(t, a, b);
    r[0] = ptx::add_cc(t[0], modulus<P>(0));
#pragma unroll
    for (unsigned i = 1; i < N - 1; i++) r[i] = ptx::addc_cc(t[i], modulus<P>(i));
    r[N - 1] = ptx::addc(t[N - 1], modulus<P>(N - 1));
}

// t[j], t[j + 1] += a[j]·b for even j; the carry is left in the flag.
template <unsigned N>
__device__ __forceinline__ void mad_pairs(u32* t, const u32* a, u32 b) {
    t[0] = ptx::mad_lo_cc(a[0], b, t[0]);
    t[1] = ptx::madc_hi_cc(a[0], b, t[1]);
#pragma unroll
    for (unsigned j = 2; j < N; j += 2) {
        t[j] = ptx::madc_lo_cc(a[j], b, t[j]);
        t[j + 1] = ptx::madc_hi_cc(a[j], b, t[j + 1]);
    }
}

// The same for p times m, from word `first` of p on.
template <class P, unsigned FIRST>
__device__ __forceinline__ void mad_modulus(u32* t, u32 m) {
    t[0] = ptx::mad_lo_cc(modulus<P>(FIRST), m, t[0]);
    t[1] = ptx::madc_hi_cc(modulus<P>(FIRST), m, t[1]);
#pragma unroll
    for (unsigned j = 2; j < WORDS<P>; j += 2) {
        t[j] = ptx::madc_lo_cc(modulus<P>(FIRST + j), m, t[j]);
        t[j + 1] = ptx::madc_hi_cc(modulus<P>(FIRST + j), m, t[j + 1]);
    }
}

// One row: (even + 2^32·odd) += m·p with the m that clears word 0; the carry of `even` goes to the top of `odd`.
template <class P>
__device__ __forceinline__ void clear_row(u32* even, u32* odd) {
    constexpr unsigned N = WORDS<P>;
    // Opaque to the compiler: with the all-ones INV of BLS12-381's r it would make worse code of what follows.
    const u32 m = ptx::mul_lo(even[0], static_cast<u32>(P::INV));
    mad_modulus<P, 1>(odd, m);
    mad_modulus<P, 0>(even, m);
    odd[N - 1] = ptx::addc(odd[N - 1], 0);
}

// One row: divide by 2^32 (word 0 of `odd`'s partner was cleared), swapping the accumulators' parts, and add a·b.
// On entry the value is odd + even/2^32; on exit it is even + 2^32·odd.
template <unsigned N>
__device__ __forceinline__ void shift_and_mad(u32* even, u32* odd, const u32* a, u32 b) {
    even[0] = ptx::add_cc(even[0], odd[1]);
#pragma unroll
    for (unsigned j = 0; j < N - 2; j += 2) {
        odd[j] = ptx::madc_lo_cc(a[j + 1], b, odd[j + 2]);
        odd[j + 1] = ptx::madc_hi_cc(a[j + 1], b, odd[j + 3]);
    }
    odd[N - 2] = ptx::madc_lo_cc(a[N - 1], b, 0);
    odd[N - 1] = ptx::madc_hi(a[N - 1], b, 0);
    mad_pairs<N>(even, a, b);
    odd[N - 1] = ptx::addc(odd[N - 1], 0);
}

// Add a·b to the accumulators as they are.
template <unsigned N>
__device__ __forceinline__ void mad_row(u32* even, u32* odd, const u32* a, u32 b) {
    mad_pairs<N>(odd, a + 1, b);
    mad_pairs<N>(even, a, b);
    odd[N - 1] = ptx::addc(odd[N - 1], 0);
}

template <unsigned N>
__device__ __forceinline__ void first_row(u32* even, u32* odd, const u32* a, u32 b) {
#pragma unroll
    for (unsigned j = 0; j < N; j += 2) {
        even[j] = ptx::mul_lo(a[j], b);
        even[j + 1] = ptx::mul_hi(a[j], b);
        odd[j] = ptx::mul_lo(a[j + 1], b);
        odd[j + 1] = ptx::mul_hi(a[j + 1], b);
    }
}

// r = odd + even/2^32, the value after the last row.
template <unsigned N>
__device__ __forceinline__ void join(u32* r, const u32* odd, const u32* even) {
    r[0] = ptx::add_cc(odd[0], even[1]);
#pragma unroll
    for (unsigned i = 1; i < N - 1; i++) r[i] = ptx::addc_cc(odd[i], even[i + 1]);
    r[N - 1] = ptx::addc(odd[N - 1], 0);
}

template <class P>
__device__ __forceinline__ void mul_lazy(u32* r, const u32* a, const u32* b) {
    constexpr unsigned N = WORDS<P>;
    u32 even[N], odd[N];
    first_row<N>(even, odd, a, b[0]);
    clear_row<P>(even, odd);
#pragma unroll
    for (unsigned i = 1; i < N; i += 2) {
        shift_and_mad<N>(odd, even, a, b[i]);
        clear_row<P>(odd, even);
        if (i + 1 < N) {
            shift_and_mad<N>(even, odd, a, b[i + 1]);
            clear_row<P>(even, odd);
        }
    }
    join<N>(r, even, odd);
}

template <class P>
__device__ __forceinline__ void mul(u32* r, const u32* a, const u32* b) {
    u32 t[WORDS<P>];
    mul_lazy<P>(t, a, b);
    subtract_once<P>(r, t);
}

// One row of a reduction alone: divide by 2^32 as `shift_and_mad` does, and clear word 0.
template <class P>
__device__ __forceinline__ void shift_and_clear(u32* even, u32* odd) {
    constexpr unsigned N = WORDS<P>;
    const u32 m = ptx::mul_lo(even[0] + odd[1], static_cast<u32>(P::INV));
    even[0] = ptx::add_cc(even[0], odd[1]);
#pragma unroll
    for (unsigned j = 0; j < N - 2; j += 2) {
        odd[j] = ptx::madc_lo_cc(modulus<P>(j + 1), m, odd[j + 2]);
        odd[j + 1] = ptx::madc_hi_cc(modulus<P>(j + 1), m, odd[j + 3]);
    }
    odd[N - 2] = ptx::madc_lo_cc(modulus<P>(N - 1), m, 0);
    odd[N - 1] = ptx::madc_hi(modulus<P>(N - 1), m, 0);
    mad_modulus<P, 0>(even, m);
    odd[N - 1] = ptx::addc(odd[N - 1], 0);
}

// sums[FIRST…] += a[I]·a[J] for J = FROM, FROM + 2, …, each pair of words after the one before; then the carry.
template <unsigned N, unsigned I, unsigned FROM>
__device__ __forceinline__ void mad_squares(u32* sums, const u32* a) {
    sums[0] = ptx::mad_lo_cc(a[I], a[FROM], sums[0]);
    sums[1] = ptx::madc_hi_cc(a[I], a[FROM], sums[1]);
    unsigned at = 2;
#pragma unroll
    for (unsigned j = FROM + 2; j < N; j += 2, at += 2) {
        sums[at] = ptx::madc_lo_cc(a[I], a[j], sums[at]);
        sums[at + 1] = ptx::madc_hi_cc(a[I], a[j], sums[at + 1]);
    }
    sums[at] = ptx::addc(sums[at], 0);
}

template <unsigned N, unsigned I = 0>
__device__ __forceinline__ void products_above_diagonal(u32* even, u32* odd, const u32* a) {
    if constexpr (I + 1 < N) {
        mad_squares<N, I, I + 1>(odd + 2 * I, a);
        if constexpr (I + 2 < N) mad_squares<N, I, I + 2>(even + 2 * I + 2, a);
        products_above_diagonal<N, I + 1>(even, odd, a);
    }
}

// wide[2i], wide[2i + 1] += a[i]²
template <unsigned N>
__device__ __forceinline__ void mad_diagonal(u32* wide, const u32* a) {
    wide[0] = ptx::mad_lo_cc(a[0], a[0], wide[0]);
    wide[1] = ptx::madc_hi_cc(a[0], a[0], wide[1]);
#pragma unroll
    for (unsigned i = 1; i < N; i++) {
        wide[2 * i] = ptx::madc_lo_cc(a[i], a[i], wide[2 * i]);
        wide[2 * i + 1] = ptx::madc_hi_cc(a[i], a[i], wide[2 * i + 1]);
    }
}

// a²/R below 2p, for a below 2p: products above the diagonal once, doubled, and a quarter fewer of them than a·a has.
template <class P>
__device__ __forceinline__ void sqr_lazy(u32* r, const u32* a) {
    constexpr unsigned N = WORDS<P>;
    u32 even[2 * N] = {}, odd[2 * N] = {}, wide[2 * N];
    products_above_diagonal<N>(even, odd, a);
    wide[0] = 0;
    wide[1] = ptx::add_cc(even[1], odd[0]);
#pragma unroll
    for (unsigned i = 2; i < 2 * N - 1; i++) wide[i] = ptx::addc_cc(even[i], odd[i - 1]);
    wide[2 * N - 1] = ptx::addc(even[2 * N - 1], odd[2 * N - 2]);
#pragma unroll
    for (unsigned i = 2 * N - 1; i > 0; i--) wide[i] = __funnelshift_l(wide[i - 1], wide[i], 1);
    mad_diagonal<N>(wide, a);

    u32* const even_half = wide;
    u32 cleared[N];
    const u32 m = ptx::mul_lo(wide[0], static_cast<u32>(P::INV));
#pragma unroll
    for (unsigned j = 0; j < N; j += 2) {
        cleared[j] = ptx::mul_lo(modulus<P>(j + 1), m);
        cleared[j + 1] = ptx::mul_hi(modulus<P>(j + 1), m);
    }
    mad_modulus<P, 0>(even_half, m);
    cleared[N - 1] = ptx::addc(cleared[N - 1], 0);
#pragma unroll
    for (unsigned i = 1; i < N; i += 2) {
        shift_and_clear<P>(cleared, even_half);
        if (i + 1 < N) shift_and_clear<P>(even_half, cleared);
    }
    u32 low[N];
    join<N>(low, even_half, cleared);
    add_words<N>(r, low, wide + N);
}

template <class P>
__device__ __forceinline__ void sqr(u32* r, const u32* a) {
    u32 t[WORDS<P>];
    sqr_lazy<P>(t, a);
    subtract_once<P>(r, t);
}

template <class P>
__device__ __forceinline__ void mul_add(u32* r, const u32* a, const u32* b, const u32* c, const u32* d) {
    static_assert(P::SPARE_BITS >= 2);
    constexpr unsigned N = WORDS<P>;
    u32 even[N], odd[N];
    first_row<N>(even, odd, a, b[0]);
    mad_row<N>(even, odd, c, d[0]);
    clear_row<P>(even, odd);
#pragma unroll
    for (unsigned i = 1; i < N; i += 2) {
        shift_and_mad<N>(odd, even, a, b[i]);
        mad_row<N>(odd, even, c, d[i]);
        clear_row<P>(odd, even);
        if (i + 1 < N) {
            shift_and_mad<N>(even, odd, a, b[i + 1]);
            mad_row<N>(even, odd, c, d[i + 1]);
            clear_row<P>(even, odd);
        }
    }
    u32 t[N];
    join<N>(t, even, odd);
    subtract_once<P>(r, t);
}

}  // namespace cuzkd::limbs
