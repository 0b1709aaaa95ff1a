// The primitives of limbs.cuh in plain C++, over words of either size.
//
// Products are interleaved word by word (CIOS; Koc, Acar, Kaliski, "Analyzing and comparing Montgomery
// multiplication algorithms", 1996). Every modulus leaves its top bit free, so that no row overflows N + 1 words.
#pragma once
#include "limbs.cuh"

namespace cuzkd::limbs {

template <class P>
HD constexpr word modulus(unsigned i) {
    return word_of(P::modulus, i);
}

// Word i of p or 2p.
template <class P, unsigned TIMES>
HD constexpr word multiple(unsigned i) {
    static_assert(TIMES == 1 || TIMES == 2);
    if (TIMES == 1) return modulus<P>(i);
    return modulus<P>(i) << 1 | (i > 0 ? modulus<P>(i - 1) >> (WORD_BITS - 1) : 0);
}

// r = a + b; the carry out.
template <unsigned N>
HD CUZKD_INLINE word add_words(word* r, const word* a, const word* b) {
    word carry = 0;
    for (unsigned i = 0; i < N; i++) {
        wide sum = static_cast<wide>(a[i]) + b[i] + carry;
        r[i] = static_cast<word>(sum);
        carry = static_cast<word>(sum >> WORD_BITS);
    }
    return carry;
}

// r = a - b; the borrow out, 0 or 1.
template <unsigned N>
HD CUZKD_INLINE word sub_words(word* r, const word* a, const word* b) {
    word borrow = 0;
    for (unsigned i = 0; i < N; i++) {
        wide difference = static_cast<wide>(a[i]) - b[i] - borrow;
        r[i] = static_cast<word>(difference);
        borrow = static_cast<word>(difference >> WORD_BITS) & 1;
    }
    return borrow;
}

// r += p where mask is all ones; r += 0 where it is 0.
template <class P>
HD CUZKD_INLINE void add_modulus(word* r, word mask) {
    word addend[WORDS<P>];
    for (unsigned i = 0; i < WORDS<P>; i++) addend[i] = modulus<P>(i) & mask;
    add_words<WORDS<P>>(r, r, addend);
}

// r = t - m for m = p or 2p if that is not negative, else t: t mod p for t < 2p and m = p.
template <class P, unsigned TIMES = 1>
HD CUZKD_INLINE void subtract_once(word* r, const word* t) {
    word m[WORDS<P>], difference[WORDS<P>];
    for (unsigned i = 0; i < WORDS<P>; i++) m[i] = multiple<P, TIMES>(i);
    const word borrow = sub_words<WORDS<P>>(difference, t, m);
    for (unsigned i = 0; i < WORDS<P>; i++) r[i] = borrow ? t[i] : difference[i];
}

template <class P>
HD CUZKD_INLINE void add(word* r, const word* a, const word* b) {
    word t[WORDS<P>];
    add_words<WORDS<P>>(t, a, b);
    subtract_once<P>(r, t);
}

template <class P>
HD CUZKD_INLINE void sub(word* r, const word* a, const word* b) {
    word borrow = sub_words<WORDS<P>>(r, a, b);
    add_modulus<P>(r, static_cast<word>(0) - borrow);
}

// t[0..N] += a·b; the caller knows that N + 1 words hold it.
template <unsigned N>
HD CUZKD_INLINE void mad_row(word* t, const word* a, word b) {
    word carry = 0;
    for (unsigned i = 0; i < N; i++) {
        wide sum = static_cast<wide>(a[i]) * b + t[i] + carry;
        t[i] = static_cast<word>(sum);
        carry = static_cast<word>(sum >> WORD_BITS);
    }
    t[N] += carry;
}

// t[0..N] += m·p with the m that clears t[0].
template <class P>
HD CUZKD_INLINE void clear_row(word* t) {
    constexpr unsigned N = WORDS<P>;
    word m = t[0] * static_cast<word>(P::INV);
    word carry = 0;
    for (unsigned i = 0; i < N; i++) {
        wide sum = static_cast<wide>(modulus<P>(i)) * m + t[i] + carry;
        t[i] = static_cast<word>(sum);
        carry = static_cast<word>(sum >> WORD_BITS);
    }
    t[N] += carry;
}

template <class P>
HD CUZKD_INLINE void mul_lazy(word* r, const word* a, const word* b) {
    constexpr unsigned N = WORDS<P>;
    word t[2 * N] = {};
    for (unsigned i = 0; i < N; i++) {
        mad_row<N>(t + i, a, b[i]);
        clear_row<P>(t + i);
    }
    for (unsigned i = 0; i < N; i++) r[i] = t[N + i];
}

template <class P>
HD CUZKD_INLINE void mul(word* r, const word* a, const word* b) {
    word t[WORDS<P>];
    mul_lazy<P>(t, a, b);
    subtract_once<P>(r, t);
}

template <class P>
HD CUZKD_INLINE void sub_lazy(word* r, const word* a, const word* b) {
    word t[WORDS<P>];
    sub_words<WORDS<P>>(t, a, b);
    add_modulus<P>(t, ~static_cast<word>(0));
    for (unsigned i = 0; i < WORDS<P>; i++) r[i] = t[i];
}

template <class P>
HD CUZKD_INLINE void sqr_lazy(word* r, const word* a) {
    mul_lazy<P>(r, a, a);
}

template <class P>
HD CUZKD_INLINE void sqr(word* r, const word* a) {
    mul<P>(r, a, a);
}

template <class P>
HD CUZKD_INLINE void mul_add(word* r, const word* a, const word* b, const word* c, const word* d) {
    static_assert(P::SPARE_BITS >= 2);
    constexpr unsigned N = WORDS<P>;
    word t[2 * N] = {};
    for (unsigned i = 0; i < N; i++) {
        mad_row<N>(t + i, a, b[i]);
        mad_row<N>(t + i, c, d[i]);
        clear_row<P>(t + i);
    }
    subtract_once<P>(r, t + N);
}

}  // namespace cuzkd::limbs
