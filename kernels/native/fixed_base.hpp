// Many multiples of one point: a table of the base's window multiples, then additions only.
#pragma once

#include <cstdint>
#include <vector>

#include "affine_batch.hpp"
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

    // out[i] = scalars[i]·base; scalars are 4 limbs each, below 2^256. The additions of one window for many scalars
    // are independent, and share their inversions.
    void multiply(const u64* scalars, size_t count, u64* out, unsigned threads) const {
        parallel_ranges(count, kTogether, threads, [&](size_t begin, size_t end) {
            Together work(*this, scalars + 4 * begin, end - begin);
            for (unsigned w = 0; w < windows_; ++w) work.add_window(w);
            for (size_t i = begin; i < end; ++i) work.sums[i - begin].to_raw(out + Point::LIMBS64 * i);
        });
    }

  private:
    static constexpr size_t kTogether = 1024;

    // Some scalars whose multiples are made in step.
    struct Together {
        const FixedBase& base;
        const u64* scalars;
        size_t count;
        std::vector<Point> sums, terms;
        std::vector<uint32_t> pending;
        AffineBatch<Point> batch;

        Together(const FixedBase& of, const u64* of_scalars, size_t of_count)
            : base(of), scalars(of_scalars), count(of_count), sums(of_count, Point::infinity()), terms(of_count),
              pending(of_count) {}

        const Point& left(size_t i) const { return sums[pending[i]]; }
        const Point& right(size_t i) const { return terms[i]; }

        static constexpr size_t kAhead = 16, kLine = 64;

        static void prefetch(const Point* row, size_t d) {
            if (!d) return;
            const char* const at = reinterpret_cast<const char*>(row + d - 1);
            for (size_t byte = 0; byte < sizeof(Point); byte += kLine) __builtin_prefetch(at + byte);
        }

        void add_window(unsigned w) {
            const Point* const row = base.table_.data() + w * base.width_;
            size_t waiting = 0;
            for (size_t i = 0; i < count; ++i) {
                if (i + kAhead < count) prefetch(row, base.digit(scalars + 4 * (i + kAhead), w * base.bits_));
                const size_t d = base.digit(scalars + 4 * i, w * base.bits_);
                if (!d) continue;
                if (sums[i].is_infinity()) {
                    sums[i] = row[d - 1];
                    continue;
                }
                terms[waiting] = row[d - 1];
                pending[waiting++] = static_cast<uint32_t>(i);
            }
            batch.add(waiting, *this, [&](size_t i, const Point& sum) { sums[pending[i]] = sum; });
        }
    };

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
