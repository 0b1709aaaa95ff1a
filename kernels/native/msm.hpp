// Multi-scalar multiplication sum k_i·P_i by buckets (Pippenger 1976; Bernstein, Doumen, Lange, Oosterwijk, "Faster
// batch forgery identification", INDOCRYPT 2012), in G1 and G2 of either curve.
//
//   split    every scalar into two signed halves (endomorphism.hpp); zeros vanish, halves of ±1 go to a list apart
//   sort     per window of c bits: signed digits, then a counting sort of the points by |digit|
//   sums     per bucket: affine additions in rounds of pairs, many buckets to a batch (affine_batch.hpp)
//   reduce   per window sum b·bucket_b: many chains of running sums side by side, again as affine batches
//   join     windows by doubling
// A few halves are summed without buckets (few.hpp).
// A bucket far above the mean is summed in pieces, so that equal scalars cost no more than random ones and spread
// over threads as well. Time depends on the scalars.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "affine_batch.hpp"
#include "endomorphism.hpp"
#include "few.hpp"
#include "threads.hpp"
#include "windows.hpp"

namespace cuzkd {

// Uninitialized elements that begin on a cache line.
struct FreeAligned {
    void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Aligned = std::unique_ptr<T[], FreeAligned>;

template <class T>
Aligned<T> aligned(size_t count) {
    void* const memory = std::aligned_alloc(64, (count * sizeof(T) / 64 + 1) * 64);
    if (!memory) throw std::bad_alloc();
    return Aligned<T>(static_cast<T*>(memory));
}

template <class Curve, class Point>
class Msm {
    using F = typename Point::Coordinate;
    using Sum = Xyzz<F, Curve>;

  public:
    // Points of the group of order r (or infinity), canonical scalars of four limbs; n < 2^30.
    Msm(const Point* bases, const u64* scalars, size_t n, unsigned threads)
        : bases_(bases), scalars_(scalars), n_(n), threads_(std::max(threads, 1u)), turned_x_(aligned<F>(n)),
          slices_(n / kSliceScalars + 1), scratch_(threads_) {}

    Point run() {
        split_scalars();
        Sum total = halves_ <= kFewHalves ? sum_few() : sum_windows();
        for (const Slice& slice : slices_) total.add(slice.unit_sum);
        return total.to_affine();
    }

  private:
    static constexpr size_t kSliceScalars = size_t{1} << 13;
    static constexpr size_t kPieceEntries = (size_t{1} << 18) / sizeof(Point);
    static constexpr size_t kAhead = 48;
    static constexpr size_t kChainsAtOnce = 1024;
    static constexpr size_t kSortBytes = size_t{256} << 20;
    static constexpr size_t kFewHalves = 48;

    // What a task of scalars gives: halves other than 0 and ±1, and the points of the ±1.
    struct Slice {
        std::vector<i128> halves;
        std::vector<uint32_t> entries, units;
        Point unit_sum = Point::infinity();
        u128 largest = 0;
    };

    struct Scratch {
        RunSums<Point> run_sums;
        AffineBatch<Point> batch;
        std::vector<typename RunSums<Point>::Run> runs;
    };

    // ---- split -------------------------------------------------------------------------------------------------

    void split_scalars() {
        const auto beta = group_beta();
        parallel_for(slices_.size(), threads_, [&](size_t s, unsigned worker) {
            const size_t begin = s * kSliceScalars, end = std::min(n_, begin + kSliceScalars);
            for (size_t i = begin; i < end; ++i) split_one(slices_[s], i, beta);
            sum_units(slices_[s], scratch_[worker]);
        });
        for (const Slice& slice : slices_) {
            halves_ += slice.halves.size();
            largest_ = std::max(largest_, slice.largest);
        }
    }

    void split_one(Slice& slice, size_t i, const typename Curve::Fq& beta) {
        const u64* const k = scalars_ + 4 * i;
        if ((k[0] | k[1] | k[2] | k[3]) == 0) return;
        if (!Curve::Fr::from_raw(k).is_canonical())
            throw std::invalid_argument("scalar " + std::to_string(i) + " is not below the group order");
        if (bases_[i].is_infinity()) return;
        const Halves halves = ScalarSplit<Curve>::split(k);
        const auto entry = static_cast<uint32_t>(i << 2);
        add_half(slice, halves.own, entry);
        if (halves.turned != 0) {
            turned_x_[i] = bases_[i].x * beta;
            add_half(slice, halves.turned, entry | kTurned);
        }
    }

    static void add_half(Slice& slice, i128 half, uint32_t entry) {
        if (half == 0) return;
        const u128 size = static_cast<u128>(half < 0 ? -half : half);
        if (size == 1) {
            slice.units.push_back(half < 0 ? entry | kNegated : entry);
            return;
        }
        slice.largest = std::max(slice.largest, size);
        slice.halves.push_back(half);
        slice.entries.push_back(entry);
    }

    void sum_units(Slice& slice, Scratch& scratch) {
        if (slice.units.empty()) return;
        scratch.runs.assign(1, {slice.units.size(), &slice.unit_sum});
        gather(slice.units.data(), slice.units.size(), scratch.run_sums.points(slice.units.size()));
        scratch.run_sums.sum(scratch.runs);
    }

    // Copies the points of entries: the base, turned or not, negated or not. Bases lie all over memory, so they are asked
    // for well ahead; the choices are made without branches, which nothing could predict.
    void gather(const uint32_t* entries, size_t count, Point* to) const {
        for (size_t i = 0; i < count; ++i) {
            if (i + kAhead < count) prefetch(entries[i + kAhead]);
            const uint32_t e = entries[i];
            const Point& base = bases_[e >> 2];
            const F* const xs[2] = {&base.x, &turned_x_[e >> 2]};
            const F ys[2] = {base.y, -base.y};
            to[i].x = *xs[(e & kTurned) / kTurned];
            to[i].y = ys[(e & kNegated) / kNegated];
        }
    }

    void prefetch(uint32_t e) const {
        const char* const base = reinterpret_cast<const char*>(bases_ + (e >> 2));
        for (size_t at = 0; at < sizeof(Point); at += 64) __builtin_prefetch(base + at);
        __builtin_prefetch(base + sizeof(Point) - 1);
        if (e & kTurned) __builtin_prefetch(&turned_x_[e >> 2]);
    }

    static const typename Curve::Fq& group_beta() {
        static const typename Curve::Fq beta = [] {
            if constexpr (F::LIMBS64 == Curve::Fq::LIMBS64)
                return matching_beta<Curve>(Curve::generator1());
            else
                return matching_beta<Curve>(Curve::generator2());
        }();
        return beta;
    }

    Sum sum_few() const {
        std::vector<Point> points;
        std::vector<i128> factors;
        for (const Slice& slice : slices_) {
            const size_t first = points.size();
            points.resize(first + slice.entries.size());
            gather(slice.entries.data(), slice.entries.size(), points.data() + first);
            factors.insert(factors.end(), slice.halves.begin(), slice.halves.end());
        }
        return FewMultiples<Curve, Point>::sum(points, factors, largest_);
    }

    // ---- windows -----------------------------------------------------------------------------------------------

    Sum sum_windows() {
        plan_ = WindowPlan::cheapest(halves_, largest_);
        Sum total = Sum::infinity();
        for (unsigned end = plan_.windows; end > 0;) {
            const unsigned begin = end > windows_at_once() ? end - windows_at_once() : 0;
            const std::vector<Sum> sums = window_sums(begin, end);
            for (unsigned w = end; w-- > begin;) {
                for (unsigned k = 0; k < plan_.bits; ++k) total = total.dbl();
                total.add(sums[w - begin]);
            }
            end = begin;
        }
        return total;
    }

    // As many windows as sort in kSortBytes, but enough for all threads.
    unsigned windows_at_once() const {
        return static_cast<unsigned>(std::max<size_t>(threads_, kSortBytes / (sizeof(uint32_t) * halves_)));
    }

    std::vector<Sum> window_sums(unsigned begin, unsigned end) {
        const size_t buckets = plan_.buckets();
        std::vector<SortedWindow> windows(end - begin);
        parallel_for(windows.size(), threads_, [&](size_t w, unsigned) {
            windows[w].sort(plan_, begin + static_cast<unsigned>(w), slices_, kPieceEntries);
        });
        const Aligned<Point> sums = aligned<Point>(buckets * windows.size());
        sum_buckets(windows, sums.get());
        return reduce_windows(sums.get(), windows.size());
    }

    // ---- sums --------------------------------------------------------------------------------------------------

    struct Task {
        const SortedWindow* window;
        const SortedWindow::Piece* piece;
        Point* buckets;
        Point partial;
    };

    void sum_buckets(const std::vector<SortedWindow>& windows, Point* sums) {
        std::vector<Task> tasks;
        for (size_t w = 0; w < windows.size(); ++w)
            for (const auto& piece : windows[w].pieces())
                tasks.push_back({&windows[w], &piece, sums + w * plan_.buckets(), Point::infinity()});
        parallel_for(tasks.size(), threads_, [&](size_t t, unsigned worker) { run_task(tasks[t], scratch_[worker]); });
        for (size_t t = 0; t < tasks.size();) t = join_partials(tasks, t);
    }

    void run_task(Task& task, Scratch& scratch) {
        const auto& piece = *task.piece;
        scratch.runs.clear();
        if (piece.partial) {
            scratch.runs.push_back({piece.end - piece.begin, &task.partial});
        } else {
            for (size_t b = piece.first_bucket; b < piece.last_bucket; ++b) {
                const size_t length = task.window->end(b) - task.window->begin(b);
                if (length) scratch.runs.push_back({length, task.buckets + b});
                else task.buckets[b] = Point::infinity();
            }
        }
        const size_t count = piece.end - piece.begin;
        gather(task.window->entries() + piece.begin, count, scratch.run_sums.points(count));
        scratch.run_sums.sum(scratch.runs);
    }

    // The partial sums of one bucket, from task t on, become its sum; the number of the next task.
    size_t join_partials(const std::vector<Task>& tasks, size_t t) {
        if (!tasks[t].piece->partial) return t + 1;
        Point* const bucket = tasks[t].buckets + tasks[t].piece->first_bucket;
        Sum sum = Sum::infinity();
        for (; t < tasks.size() && tasks[t].piece->partial; ++t) {
            if (tasks[t].buckets + tasks[t].piece->first_bucket != bucket) break;
            sum.add(tasks[t].partial);
        }
        *bucket = sum.to_affine();
        return t;
    }

    // ---- reduce ------------------------------------------------------------------------------------------------

    // A window's buckets are cut into segments; chain q walks segment q of all windows downwards, with `run` the sum
    // of the buckets so far and `total` the sum of those sums.
    struct Chains {
        std::vector<Point> run, total;
        size_t segments, length;
    };

    std::vector<Sum> reduce_windows(const Point* buckets, size_t windows) {
        Chains chains;
        const size_t wanted = std::max<size_t>(1, kChainsAtOnce * threads_ / windows);
        chains.segments = 1;
        while (2 * chains.segments <= wanted && plan_.buckets() / chains.segments > kShortestSegment)
            chains.segments *= 2;
        chains.length = plan_.buckets() / chains.segments;
        const size_t count = chains.segments * windows;
        chains.run.assign(count, Point::infinity());
        chains.total.assign(count, Point::infinity());
        const size_t grain = (count + threads_ - 1) / threads_;
        parallel_for((count + grain - 1) / grain, threads_, [&](size_t task, unsigned worker) {
            walk_chains(chains, buckets, task * grain, std::min(count, (task + 1) * grain), scratch_[worker].batch);
        });
        std::vector<Sum> sums(windows);
        for (size_t w = 0; w < windows; ++w) sums[w] = join_segments(chains, w);
        return sums;
    }

    static constexpr size_t kShortestSegment = 16;

    // In each step a chain's total takes its run before the run takes the next bucket: both additions of a step are
    // independent, and a last step completes the totals.
    struct ChainStep {
        Point *run, *total;
        const Point* bucket;
        size_t chains, stride;

        const Point& left(size_t i) const { return i < chains ? run[i] : total[i - chains]; }
        const Point& right(size_t i) const { return i < chains ? bucket[i * stride] : run[i - chains]; }
    };

    static void walk_chains(Chains& chains, const Point* buckets, size_t begin, size_t end, AffineBatch<Point>& batch) {
        const size_t count = end - begin, length = chains.length;
        ChainStep step{chains.run.data() + begin, chains.total.data() + begin, nullptr, count, length};
        const auto store = [&](size_t i, const Point& p) { (i < count ? step.run[i] : step.total[i - count]) = p; };
        for (size_t place = length; place-- > 0;) {
            step.bucket = buckets + begin * length + place;
            batch.add(2 * count, step, store);
        }
        step.chains = 0;
        batch.add(count, step, [&](size_t i, const Point& p) { step.total[i] = p; });
    }

    // sum over segments s of total_s + s·length·run_s.
    Sum join_segments(const Chains& chains, size_t window) const {
        const size_t first = window * chains.segments;
        Sum run = Sum::infinity(), offsets = Sum::infinity();
        for (size_t s = chains.segments; s-- > 1;) {
            run.add(chains.run[first + s]);
            offsets.add(run);
        }
        for (size_t k = chains.length; k > 1; k /= 2) offsets = offsets.dbl();
        for (size_t s = 0; s < chains.segments; ++s) offsets.add(chains.total[first + s]);
        return offsets;
    }

    const Point* bases_;
    const u64* scalars_;
    size_t n_;
    unsigned threads_;
    Aligned<F> turned_x_;
    std::vector<Slice> slices_;
    std::vector<Scratch> scratch_;
    size_t halves_ = 0;
    u128 largest_ = 0;
    WindowPlan plan_{};
};

}  // namespace cuzkd
