// The additions of affine_batch.hpp four at a time, with lanes.hpp: denominators are multiplied up in four chains, one
// a lane, that share an inversion.
//
// A product of lanes is 2^SCALE too small, so the inverses that walk back through a chain are kept 2^SCALE too large:
// then slopes come out right, and what else takes a product is scaled up before it. Bounds are in multiples of p:
// elements in memory are below 1, differences below 2, products below 1.3 or as said.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "curve.cuh"
#include "lanes2.hpp"

#ifdef CUZKD_LANES
namespace cuzkd {

template <class Point, class Exceptions>
class LaneBatch {
    using F = typename Point::Coordinate;
    using L = typename LanesOf<F>::type;

  public:
    // As ScalarBatch::add. Exceptions::denominator and ::sum are for groups with a doubling, an infinity, or a point
    // with x = 0.
    template <class Operands, class Store>
    CUZKD_NOINLINE void add(size_t count, const Operands& operands, const Store& store) {
        if (count == 0) return;
        const size_t groups = (count + 3) / 4;
        if (prefixes_.size() < groups) prefixes_.resize(groups);
        exceptions_.clear();
        const RoundTowardsZero rounding;
        F totals[4];
        multiply_up(count, operands, totals);
        invert(totals);
        walk_back(count, operands, store, totals);
    }

  private:
    static CUZKD_INLINE L lanes_of(const F* e) {
        const F* const each[4] = {e, e + 1, e + 2, e + 3};
        return L::load(each);
    }

    // 2^SCALE
    static F unit() {
        F e = F::one();
        for (unsigned k = 0; k < L::SCALE; ++k) e = e.dbl();
        return e;
    }

    // The operands of a group; past the last one, it again.
    struct Group {
        const Point *p[4], *q[4];
        L px, qx;

        template <class Operands>
        CUZKD_INLINE Group(const Operands& operands, size_t group, size_t count) {
            const F *p_x[4], *q_x[4];
            for (size_t k = 0; k < 4; ++k) {
                const size_t i = std::min(4 * group + k, count - 1);
                p[k] = &operands.left(i), q[k] = &operands.right(i);
                p_x[k] = &p[k]->x, q_x[k] = &q[k]->x;
            }
            px = L::load(p_x), qx = L::load(q_x);
        }
        CUZKD_INLINE bool is_exceptional() const { return (px.zeros() | qx.zeros() | px.equals(qx)) != 0; }
        CUZKD_INLINE L denominator() const { return L::template difference<1>(qx, px); }
        CUZKD_NOINLINE L exceptional_denominator() const {
            F e[4];
            for (size_t k = 0; k < 4; ++k) e[k] = Exceptions::denominator(*p[k], *q[k]);
            return lanes_of(e);
        }
    };

    // prefixes_[g] = the product of all denominators before group g, totals of all.
    template <class Operands>
    CUZKD_NOINLINE void multiply_up(size_t count, const Operands& operands, F* totals) {
        L product = L::broadcast(unit());
        for (size_t g = 0; 4 * g < count; ++g) {
            const Group group(operands, g, count);
            L denominator = group.denominator();
            if (__builtin_expect(group.is_exceptional(), 0)) {
                denominator = group.exceptional_denominator();
                exceptions_.push_back(g);
            }
            prefixes_[g] = product;
            product = L::mul(product.doubles(), denominator.template factor<2>());
        }
        product.reduce();
        F* const each[4] = {totals, totals + 1, totals + 2, totals + 3};
        product.store(each);
    }

    static void invert(F* totals) {
        const F low = totals[0] * totals[1], high = totals[2] * totals[3];
        const F both = (low * high).inverse() * unit();
        const F low_inverse = both * high, high_inverse = both * low;
        const F inverses[4] = {low_inverse * totals[1], low_inverse * totals[0], high_inverse * totals[3],
                               high_inverse * totals[2]};
        std::copy(inverses, inverses + 4, totals);
    }

    template <class Operands, class Store>
    CUZKD_NOINLINE void walk_back(size_t count, const Operands& operands, const Store& store, const F* inverses) {
        L inverse = lanes_of(inverses);
        for (size_t g = (count + 3) / 4; g-- > 0;) {
            const Group group(operands, g, count);
            const bool exceptional = !exceptions_.empty() && exceptions_.back() == g;
            const L denominator = exceptional ? group.exceptional_denominator() : group.denominator();
            const typename L::Doubles factor = inverse.doubles();
            const L reciprocal = L::mul(factor, prefixes_[g].template factor<2>());
            inverse = L::mul(factor, denominator.template factor<2>());
            Point sums[4];
            if (__builtin_expect(exceptional, 0)) {
                exceptions_.pop_back();
                exceptional_sums(group, reciprocal, sums);
            } else {
                chords(group, reciprocal, sums);
            }
            for (size_t k = std::min<size_t>(4, count - 4 * g); k-- > 0;) store(4 * g + k, sums[k]);
        }
    }

    static CUZKD_INLINE void chords(const Group& group, const L& reciprocal, Point* sums) {
        const F *p_y[4], *q_y[4];
        F *x_to[4], *y_to[4];
        for (size_t k = 0; k < 4; ++k) {
            p_y[k] = &group.p[k]->y, q_y[k] = &group.q[k]->y;
            x_to[k] = &sums[k].x, y_to[k] = &sums[k].y;
        }
        const L py = L::load(p_y);
        const L rise = L::template difference<1>(L::load(q_y), py);
        const L slope = L::mul(rise.doubles(), reciprocal.template factor<2>());
        const typename L::Doubles scaled = slope.scaled().doubles();
        // The square is below 2, the product for y below 2.5.
        const L square = L::mul(scaled, slope.template factor<2>());
        L x = L::template difference<1>(L::template difference<1>(square, group.px), group.qx);
        x.reduce();
        const L run = L::template difference<1>(group.px, x);
        L y = L::template difference<1>(L::mul(scaled, run.template factor<2>()), py);
        y.reduce();
        x.store(x_to);
        y.store(y_to);
    }

    static CUZKD_NOINLINE void exceptional_sums(const Group& group, const L& reciprocal, Point* sums) {
        L plain = L::mul(reciprocal.doubles(), L::broadcast(F::one()).template factor<2>());
        plain.reduce();
        F e[4];
        F* const each[4] = {e, e + 1, e + 2, e + 3};
        plain.store(each);
        for (size_t k = 0; k < 4; ++k) sums[k] = Exceptions::sum(*group.p[k], *group.q[k], e[k]);
    }

    std::vector<L> prefixes_;
    std::vector<size_t> exceptions_;
};

}  // namespace cuzkd
#endif
