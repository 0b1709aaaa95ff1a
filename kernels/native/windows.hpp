// Signed digits of half scalars: how many bits a window has, and the points of a window sorted by bucket.
//
// Adding 2^(c-1) at every window but the last turns signed digits into plain ones: digit w of k is then bits
// [c·w, c·w + c) of k + bias, less 2^(c-1), and needs no carry from below; the last window keeps the sign.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "endomorphism.hpp"

namespace cuzkd {

// An entry of a bucket is a base's number times four, with these flags.
constexpr uint32_t kNegated = 1, kTurned = 2;

struct WindowPlan {
    unsigned bits = 1, windows = 0;
    i128 bias = 0;

    size_t buckets() const { return size_t{1} << (bits - 1); }

    // Digit w of k: bucket |digit| - 1, none for 0.
    int64_t digit(i128 k, unsigned w) const {
        const i128 shifted = (k + bias) >> (bits * w);
        if (w + 1 == windows) return static_cast<int64_t>(shifted);
        const int64_t half = int64_t{1} << (bits - 1);
        return (static_cast<int64_t>(shifted) & (2 * half - 1)) - half;
    }

    // Windows of `bits` bits for numbers up to `largest`.
    static WindowPlan of_width(unsigned bits, u128 largest) {
        WindowPlan plan;
        plan.bits = bits;
        plan.windows = bit_length(largest) / bits + 1;
        for (unsigned w = 0; w + 1 < plan.windows; ++w) plan.bias += static_cast<i128>(1) << (bits * (w + 1) - 1);
        return plan;
    }

    // The width with the fewest additions for `halves` numbers up to `largest`: each window adds every number to a
    // bucket once, takes two additions for each bucket, and some for its joining.
    static WindowPlan cheapest(size_t halves, u128 largest) {
        unsigned best = kNarrowest;
        double least = 0;
        for (unsigned bits = kNarrowest; bits <= kWidest; ++bits) {
            const unsigned windows = bit_length(largest) / bits + 1;
            const double cost = windows * (static_cast<double>(halves) + 2.2 * (1ull << (bits - 1)) + kJoining);
            if (bits > kNarrowest && cost >= least) continue;
            least = cost;
            best = bits;
        }
        return of_width(best, largest);
    }

  private:
    static constexpr unsigned kNarrowest = 4, kWidest = 20;
    static constexpr double kJoining = 40;

    static unsigned bit_length(u128 value) {
        unsigned bits = 0;
        for (; value; value >>= 1) ++bits;
        return bits;
    }
};

// One window's entries, bucket after bucket, cut into pieces of work.
class SortedWindow {
  public:
    // Whole buckets [first_bucket, last_bucket), or a part of bucket first_bucket when `partial`; its entries.
    struct Piece {
        size_t first_bucket, last_bucket, begin, end;
        bool partial;
    };

    template <class Slices>
    void sort(const WindowPlan& plan, unsigned w, const Slices& slices, size_t piece_entries) {
        // start_[b + 2] counts bucket b; summed up, start_[b + 1] is where it begins, and its end when all are placed.
        start_.assign(plan.buckets() + 2, 0);
        for_each_digit(plan, w, slices, [&](size_t bucket, uint32_t) { ++start_[bucket + 2]; });
        for (size_t b = 2; b < start_.size(); ++b) start_[b] += start_[b - 1];
        entries_.reset(new uint32_t[start_.back()]);
        for_each_digit(plan, w, slices, [&](size_t bucket, uint32_t entry) { entries_[start_[bucket + 1]++] = entry; });
        cut(plan.buckets(), piece_entries);
    }

    size_t begin(size_t bucket) const { return start_[bucket]; }
    size_t end(size_t bucket) const { return start_[bucket + 1]; }
    const uint32_t* entries() const { return entries_.get(); }
    const std::vector<Piece>& pieces() const { return pieces_; }

  private:
    template <class Slices, class Body>
    static void for_each_digit(const WindowPlan& plan, unsigned w, const Slices& slices, const Body& body) {
        for (const auto& slice : slices) {
            for (size_t i = 0; i < slice.halves.size(); ++i) {
                const int64_t digit = plan.digit(slice.halves[i], w);
                if (digit > 0) body(static_cast<size_t>(digit - 1), slice.entries[i]);
                else if (digit < 0) body(static_cast<size_t>(-digit - 1), slice.entries[i] ^ kNegated);
            }
        }
    }

    void cut(size_t buckets, size_t piece_entries) {
        size_t first = 0;
        const auto flush = [&](size_t last) {
            if (first < last) pieces_.push_back({first, last, begin(first), end(last - 1), false});
            first = last;
        };
        for (size_t b = 0; b < buckets; ++b) {
            if (end(b) - begin(b) > 2 * piece_entries) {
                flush(b);
                for (size_t at = begin(b); at < end(b); at += piece_entries)
                    pieces_.push_back({b, b + 1, at, std::min(end(b), at + piece_entries), true});
                first = b + 1;
            } else if (end(b) - begin(first) >= piece_entries) {
                flush(b + 1);
            }
        }
        flush(buckets);
    }

    std::vector<uint32_t> start_;
    std::unique_ptr<uint32_t[]> entries_;
    std::vector<Piece> pieces_;
};

}  // namespace cuzkd
