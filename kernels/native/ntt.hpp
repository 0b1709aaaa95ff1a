// Number-theoretic transforms over Fr, in place, without bit reversal: natural order to bit-reversed order by
// Cooley-Tukey butterflies, and back by Gentleman-Sande butterflies (Chu, George, "Inside the FFT black box", 2000).
//
// Two levels are done in one sweep over memory. Blocks above kBlockLog elements are swept by all threads together;
// a block of that size stays in one core's second-level cache for all the levels below.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "roots.hpp"
#include "threads.hpp"

namespace cuzkd {

enum class Direction { forward, inverse };

// Transforms of 2^log_size elements that share one table of twiddles.
template <class Fr, class Root = SnarkjsRoot>
class Transform {
  public:
    Transform(unsigned log_size, unsigned threads)
        : log_size_(log_size), threads_(threads), roots_(Roots<Fr, Root>::table(log_size ? log_size - 1 : 0, threads)),
          twiddle_(roots_->data()) {}

    // Natural order in; X_j = sum a_i·w^(±i·j) out, at the place that is j bit-reversed. Not scaled.
    template <Direction D>
    void to_reversed(Fr* a) const {
        const unsigned block_log = sweep_down<D>(a);
        for_blocks(block_log, [&](size_t block) { down_in_cache<D>(a + (block << block_log), block_log, block); });
    }

    // Bit-reversed order in, natural order out: the transform of the sequence whose entry j is at j bit-reversed.
    template <Direction D>
    void to_natural(Fr* a) const {
        const unsigned block_log = cache_block_log();
        for_blocks(block_log, [&](size_t block) { up_in_cache<D>(a + (block << block_log), block_log, block); });
        sweep_up<D>(a, block_log);
    }

    // to_reversed<first>, then each(block's first place, elements, count), then to_natural<second>: what lies in
    // between happens while the block is in cache.
    template <Direction First, Direction Second, class Each>
    void there_and_back(Fr* a, const Each& each) const {
        const unsigned block_log = sweep_down<First>(a);
        for_blocks(block_log, [&](size_t block) {
            Fr* const start = a + (block << block_log);
            down_in_cache<First>(start, block_log, block);
            each(block << block_log, start, size_t{1} << block_log);
            up_in_cache<Second>(start, block_log, block);
        });
        sweep_up<Second>(a, block_log);
    }

  private:
    static constexpr unsigned kBlockLog = 13;
    static constexpr size_t kSweepGrain = 1024;

    // Sweeps take two levels each, so a block's size has the parity of the whole.
    unsigned cache_block_log() const {
        return log_size_ <= kBlockLog ? log_size_ : kBlockLog - ((log_size_ - kBlockLog) & 1);
    }

    template <class Body>
    void for_blocks(unsigned block_log, const Body& body) const {
        parallel_for(size_t{1} << (log_size_ - block_log), threads_, body);
    }

    // The twiddle of a block above 0; for the inverse its negative, see below.
    template <Direction D>
    const Fr& twiddle(size_t block) const {
        return twiddle_[D == Direction::forward ? block : mirror(block)];
    }

    // (x + w·y, x - w·y), where an inverse twiddle was given as -w.
    template <Direction D>
    static void butterfly_down(Fr& x, Fr& y, const Fr& w) {
        const Fr product = y * w;
        const Fr sum = x + product, difference = x - product;
        x = D == Direction::forward ? sum : difference;
        y = D == Direction::forward ? difference : sum;
    }

    // (x + y, w·(x - y)), where an inverse twiddle was given as -w.
    template <Direction D>
    static void butterfly_up(Fr& x, Fr& y, const Fr& w) {
        const Fr difference = D == Direction::forward ? x - y : y - x;
        x = x + y;
        y = difference * w;
    }

    static void butterfly_plain(Fr& x, Fr& y) {
        const Fr sum = x + y;
        y = x - y;
        x = sum;
    }

    // Two levels downwards for places [begin, end) of each quarter of a block.
    template <Direction D>
    void quarters_down(Fr* a, size_t quarter, size_t block, size_t begin, size_t end) const {
        Fr *const x0 = a, *const x1 = a + quarter, *const x2 = x1 + quarter, *const x3 = x2 + quarter;
        if (block == 0) {
            const Fr& w = twiddle<D>(1);
            for (size_t j = begin; j < end; ++j) {
                butterfly_plain(x0[j], x2[j]);
                butterfly_plain(x1[j], x3[j]);
                butterfly_plain(x0[j], x1[j]);
                butterfly_down<D>(x2[j], x3[j], w);
            }
            return;
        }
        const Fr &w = twiddle<D>(block), &w_left = twiddle<D>(2 * block), &w_right = twiddle<D>(2 * block + 1);
        for (size_t j = begin; j < end; ++j) {
            butterfly_down<D>(x0[j], x2[j], w);
            butterfly_down<D>(x1[j], x3[j], w);
            butterfly_down<D>(x0[j], x1[j], w_left);
            butterfly_down<D>(x2[j], x3[j], w_right);
        }
    }

    // The same two levels upwards.
    template <Direction D>
    void quarters_up(Fr* a, size_t quarter, size_t block, size_t begin, size_t end) const {
        Fr *const x0 = a, *const x1 = a + quarter, *const x2 = x1 + quarter, *const x3 = x2 + quarter;
        if (block == 0) {
            const Fr& w = twiddle<D>(1);
            for (size_t j = begin; j < end; ++j) {
                butterfly_plain(x0[j], x1[j]);
                butterfly_up<D>(x2[j], x3[j], w);
                butterfly_plain(x0[j], x2[j]);
                butterfly_plain(x1[j], x3[j]);
            }
            return;
        }
        const Fr &w = twiddle<D>(block), &w_left = twiddle<D>(2 * block), &w_right = twiddle<D>(2 * block + 1);
        for (size_t j = begin; j < end; ++j) {
            butterfly_up<D>(x0[j], x1[j], w_left);
            butterfly_up<D>(x2[j], x3[j], w_right);
            butterfly_up<D>(x0[j], x2[j], w);
            butterfly_up<D>(x1[j], x3[j], w);
        }
    }

    // One level over two halves, for sizes that are odd powers of two.
    template <Direction D>
    void halves_down(Fr* a, size_t half, size_t block) const {
        for (size_t j = 0; j < half; ++j) {
            if (block == 0) butterfly_plain(a[j], a[half + j]);
            else butterfly_down<D>(a[j], a[half + j], twiddle<D>(block));
        }
    }

    template <Direction D>
    void halves_up(Fr* a, size_t half, size_t block) const {
        for (size_t j = 0; j < half; ++j) {
            if (block == 0) butterfly_plain(a[j], a[half + j]);
            else butterfly_up<D>(a[j], a[half + j], twiddle<D>(block));
        }
    }

    // All levels of one block, from 2^log elements down to pairs.
    template <Direction D>
    void down_in_cache(Fr* a, unsigned log, size_t block) const {
        if (log & 1) {
            const size_t half = size_t{1} << (log - 1);
            halves_down<D>(a, half, block);
            if (log > 1) {
                down_in_cache<D>(a, log - 1, 2 * block);
                down_in_cache<D>(a + half, log - 1, 2 * block + 1);
            }
            return;
        }
        size_t count = 1;
        for (unsigned level = log; level >= 2; level -= 2, count *= 4, block *= 4) {
            const size_t quarter = size_t{1} << (level - 2);
            for (size_t i = 0; i < count; ++i) quarters_down<D>(a + 4 * quarter * i, quarter, block + i, 0, quarter);
        }
    }

    // All levels of one block, from pairs up to 2^log elements.
    template <Direction D>
    void up_in_cache(Fr* a, unsigned log, size_t block) const {
        if (log & 1) {
            const size_t half = size_t{1} << (log - 1);
            if (log > 1) {
                up_in_cache<D>(a, log - 1, 2 * block);
                up_in_cache<D>(a + half, log - 1, 2 * block + 1);
            }
            halves_up<D>(a, half, block);
            return;
        }
        for (unsigned level = 2; level <= log; level += 2) {
            const size_t quarter = size_t{1} << (level - 2), count = size_t{1} << (log - level);
            for (size_t i = 0; i < count; ++i)
                quarters_up<D>(a + 4 * quarter * i, quarter, block * count + i, 0, quarter);
        }
    }

    // Pairs of levels above the cached blocks, all threads on each; returns the log of the blocks left.
    template <Direction D>
    unsigned sweep_down(Fr* a) const {
        const unsigned last = cache_block_log();
        for (unsigned level = log_size_; level > last; level -= 2) {
            sweep(level, [&](Fr* start, size_t quarter, size_t block, size_t begin, size_t end) {
                quarters_down<D>(start, quarter, block, begin, end);
            }, a);
        }
        return last;
    }

    template <Direction D>
    void sweep_up(Fr* a, unsigned block_log) const {
        for (unsigned level = block_log + 2; level <= log_size_; level += 2) {
            sweep(level, [&](Fr* start, size_t quarter, size_t block, size_t begin, size_t end) {
                quarters_up<D>(start, quarter, block, begin, end);
            }, a);
        }
    }

    template <class Quarters>
    void sweep(unsigned level, const Quarters& quarters, Fr* a) const {
        const size_t quarter = size_t{1} << (level - 2);
        const size_t pieces = quarter / kSweepGrain;
        parallel_for((size_t{1} << (log_size_ - level)) * pieces, threads_, [&](size_t task) {
            const size_t block = task / pieces, begin = task % pieces * kSweepGrain;
            quarters(a + (block << level), quarter, block, begin, begin + kSweepGrain);
        });
    }

    unsigned log_size_;
    unsigned threads_;
    std::shared_ptr<const typename Roots<Fr, Root>::Table> roots_;
    const Fr* twiddle_;
};

// Exchanges element j with the element at j bit-reversed, in square tiles of bits so that both sides of an exchange
// stay in cache (Carter, Gatlin, "Towards an optimal bit-reversal permutation program", 1998).
template <class T>
void bit_reverse(T* a, unsigned log_size, unsigned threads) {
    const unsigned tile = log_size >= 12 ? 5 : 0;
    const unsigned middle = log_size - 2 * tile;
    const auto reversed = [](size_t value, unsigned bits) {
        size_t r = 0;
        for (unsigned k = 0; k < bits; ++k) r |= (value >> k & 1) << (bits - 1 - k);
        return r;
    };
    const auto exchange = [&](size_t mid) {
        const size_t other_mid = reversed(mid, middle);
        if (mid > other_mid) return;
        for (size_t high = 0; high < size_t{1} << tile; ++high) {
            for (size_t low = 0; low < size_t{1} << tile; ++low) {
                const size_t i = high << (tile + middle) | mid << tile | low;
                const size_t j = reversed(low, tile) << (tile + middle) | other_mid << tile | reversed(high, tile);
                if (mid < other_mid || i < j) std::swap(a[i], a[j]);
            }
        }
    };
    parallel_ranges(size_t{1} << middle, 64, threads, [&](size_t begin, size_t end) {
        for (size_t mid = begin; mid < end; ++mid) exchange(mid);
    });
}

// The transform X_j = sum a_i·w^(i·j) of 2^log_size Montgomery elements in place, natural order in and out; its
// inverse (with 1/n) when `inverse`.
template <class Root, class Fr>
void ntt(Fr* a, unsigned log_size, bool inverse, unsigned threads) {
    const Transform<Fr, Root> transform(log_size, threads);
    if (!inverse) {
        transform.template to_reversed<Direction::forward>(a);
    } else {
        transform.template to_reversed<Direction::inverse>(a);
        const Fr scale = Roots<Fr>::inverse_size(log_size);
        parallel_ranges(size_t{1} << log_size, 4096, threads, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) a[i] = a[i] * scale;
        });
    }
    bit_reverse(a, log_size, threads);
}

}  // namespace cuzkd
