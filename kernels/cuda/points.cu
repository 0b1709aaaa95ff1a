// Tables of points: multiples by powers of two, sums of two lists, and their affine coordinates.
//
// A kernel leaves XYZZ coordinates in planes, the product of its thread's ZZZ before each of them and the totals, which
// `invert` (msm_add.cu) inverts; `to_affine` then has every inverse for one product.
#define CUZKD_COLD
#include "group.cuh"

using namespace cuzkd;
using namespace cuzkd::device;

namespace {

constexpr unsigned kThreads = 128;

// Calls `make(i)` for the thread's places and keeps the products of its results' ZZZ.
template <class Make>
CUZKD_DEVICE void fill(u64 count, Planes<Sum> sums, Planes<Coordinate> before, Quad* totals, Make make) {
    const u64 g = static_cast<u64>(blockIdx.x) * kThreads + threadIdx.x, threads = static_cast<u64>(gridDim.x) * kThreads;
    Coordinate product = Coordinate::one();
#pragma unroll 1
    for (u64 i = g; i < count; i += threads) {
        const Sum sum = make(i);
        sums.set(i, sum);
        before.set(i, product);
        if (!sum.is_infinity()) product = product * sum.ZZZ;
    }
    Planes<Coordinate>{totals, threads}.set(g, product);
}

}  // namespace

// 2^doublings times each point.
CUZKD_KERNEL void CUZKD_BOUNDS(128, 2)
double_points(const Point* points, u64 count, u32 doublings, Quad* sums, Quad* before, Quad* totals) {
    fill(count, {sums, count}, {before, count}, totals, [&](u64 i) {
        Sum sum = Sum::from_affine(load(points + i));
#pragma unroll 1
        for (u32 d = 0; d < doublings; d++) sum = sum.dbl();
        return sum;
    });
}

// left[i / 2^log_right] + right[i mod 2^log_right]
CUZKD_KERNEL void CUZKD_BOUNDS(128, 2)
add_lists(const Point* left, const Point* right, u32 log_right, u64 count, Quad* sums, Quad* before, Quad* totals) {
    fill(count, {sums, count}, {before, count}, totals, [&](u64 i) {
        Sum sum = Sum::from_affine(load(left + (i >> log_right)));
        sum.add(load(right + (i & ((u64{1} << log_right) - 1))));
        return sum;
    });
}

// The affine points of `sums`, as records.
CUZKD_KERNEL void CUZKD_BOUNDS(128, 2) to_affine(Quad* sums, u64 count, Quad* before, Quad* totals, Point* points) {
    const u64 g = static_cast<u64>(blockIdx.x) * kThreads + threadIdx.x, threads = static_cast<u64>(gridDim.x) * kThreads;
    if (g >= count) return;
    const Planes<Sum> from{sums, count};
    Coordinate inverse = Planes<Coordinate>{totals, threads}.get(g);
#pragma unroll 1
    for (u64 i = g + (count - 1 - g) / threads * threads;; i -= threads) {
        const Sum sum = from.get(i);
        Point point = Point::infinity();
        if (!sum.is_infinity()) {
            const Coordinate inverse_zzz = inverse * Planes<Coordinate>{before, count}.get(i);
            const Coordinate inverse_z = sum.ZZ * inverse_zzz;
            point = Point{sum.X * inverse_z.sqr(), sum.Y * inverse_zzz};
            inverse = inverse * sum.ZZZ;
        }
        store(points + i, point);
        if (i < threads) return;
    }
}
