// The sum of a few multiples, where the buckets of msm.hpp would cost more than they save: signed windows over tables
// of small multiples, one run of doublings for all (Straus, "Addition chains of vectors", 1964).
#pragma once

#include <cstddef>
#include <vector>

#include "windows.hpp"

namespace cuzkd {

template <class Curve, class Point>
class FewMultiples {
    using F = typename Point::Coordinate;
    using Sum = Xyzz<F, Curve>;

  public:
    // sum factors[i]·points[i], each |factor| ≤ largest.
    static Sum sum(const std::vector<Point>& points, const std::vector<i128>& factors, u128 largest) {
        if (points.empty()) return Sum::infinity();
        const WindowPlan plan = WindowPlan::of_width(kBits, largest);
        const std::vector<Point> tables = multiples(points);
        Sum total = Sum::infinity();
        for (unsigned w = plan.windows; w-- > 0;) {
            for (unsigned k = 0; k < kBits; ++k) total = total.dbl();
            for (size_t i = 0; i < points.size(); ++i) {
                const int64_t digit = plan.digit(factors[i], w);
                if (digit > 0) total.add(tables[i * kMultiples + digit - 1]);
                if (digit < 0) total.add(-tables[i * kMultiples - digit - 1]);
            }
        }
        return total;
    }

  private:
    static constexpr unsigned kBits = 4;
    static constexpr size_t kMultiples = size_t{1} << (kBits - 1);

    // 1 to kMultiples times each point.
    static std::vector<Point> multiples(const std::vector<Point>& points) {
        const size_t count = points.size() * kMultiples;
        std::vector<Sum> sums;
        sums.reserve(count);
        for (const Point& point : points) {
            sums.push_back(Sum::from_affine(point));
            for (size_t k = 1; k < kMultiples; ++k) {
                sums.push_back(sums.back());
                sums.back().add(point);
            }
        }
        std::vector<Point> affine(count);
        std::vector<F> scratch(count);
        normalize(sums.data(), count, affine.data(), scratch.data());
        return affine;
    }
};

}  // namespace cuzkd
