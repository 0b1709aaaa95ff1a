// Many independent additions of affine points with one inversion between them: 5 products and a squaring each, and
// the inverse of a product of all denominators (Montgomery, "Speeding the Pollard and elliptic curve methods of
// factorization", 1987), against 8 products and 2 squarings of a mixed addition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "curve.cuh"

namespace cuzkd {

template <class Point>
class AffineBatch {
    using F = typename Point::Coordinate;

  public:
    // For i = count - 1 down to 0: store(i, left(i) + right(i)), for any points. left and right are asked twice, first
    // for every i in rising order, and must give the same points until i is stored. x alone is asked for first:
    // left_x(i), right_x(i).
    template <class Operands, class Store>
    void add(size_t count, const Operands& operands, const Store& store) {
        if (count == 0) return;
        if (prefix_.size() < count) {
            prefix_.resize(count);
            denominator_.resize(count);
            special_.resize(count);
        }
        F product = F::one();
        for (size_t i = 0; i < count; ++i) {
            F d = operands.right_x(i) - operands.left_x(i);
            special_[i] = d.is_zero() || operands.right_x(i).is_zero() || operands.left_x(i).is_zero();
            if (special_[i]) d = special_denominator(operands.left(i), operands.right(i));
            prefix_[i] = product;
            denominator_[i] = d;
            product = product * d;
        }
        F inverse = product.inverse();
        for (size_t i = count; i-- > 0;) {
            const F reciprocal = inverse * prefix_[i];
            inverse = inverse * denominator_[i];
            const Point p = operands.left(i), q = operands.right(i);
            store(i, special_[i] ? special_sum(p, q, reciprocal) : chord(p, q, (q.y - p.y) * reciprocal));
        }
    }

  private:
    static Point chord(const Point& p, const Point& q, const F& slope) {
        const F x = slope.sqr() - p.x - q.x;
        return Point{x, slope * (p.x - x) - p.y};
    }

    // Equal points double, 1/2y; nothing is divided where an operand is infinity or the sum is.
    static F special_denominator(const Point& p, const Point& q) {
        if (p.is_infinity() || q.is_infinity()) return F::one();
        if (p.x != q.x) return q.x - p.x;
        return p.y == q.y ? p.y.dbl() : F::one();
    }

    static Point special_sum(const Point& p, const Point& q, const F& reciprocal) {
        if (p.is_infinity()) return q;
        if (q.is_infinity()) return p;
        if (p.x != q.x) return chord(p, q, (q.y - p.y) * reciprocal);
        if (p.y != q.y) return Point::infinity();
        const F xx = p.x.sqr();
        return chord(p, q, (xx.dbl() + xx) * reciprocal);
    }

    std::vector<F> prefix_, denominator_;
    std::vector<uint8_t> special_;
};

// Sums of runs of points by rounds of pairs: each round halves every run, so that all additions of a round are
// independent, whatever the lengths of the runs.
template <class Point>
class RunSums {
  public:
    struct Run {
        size_t length;
        Point* sum;
    };

    // *run.sum = the sum of the run's points, for consecutive runs (length ≥ 1) of the sequence given by
    // source.point(i) and source.x(i).
    template <class Source>
    void sum(const std::vector<Run>& runs, const Source& source) {
        runs_ = runs;
        if (round(source)) {
            do points_.swap(halved_);
            while (round(Stored{points_.data()}));
        }
    }

  private:
    struct Stored {
        const Point* points;
        const Point& point(size_t i) const { return points[i]; }
        const typename Point::Coordinate& x(size_t i) const { return points[i].x; }
    };

    struct Pair {
        uint32_t left, to;
    };

    template <class Source>
    struct Operands {
        const Source& source;
        const Pair* pairs;
        decltype(auto) left_x(size_t i) const { return source.x(pairs[i].left); }
        decltype(auto) right_x(size_t i) const { return source.x(pairs[i].left + 1); }
        decltype(auto) left(size_t i) const { return source.point(pairs[i].left); }
        decltype(auto) right(size_t i) const { return source.point(pairs[i].left + 1); }
    };

    // Adds neighbours in every run of `source` into halved_; runs that are down to one point leave. Whether any stay.
    template <class Source>
    bool round(const Source& source) {
        pairs_.clear();
        singles_.clear();
        size_t from = 0, to = 0, staying = 0;
        for (const Run& run : runs_) {
            const size_t length = run.length;
            if (length == 1) {
                *run.sum = source.point(from);
            } else {
                for (size_t k = 0; k + 1 < length; k += 2)
                    pairs_.push_back({static_cast<uint32_t>(from + k), static_cast<uint32_t>(to++)});
                if (length & 1) singles_.push_back({static_cast<uint32_t>(from + length - 1), static_cast<uint32_t>(to++)});
                runs_[staying++] = {(length + 1) / 2, run.sum};
            }
            from += length;
        }
        runs_.resize(staying);
        if (staying == 0) return false;
        if (halved_.size() < to) halved_.resize(to);
        for (const Pair& single : singles_) halved_[single.to] = source.point(single.left);
        batch_.add(pairs_.size(), Operands<Source>{source, pairs_.data()},
                   [&](size_t i, const Point& sum) { halved_[pairs_[i].to] = sum; });
        return true;
    }

    std::vector<Run> runs_;
    std::vector<Pair> pairs_, singles_;
    std::vector<Point> points_, halved_;
    AffineBatch<Point> batch_;
};

}  // namespace cuzkd
