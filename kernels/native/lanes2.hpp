// Four elements of Fq2 side by side, and which lanes an element's type takes. The contract is that of lanes.hpp.
#pragma once

#include "lanes.hpp"

#ifdef CUZKD_LANES
namespace cuzkd {

template <class P>
struct Lanes2 {
    using Base = Lanes<P>;
    using Element = Fq2<Field<P>>;
    static constexpr unsigned SCALE = Base::SCALE;

    Base c0, c1;

    struct Doubles {
        typename Base::Doubles c0, c1;
    };
    struct Factor {
        typename Base::Doubles c0, c1, minus_c1;
    };

    static CUZKD_INLINE Lanes2 load(const Element* const* e) {
        const Field<P>* const e0[4] = {&e[0]->c0, &e[1]->c0, &e[2]->c0, &e[3]->c0};
        const Field<P>* const e1[4] = {&e[0]->c1, &e[1]->c1, &e[2]->c1, &e[3]->c1};
        return Lanes2{Base::load(e0), Base::load(e1)};
    }
    CUZKD_INLINE void store(Element* const* e) const {
        Field<P>* const e0[4] = {&e[0]->c0, &e[1]->c0, &e[2]->c0, &e[3]->c0};
        Field<P>* const e1[4] = {&e[0]->c1, &e[1]->c1, &e[2]->c1, &e[3]->c1};
        c0.store(e0);
        c1.store(e1);
    }
    static CUZKD_INLINE Lanes2 broadcast(const Element& e) { return {Base::broadcast(e.c0), Base::broadcast(e.c1)}; }

    CUZKD_INLINE int zeros() const { return c0.zeros() & c1.zeros(); }
    CUZKD_INLINE int equals(const Lanes2& o) const { return c0.equals(o.c0) & c1.equals(o.c1); }

    template <unsigned K>
    static CUZKD_INLINE Lanes2 difference(const Lanes2& a, const Lanes2& b) {
        return {Base::template difference<K>(a.c0, b.c0), Base::template difference<K>(a.c1, b.c1)};
    }
    CUZKD_INLINE void reduce() {
        c0.reduce();
        c1.reduce();
    }
    CUZKD_INLINE Lanes2 scaled() const { return {c0.scaled(), c1.scaled()}; }

    CUZKD_INLINE Doubles doubles() const { return {c0.doubles(), c1.doubles()}; }
    // The right factor of a product, < K·p.
    template <unsigned K>
    CUZKD_INLINE Factor factor() const {
        return {c0.doubles(), c1.doubles(), Base::template difference<K>(Base::zero(), c1).doubles()};
    }

    // Four products and two reductions, as in field.cuh.
    static CUZKD_INLINE Lanes2 mul(const Doubles& a, const Factor& b) {
        return {Base::mul_add(a.c0, b.c0, a.c1, b.minus_c1), Base::mul_add(a.c0, b.c1, a.c1, b.c0)};
    }
};

template <class F>
struct LanesOf;
template <class P>
struct LanesOf<Field<P>> {
    using type = Lanes<P>;
};
template <class P>
struct LanesOf<Fq2<Field<P>>> {
    using type = Lanes2<P>;
};

}  // namespace cuzkd
#endif
