// Arithmetic that does not reduce what is reduced later anyway, for the loops that add most points.
//
// A product of operands with a·b < p·R is below 2p before its last subtraction; R > 5p for both base fields, so that
// operands below 2p may always be multiplied. Differences are a - b + p, not reduced. Names say the bound of a result.
// Over Fq2 everything stays canonical.
#pragma once
#include "field.cuh"

namespace cuzkd::lazy {

// a·b, below 2p, for a, b < 2p.
template <class P>
HD CUZKD_INLINE Field<P> mul_below_2p(const Field<P>& a, const Field<P>& b) {
    static_assert(P::SPARE_BITS >= 2);
    Field<P> r;
    limbs::mul_lazy<P>(r.v, a.v, b.v);
    return r;
}

template <class P>
HD CUZKD_INLINE Field<P> sqr_below_2p(const Field<P>& a) {
    Field<P> r;
    limbs::sqr_lazy<P>(r.v, a.v);
    return r;
}

// a - b + p: below 2p for canonical a and b, one p more for each of a's.
template <class P>
HD CUZKD_INLINE Field<P> sub_plus_p(const Field<P>& a, const Field<P>& b) {
    Field<P> r;
    limbs::sub_lazy<P>(r.v, a.v, b.v);
    return r;
}

// The canonical element for a < BOUND·p.
template <unsigned BOUND, class P>
HD CUZKD_INLINE Field<P> canonical(const Field<P>& a) {
    static_assert(BOUND >= 2 && BOUND <= 4);
    Field<P> r = a;
    if (BOUND > 2) limbs::subtract_once<P, 2>(r.v, r.v);
    limbs::subtract_once<P>(r.v, r.v);
    return r;
}

// Whether a = sub_plus_p(canonical, canonical) stands for zero.
template <class P>
HD CUZKD_INLINE bool is_p(const Field<P>& a) {
    word any = 0;
    for (unsigned i = 0; i < Field<P>::N; i++) any |= a.v[i] ^ word_of(P::modulus, i);
    return any == 0;
}

template <class F>
HD CUZKD_INLINE Fq2<F> mul_below_2p(const Fq2<F>& a, const Fq2<F>& b) {
    return a * b;
}
template <class F>
HD CUZKD_INLINE Fq2<F> sqr_below_2p(const Fq2<F>& a) {
    return a.sqr();
}
template <class F>
HD CUZKD_INLINE Fq2<F> sub_plus_p(const Fq2<F>& a, const Fq2<F>& b) {
    return a - b;
}
template <unsigned BOUND, class F>
HD CUZKD_INLINE Fq2<F> canonical(const Fq2<F>& a) {
    return a;
}
template <class F>
HD CUZKD_INLINE bool is_p(const Fq2<F>& a) {
    return a.is_zero();
}

}  // namespace cuzkd::lazy
