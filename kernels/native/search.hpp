// The first element of a range that fails a check, found by several threads.
#pragma once

#include <atomic>
#include <optional>

#include "threads.hpp"

namespace cuzkd {

// The least i < count for which fails(i), or nothing. Ranges of `grain` elements are handed out in rising order.
template <class Predicate>
std::optional<size_t> first_where(size_t count, size_t grain, unsigned threads, const Predicate& fails) {
    std::atomic<size_t> first{count};
    parallel_ranges(count, grain, threads, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end && i < first.load(std::memory_order_relaxed); i++) {
            if (!fails(i)) continue;
            size_t seen = first.load();
            while (i < seen && !first.compare_exchange_weak(seen, i)) {
            }
            return;
        }
    });
    const size_t found = first.load();
    return found < count ? std::optional<size_t>(found) : std::nullopt;
}

}  // namespace cuzkd
