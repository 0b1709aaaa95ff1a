// A launch shim: kernels on the processor, the threads of a block as fibers of one thread.
//
// It is included before a kernel source and gives the names that CUDA gives: threadIdx and its like, __syncthreads,
// shuffles, atomics, shared memory. A fiber runs until it ends or waits at a barrier or a shuffle; those that wait are
// released when all that still run have come. Blocks run one after the other, so shared variables are static ones.
// The order in which fibers take their turns is given with the launch: a kernel that misses a barrier is right in at
// most some of them. Shared memory is full of garbage when a block begins, and what lies behind it is watched.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "fiber.hpp"

namespace shim {

struct Dim {
    unsigned x = 1, y = 1, z = 1;
};

enum class State { running, at_barrier, at_shuffle, ended };

constexpr unsigned kWarp = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr size_t kGuard = 256;
constexpr unsigned char kGarbage = 0xa5;

struct Thread {
    Fiber fiber;
    State state = State::ended;
    unsigned shuffles = 0;
};

// What the kernel that is running sees; one launch at a time.
struct Launch {
    Dim grid, block, block_index, thread_index;
    std::vector<Thread> threads{kMaxThreads};
    uint64_t exchange[kMaxThreads / kWarp][2][kWarp];
    alignas(16) unsigned char shared[(256 << 10) + kGuard];
    size_t shared_bytes = 0;
    unsigned current = 0;
    void (*body)(void*) = nullptr;
    void* body_argument = nullptr;
    std::string error;
};

inline Launch& now() {
    static Launch launch;
    return launch;
}

inline void wait(State state) {
    Launch& launch = now();
    Thread& thread = launch.threads[launch.current];
    thread.state = state;
    thread.fiber.leave();
}

// Every lane gives a value and gets that of lane `from`. Two slots in turn: nobody is two shuffles ahead of a reader.
template <class T>
T exchanged(T value, unsigned from) {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    Launch& launch = now();
    auto& slots = launch.exchange[launch.current / kWarp][launch.threads[launch.current].shuffles++ % 2];
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    slots[launch.current % kWarp] = bits;
    wait(State::at_shuffle);
    std::memcpy(&value, &slots[from], sizeof(T));
    return value;
}

inline unsigned lane() { return now().current % kWarp; }

// Releases the threads of [first, end) that wait so, if every one that has not ended does.
inline bool release(unsigned first, unsigned end, State state) {
    auto& threads = now().threads;
    bool any = false;
    for (unsigned i = first; i < end; i++) {
        if (threads[i].state == State::ended) continue;
        if (threads[i].state != state) return false;
        any = true;
    }
    for (unsigned i = first; i < end && any; i++)
        if (threads[i].state == state) threads[i].state = State::running;
    return any;
}

inline bool release_some(unsigned count) {
    if (release(0, count, State::at_barrier)) return true;
    bool any = false;
    for (unsigned first = 0; first < count; first += kWarp)
        any |= release(first, first + kWarp < count ? first + kWarp : count, State::at_shuffle);
    return any;
}

inline void enter_thread(void*) {
    Launch& launch = now();
    launch.body(launch.body_argument);
    wait(State::ended);
}

// Runs one block, its threads in the order first, first + stride, … modulo their number.
inline bool run_block(unsigned count, unsigned first, unsigned stride) {
    Launch& launch = now();
    std::memset(launch.shared, kGarbage, launch.shared_bytes + kGuard);
    for (unsigned i = 0; i < count; i++) {
        launch.threads[i].fiber.start(enter_thread, nullptr);
        launch.threads[i].state = State::running;
        launch.threads[i].shuffles = 0;
    }
    for (unsigned ended = 0; ended < count;) {
        bool ran = false;
        for (unsigned turn = 0; turn < count; turn++) {
            const unsigned i = (first + static_cast<uint64_t>(turn) * stride) % count;
            Thread& thread = launch.threads[i];
            if (thread.state != State::running) continue;
            launch.current = i;
            launch.thread_index = {i % launch.block.x, i / launch.block.x, 0};
            thread.fiber.enter();
            ended += thread.state == State::ended;
            ran = true;
        }
        if (!ran && !release_some(count)) {
            launch.error = "threads wait for others that never come: a barrier or shuffle in divergent code";
            return false;
        }
    }
    for (size_t i = 0; i < kGuard; i++)
        if (launch.shared[launch.shared_bytes + i] != kGarbage) {
            launch.error = "the kernel wrote behind its dynamic shared memory";
            return false;
        }
    return true;
}

inline unsigned common_divisor(unsigned a, unsigned b) { return b == 0 ? a : common_divisor(b, a % b); }

// Runs a grid. `order` picks the order of the threads of a block: 0 counts up, 1 down, others stride.
inline bool run_grid(Dim grid, Dim block, size_t shared_bytes, unsigned order) {
    Launch& launch = now();
    const unsigned count = block.x * block.y * block.z;
    if (count == 0 || count > kMaxThreads || shared_bytes > sizeof(launch.shared) - kGuard) {
        launch.error = "no device launches a block of this size";
        return false;
    }
    unsigned stride = order == 0 ? 1 : order == 1 ? count - 1 : order % count;
    while (stride == 0 || common_divisor(stride, count) != 1) stride++;
    launch.grid = grid, launch.block = block, launch.shared_bytes = shared_bytes;
    for (unsigned y = 0; y < grid.y; y++)
        for (unsigned x = 0; x < grid.x; x++) {
            launch.block_index = {x, y, 0};
            if (!run_block(count, order == 0 ? 0 : count - 1, stride)) return false;
        }
    return true;
}

// A kernel's arguments as a launch has them: 8 bytes each, of which the kernel takes as many as its type has.
template <class... Arguments>
struct Call {
    void (*kernel)(Arguments...);
    std::tuple<Arguments...> arguments;

    static void body(void* self) {
        Call* call = static_cast<Call*>(self);
        std::apply(call->kernel, call->arguments);
    }
};

template <class T>
T argument(const uint64_t*& next) {
    static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, next++, sizeof(T));
    return value;
}

struct Entry {
    const char* name;
    unsigned (*sizes)(unsigned char*);  // of the arguments; how many
    bool (*launch)(const uint64_t* arguments, Dim grid, Dim block, size_t shared_bytes, unsigned order);
};

template <auto KERNEL>
struct Kernel;

template <class... Arguments, void (*KERNEL)(Arguments...)>
struct Kernel<KERNEL> {
    static unsigned sizes(unsigned char* to) {
        const unsigned char all[] = {static_cast<unsigned char>(sizeof(Arguments))...};
        std::memcpy(to, all, sizeof...(Arguments));
        return sizeof...(Arguments);
    }
    static bool launch(const uint64_t* given, Dim grid, Dim block, size_t shared_bytes, unsigned order) {
        Call<Arguments...> call{KERNEL, std::tuple<Arguments...>{argument<Arguments>(given)...}};
        now().body = &call.body, now().body_argument = &call;
        return run_grid(grid, block, shared_bytes, order);
    }
    static constexpr Entry entry(const char* name) { return {name, sizes, launch}; }
};

}  // namespace shim

#define threadIdx (::shim::now().thread_index)
#define blockIdx (::shim::now().block_index)
#define blockDim (::shim::now().block)
#define gridDim (::shim::now().grid)
#define __shared__ static

#define CUZKD_KERNEL extern "C"
#define CUZKD_BOUNDS(threads, blocks)
#define CUZKD_DEVICE inline
#define CUZKD_DYNAMIC_SHARED(type, name) type* const name = reinterpret_cast<type*>(::shim::now().shared)

struct uint2 {
    unsigned x, y;
};

inline void __syncthreads() { shim::wait(shim::State::at_barrier); }

template <class T>
T __shfl_up_sync(unsigned, T value, unsigned delta) {
    const unsigned lane = shim::lane();
    return shim::exchanged(value, lane < delta ? lane : lane - delta);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta) {
    const unsigned lane = shim::lane();
    return shim::exchanged(value, lane + delta < shim::kWarp ? lane + delta : lane);
}
template <class T>
T __shfl_sync(unsigned, T value, unsigned from) {
    return shim::exchanged(value, from % shim::kWarp);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
    return shim::exchanged(value, shim::lane() ^ mask);
}
inline void __syncwarp(unsigned = ~0u) { shim::exchanged(0u, shim::lane()); }
inline void __threadfence() {}

template <class T>
T atomicAdd(T* to, T value) {
    const T before = *to;
    *to = before + value;
    return before;
}
template <class T>
T atomicMax(T* to, T value) {
    const T before = *to;
    *to = before < value ? value : before;
    return before;
}

inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (unsigned i = 0; i < 32; i++) r = r << 1 | (x >> i & 1);
    return r;
}
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32) | low) >> (shift & 31));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32) | low) << (shift & 31) >> 32);
}
template <class T>
T __ldg(const T* from) {
    return *from;
}
