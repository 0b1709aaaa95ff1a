// Many independent additions of affine points with one inversion between them: 5 products and a squaring each, and
// the inverse of a product of all denominators (Montgomery, "Speeding the Pollard and elliptic curve methods of
// factorization", 1987), against 8 products and 2 squarings of a mixed addition. Four at a time where the processor can
// (lane_batch.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "curve.cuh"
#include "lane_batch.hpp"

namespace cuzkd {

// One sum p + q, given one over a denominator.
template <class Point>
struct AffineSum {
    using F = typename Point::Coordinate;

    // Equal points double, 1/2y; nothing is divided where an operand is infinity or the sum is.
    static F denominator(const Point& p, const Point& q) {
        if (p.is_infinity() || q.is_infinity()) return F::one();
        if (p.x != q.x) return q.x - p.x;
        return p.y == q.y ? p.y.dbl() : F::one();
    }

    static Point sum(const Point& p, const Point& q, const F& reciprocal) {
        if (p.is_infinity()) return q;
        if (q.is_infinity()) return p;
        if (p.x != q.x) return chord(p, q, (q.y - p.y) * reciprocal);
        if (p.y != q.y) return Point::infinity();
        const F xx = p.x.sqr();
        return chord(p, q, (xx.dbl() + xx) * reciprocal);
    }

    static CUZKD_INLINE Point chord(const Point& p, const Point& q, const F& slope) {
        const F x = slope.sqr() - p.x - q.x;
        return Point{x, slope * (p.x - x) - p.y};
    }
};

template <class Point>
class ScalarBatch {
    using F = typename Point::Coordinate;
    using Exceptions = AffineSum<Point>;

  public:
    // For i = count - 1 down to 0: store(i, left(i) + right(i)), for any points. `operands` is asked twice for each i:
    // in rising order, then in falling order, and must give the same points until i is stored.
    template <class Operands, class Store>
    void add(size_t count, const Operands& operands, const Store& store) {
        if (count == 0) return;
        if (terms_.size() < count) terms_.resize(count);
        F product[2] = {F::one(), F::one()};
        for (size_t i = 0; i < count; ++i) {
            Term& term = terms_[i];
            const Point &p = operands.left(i), &q = operands.right(i);
            term.denominator = q.x - p.x;
            term.special = term.denominator.is_zero() || p.x.is_zero() || q.x.is_zero();
            if (term.special) term.denominator = Exceptions::denominator(p, q);
            term.prefix = product[i & 1];
            product[i & 1] = product[i & 1] * term.denominator;
        }
        const F both = (product[0] * product[1]).inverse();
        F inverse[2] = {both * product[1], both * product[0]};
        for (size_t i = count; i-- > 0;) {
            const Term& term = terms_[i];
            const F reciprocal = inverse[i & 1] * term.prefix;
            inverse[i & 1] = inverse[i & 1] * term.denominator;
            const Point &p = operands.left(i), &q = operands.right(i);
            store(i, term.special ? Exceptions::sum(p, q, reciprocal)
                                  : Exceptions::chord(p, q, (q.y - p.y) * reciprocal));
        }
    }

  private:
    // Products of odd and of even numbers are kept apart, so that one need not wait for the other.
    struct Term {
        F prefix, denominator;
        bool special;
    };

    std::vector<Term> terms_;
};

#ifdef CUZKD_LANES
template <class Point>
using AffineBatch = LaneBatch<Point, AffineSum<Point>>;
#else
template <class Point>
using AffineBatch = ScalarBatch<Point>;
#endif

// Sums of runs of points by rounds of pairs: each round halves every run, so that all additions of a round are
// independent, whatever the lengths of the runs.
template <class Point>
class RunSums {
  public:
    struct Run {
        size_t length;
        Point* sum;
    };

    // Room for the points of the next sum, which the caller fills.
    Point* points(size_t count) {
        if (points_.size() < count) points_.resize(count);
        return points_.data();
    }

    // *run.sum = the sum of the run's points, for runs (of one point or more) that follow each other in points().
    void sum(const std::vector<Run>& runs) {
        runs_ = runs;
        while (round()) points_.swap(halved_);
    }

  private:
    struct Pair {
        uint32_t left, to;
    };

    struct Operands {
        const Point* points;
        const Pair* pairs;
        const Point& left(size_t i) const { return points[pairs[i].left]; }
        const Point& right(size_t i) const { return points[pairs[i].left + 1]; }
    };

    // Adds neighbours in every run of points_ into halved_; runs that are down to one point leave. Whether any stay.
    bool round() {
        pairs_.clear();
        pair_up();
        if (runs_.empty()) return false;
        batch_.add(pairs_.size(), Operands{points_.data(), pairs_.data()},
                   [&](size_t i, const Point& sum) { halved_[pairs_[i].to] = sum; });
        return true;
    }

    void pair_up() {
        size_t from = 0, to = 0, staying = 0;
        if (halved_.size() < points_.size()) halved_.resize(points_.size());
        for (const Run& run : runs_) {
            if (run.length == 1) {
                *run.sum = points_[from];
            } else {
                for (size_t k = 0; k + 1 < run.length; k += 2)
                    pairs_.push_back({static_cast<uint32_t>(from + k), static_cast<uint32_t>(to++)});
                if (run.length & 1) halved_[to++] = points_[from + run.length - 1];
            }
            from += run.length;
            if (run.length > 1) runs_[staying++] = {(run.length + 1) / 2, run.sum};
        }
        runs_.resize(staying);
    }

    std::vector<Run> runs_;
    std::vector<Pair> pairs_;
    std::vector<Point> points_, halved_;
    AffineBatch<Point> batch_;
};

}  // namespace cuzkd
