// From buckets to one sum: the buckets' weighted sums by running sums, then neighbours joined until one is left.
//
// Sums are in planes of XYZZ coordinates. Of a run of buckets with the weights 1 … M, `weighted` is the weighted sum and
// `plain` is M times the plain one: what has to be added again for every run before it.
#define CUZKD_COLD
#include "group.cuh"

using namespace cuzkd;
using namespace cuzkd::device;

namespace {

CUZKD_DEVICE u64 thread_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }

CUZKD_DEVICE Sum doubled(Sum s, u32 times) {
#pragma unroll 1
    for (u32 i = 0; i < times; i++) s = s.dbl();
    return s;
}

}  // namespace

// Runs of 2^log_run buckets, one a thread; bucket b has the points starts[b] >> rounds … starts[b + 1] >> rounds.
CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_GROUP == 1 ? 3 : 2)
reduce_buckets(Quad* points, u64 stride, const u32* starts, u32 rounds, u32 log_run, u64 runs, Quad* weighted, Quad* plain) {
    const u64 run = thread_index();
    if (run >= runs) return;
    const PointPlanes from(points, stride);
    Sum sum = Sum::infinity(), total = Sum::infinity();
#pragma unroll 1
    for (u64 bucket = ((run + 1) << log_run); bucket-- > run << log_run;) {
#pragma unroll 1
        for (u32 slot = starts[bucket] >> rounds; slot < starts[bucket + 1] >> rounds; slot++) {
            Point point;
            point.x = from.x.get(slot);
            if (is_marked(point.x)) continue;
            point.y = from.y.get(slot);
            sum.add_inline(point);
        }
        total.add(sum);
    }
    Planes<Sum>{weighted, runs}.set(run, total);
    Planes<Sum>{plain, runs}.set(run, doubled(sum, log_run));
}

// Joins each block's 2^log_join neighbouring runs to one, in place; half of the threads add the weighted sums, the others
// the plain ones. `to_weighted` and `to_plain` take the blocks' results.
CUZKD_KERNEL void CUZKD_BOUNDS(128, 2)
join_runs(Quad* weighted, Quad* plain, u64 runs, u32 log_join, Quad* to_weighted, Quad* to_plain) {
    const Planes<Sum> w{weighted, runs}, p{plain, runs};
    const u64 first = static_cast<u64>(blockIdx.x) << log_join;
    const bool is_plain = threadIdx.x >= blockDim.x / 2;
    const u32 pair = is_plain ? threadIdx.x - blockDim.x / 2 : threadIdx.x;
#pragma unroll 1
    for (u32 level = 0; level < log_join; level++) {
        if (pair < 1u << (log_join - 1 - level)) {
            const u64 left = first + (static_cast<u64>(pair) << (level + 1)), right = left + (u64{1} << level);
            const Planes<Sum>& own = is_plain ? p : w;
            Sum sum = own.get(left);
            sum.add(own.get(right));
            if (is_plain)
                sum = sum.dbl();
            else
                sum.add(p.get(right));
            own.set(left, sum);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) Planes<Sum>{to_weighted, gridDim.x}.set(blockIdx.x, w.get(first));
    if (threadIdx.x == blockDim.x / 2) Planes<Sum>{to_plain, gridDim.x}.set(blockIdx.x, p.get(first));
}

// The sum of the listed bases, with their signs, one part a thread.
CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_GROUP == 1 ? 3 : 2)
sum_list(const Point* table, const u32* list, const u32* count, Quad* sums) {
    const u64 threads = static_cast<u64>(gridDim.x) * blockDim.x;
    Sum sum = Sum::infinity();
#pragma unroll 1
    for (u64 i = thread_index(); i < *count; i += threads) {
        Point point = load(table + (list[i] & ~kSign));
        if (list[i] & kSign) point.y = -point.y;
        sum.add_inline(point);
    }
    Planes<Sum>{sums, threads}.set(thread_index(), sum);
}

// Adds up `count` sums to as many as there are threads.
CUZKD_KERNEL void CUZKD_BOUNDS(64, 2) add_sums(Quad* sums, u64 count, Quad* to) {
    const u64 threads = static_cast<u64>(gridDim.x) * blockDim.x;
    const Planes<Sum> from{sums, count};
    Sum sum = Sum::infinity();
#pragma unroll 1
    for (u64 i = thread_index(); i < count; i += threads) sum.add(from.get(i));
    Planes<Sum>{to, threads}.set(thread_index(), sum);
}
