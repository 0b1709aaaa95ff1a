// Many multiples of one point: a table of the base's window multiples, then additions only.
#pragma once

#include <algorithm>
#include <vector>

#include "../include/curve.cuh"
#include "threads.hpp"

namespace cuzkd {

// multiples[w][d - 1] = d·2^(w·bits)·base for d = 1 … 2^bits - 1, windows covering 256 bits.
template <class F, class C>
class FixedBase {
  public:
    using Point = Affine<F, C>;
    using Sum = Xyzz<F, C>;

    FixedBase(const Point& base, unsigned bits, unsigned threads)
        : bits_(bits), windows_((256 + bits - 1) / bits), width_((size_t{1} << bits) - 1),
          table_(windows_ * width_) {
        std::vector<Sum> starts(windows_);
        Sum start = Sum::from_affine(base);
        for (unsigned w = 0; w < windows_; ++w) {
            starts[w] = start;
            for (unsigned k = 0; k < bits_; ++k) start = start.dbl();
        }
        parallel_for(windows_, threads, [&](size_t w) {
            std::vector<Sum> row(width_);
            std::vector<F> scratch(width_);
            const Point step = starts[w].to_affine();
            row[0] = starts[w];
            for (size_t d = 1; d < width_; ++d) {
                row[d] = row[d - 1];
                row[d].add(step);
            }
            normalize(row.data(), width_, table_.data() + w * width_, scratch.data());
        });
    }

    // out[i] = scalars[i]·base; scalars are 4 limbs each, below 2^256.
    void multiply(const u64* scalars, size_t count, u64* out, unsigned threads) const {
        constexpr size_t kGrain = 256;
        parallel_ranges(count, kGrain, threads, [&](size_t begin, size_t end) {
            Sum sums[kGrain];
            Point points[kGrain];
            F scratch[kGrain];
            for (size_t i = begin; i < end; ++i) sums[i - begin] = multiple(scalars + 4 * i);
            normalize(sums, end - begin, points, scratch);
            for (size_t i = begin; i < end; ++i) points[i - begin].to_raw(out + Point::LIMBS64 * i);
        });
    }

  private:
    Sum multiple(const u64* scalar) const {
        Sum sum = Sum::infinity();
        for (unsigned w = 0; w < windows_; ++w)
            if (const size_t d = digit(scalar, w * bits_)) sum.add(table_[w * width_ + d - 1]);
        return sum;
    }

    size_t digit(const u64* scalar, unsigned at) const {
        const unsigned limb = at / 64, shift = at % 64;
        u64 value = scalar[limb] >> shift;
        if (shift + bits_ > 64 && limb < 3) value |= scalar[limb + 1] << (64 - shift);
        return value & ((u64{1} << bits_) - 1);
    }

    unsigned bits_;
    unsigned windows_;
    size_t width_;
    std::vector<Point> table_;
};

// The window for `count` multiples: table building and additions in balance.
inline unsigned fixed_base_bits(size_t count) {
    unsigned bits = 2;
    while (bits < 14 && (size_t{1} << (bits + 1)) < count / (bits + 2) + 1) ++bits;
    return bits;
}

}  // namespace cuzkd
