// Powers of the roots of unity of Fr, in the order in which transforms take them.
//
// table[p] = e^(i·pi·rev(p)), where e^(2·i·pi / 2^k) stands for the 2^k-th root w_2^k, and rev(p) is p with its
// binary digits mirrored at the point: rev(1) = 1/2, rev(2) = 1/4, rev(3) = 3/4 … So
//   - block p of any level of a transform of any size has the twiddle table[p]: one table serves all sizes;
//   - its inverse is -table[mirror(p)];
//   - table[p] = w_2n^j, where j is p with its log2 n bits reversed: the shift to the odd coset of coefficient j,
//     at the place where a transform without bit reversal leaves that coefficient.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "field.cuh"
#include "threads.hpp"

namespace cuzkd {

// The place p' with table[p'] = -1/table[p], for p > 0: p mirrored inside [2^k, 2^(k+1)).
inline size_t mirror(size_t p) {
    const unsigned k = 63 - static_cast<unsigned>(__builtin_clzll(p));
    return (size_t{3} << k) - 1 - p;
}

// Which primitive root of unity numbers a domain's points: row i stands at its power i.
struct SnarkjsRoot {
    template <class Fr>
    static Fr of() { return Fr::of(Fr::Params::root); }
};

struct BellpersonRoot {
    template <class Fr>
    static Fr of() { return Fr::of(Fr::Params::bellperson_root); }
};

template <class Fr, class Root = SnarkjsRoot>
class Roots {
  public:
    using Table = std::vector<Fr>;

    // w_2^log_order; log_order ≤ two-adicity.
    static Fr primitive(unsigned log_order) {
        Fr root = Root::template of<Fr>();
        for (unsigned k = Fr::Params::TWO_ADICITY; k > log_order; --k) root = root.sqr();
        return root;
    }

    // A table of at least 2^log_size entries, log_size < two-adicity; made once, kept for the life of the process.
    static std::shared_ptr<const Table> table(unsigned log_size, unsigned threads) {
        static std::mutex lock;
        static std::shared_ptr<const Table> kept;
        const std::lock_guard<std::mutex> hold(lock);
        if (!kept || kept->size() < (size_t{1} << log_size)) kept = extended(kept.get(), log_size, threads);
        return kept;
    }

    // 1/2^log, the scale of an inverse transform.
    static Fr inverse_size(unsigned log) {
        Fr size = Fr::one();
        for (unsigned k = 0; k < log; ++k) size = size.dbl();
        return size.inverse();
    }

  private:
    static constexpr size_t kGrain = 4096;

    static std::shared_ptr<const Table> extended(const Table* from, unsigned log_size, unsigned threads) {
        auto made = std::make_shared<Table>(size_t{1} << log_size);
        Table& table = *made;
        size_t filled = 1;
        table[0] = Fr::one();
        if (from) {
            filled = from->size();
            std::copy(from->begin(), from->end(), table.begin());
        }
        for (; filled < table.size(); filled *= 2) {
            const unsigned k = 63 - static_cast<unsigned>(__builtin_clzll(filled));
            const Fr turn = primitive(k + 2);
            parallel_ranges(filled, kGrain, threads, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) table[filled + i] = table[i] * turn;
            });
        }
        return made;
    }
};

}  // namespace cuzkd
