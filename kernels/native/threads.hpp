// Work shared out over threads: started for a call and joined before it returns, so that no thread outlives its
// call or stands in the way of a process that starts another.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace cuzkd {

// Calls body(task) or body(task, worker) for each task < count, once, in rising order of starts, on up to `threads`
// threads; the caller's is one of them, and workers number them from 0. Tasks are handed out one by one, so unequal
// tasks balance. The first exception is thrown again here, after every thread has stopped; tasks that had not started
// by then never run.
template <class Body>
void parallel_for(size_t count, unsigned threads, const Body& body) {
    const auto call = [&body](size_t task, unsigned worker) {
        if constexpr (std::is_invocable_v<const Body&, size_t, unsigned>) body(task, worker);
        else body(task);
    };
    if (threads <= 1 || count <= 1) {
        for (size_t i = 0; i < count; ++i) call(i, 0);
        return;
    }
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    const auto run = [&](unsigned worker) {
        try {
            for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) call(i, worker);
        } catch (...) {
            next.store(count, std::memory_order_relaxed);
            const std::lock_guard<std::mutex> hold(failure_lock);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    const size_t helpers = (count < threads ? count : threads) - 1;
    others.reserve(helpers);
    try {
        while (others.size() < helpers) others.emplace_back(run, static_cast<unsigned>(others.size() + 1));
    } catch (const std::system_error&) {
        // The system gives no more threads: those that started do the work.
    }
    run(0);
    for (auto& thread : others) thread.join();
    if (failure) std::rethrow_exception(failure);
}

// Splits 0 … size - 1 into ranges of about `grain` and calls body(begin, end) for each, as parallel_for does.
template <class Body>
void parallel_ranges(size_t size, size_t grain, unsigned threads, const Body& body) {
    if (grain == 0) grain = 1;
    const size_t ranges = size / grain + (size % grain != 0);
    parallel_for(ranges, threads, [&](size_t k) {
        const size_t begin = k * grain;
        body(begin, size - begin < grain ? size : begin + grain);
    });
}

}  // namespace cuzkd
