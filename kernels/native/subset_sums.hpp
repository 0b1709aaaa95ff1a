// Sums of random subsets of points, many subsets for one addition a point.
//
// Points go into 2^bits buckets by a number of `bits` bits each; bit b of the number says whether the point is in
// subset b. The sum of the buckets whose number has the top bit is that subset's sum; added onto the buckets without
// it, half as many buckets are left for the bits below ("four Russians": Arlazarov, Dinic, Kronrod, Faradzhev, 1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "affine_batch.hpp"

namespace cuzkd {

// One thread's room for such sums.
template <class Point>
class SubsetSums {
  public:
    // sums[b] = the sum of all points[i] for which bit b of choices[i] is set, for b < bits; points lie `Point::LIMBS64`
    // limbs apart. Bits of a choice from `bits` on are ignored. Any points of the curve, any count below 2^32.
    void sum(const u64* points, size_t count, const uint16_t* choices, unsigned bits, Point* sums) {
        sort(choices, count, bits);
        fill(points);
        for (unsigned b = bits; b-- > 0;) {
            const size_t half = size_t{1} << b;
            sums[b] = total(half);
            fold(half);
        }
    }

  private:
    // Points that are gathered and summed at once: few enough for a core's own cache.
    static constexpr size_t kTogether = 2048;

    // order_ lists the points bucket after bucket; bucket k's end at end_[k].
    void sort(const uint16_t* choices, size_t count, unsigned bits) {
        const size_t buckets = size_t{1} << bits, mask = buckets - 1;
        end_.assign(buckets + 1, 0);
        for (size_t i = 0; i < count; ++i) ++end_[(choices[i] & mask) + 1];
        for (size_t k = 1; k < end_.size(); ++k) end_[k] += end_[k - 1];
        order_.resize(count);
        for (size_t i = 0; i < count; ++i) order_[end_[choices[i] & mask]++] = static_cast<uint32_t>(i);
        end_.pop_back();
    }

    // Bucket 0 belongs to no subset and stays empty.
    void fill(const u64* points) {
        buckets_.assign(end_.size(), Point::infinity());
        size_t gathered = 0, from = end_[0];
        for (size_t k = 1; k < end_.size(); ++k) {
            if (end_[k] > end_[k - 1]) runs_.push_back({end_[k] - end_[k - 1], &buckets_[k]});
            gathered = end_[k] - from;
            if (gathered < kTogether && k + 1 < end_.size()) continue;
            Point* room = adder_.points(gathered);
            for (size_t i = 0; i < gathered; ++i) room[i] = Point::from_raw(points + Point::LIMBS64 * order_[from + i]);
            adder_.sum(runs_);
            runs_.clear();
            from = end_[k];
        }
    }

    // The sum of the upper half of 2·half buckets.
    Point total(size_t half) {
        Point sum;
        Point* room = adder_.points(half);
        for (size_t k = 0; k < half; ++k) room[k] = buckets_[half + k];
        adder_.sum({{half, &sum}});
        return sum;
    }

    struct Halves {
        const Point *lower, *upper;
        const Point& left(size_t k) const { return lower[k]; }
        const Point& right(size_t k) const { return upper[k]; }
    };

    void fold(size_t half) {
        folder_.add(half, Halves{buckets_.data(), buckets_.data() + half},
                    [&](size_t k, const Point& sum) { buckets_[k] = sum; });
    }

    std::vector<size_t> end_;
    std::vector<uint32_t> order_;
    std::vector<Point> buckets_;
    std::vector<typename RunSums<Point>::Run> runs_;
    RunSums<Point> adder_;
    AffineBatch<Point> folder_;
};

}  // namespace cuzkd
