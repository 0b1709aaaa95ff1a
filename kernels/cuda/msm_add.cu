// Rounds of additions of neighbouring points, many to one inversion (Montgomery's trick, 1987).
//
// A round adds slot 2i + 1 to slot 2i. `forward` multiplies each thread's denominators up and leaves the products
// before each of them; `invert` inverts the threads' totals, many to one inversion; `backward` walks back and has the
// inverse of each denominator for one product, adds and stores. A pair with a hole or infinity in it has the
// denominator one; equal points have 2y and the numerator 3x², opposite ones the sum infinity: every case is exact.
//
// In round 0 slots are indices into a table of affine points, with the sign in the topmost bit; later they are points
// in planes, first all of them in order, then by a list.
#include "group.cuh"

using namespace cuzkd;
using namespace cuzkd::device;

namespace {

constexpr unsigned kThreads = 128;

enum class Case { add, copy_first, copy_second, twice, nothing };

// Two neighbouring slots.
struct FromTable {
    const Point* table;
    const u32* slots;
    u32 first, second;

    CUZKD_DEVICE void at(u64 pair) {
        const uint2 both = reinterpret_cast<const uint2*>(slots)[pair];
        first = both.x, second = both.y;
    }
    CUZKD_DEVICE Coordinate x(u32 slot) const {
        if (slot == kHole) return infinity_mark();
        Coordinate x = load(&table[slot & ~kSign].x);
        if (x.is_zero() && load(&table[slot & ~kSign].y).is_zero()) return infinity_mark();
        return x;
    }
    CUZKD_DEVICE Coordinate y(u32 slot) const {
        if (slot == kHole) return Coordinate::zero();
        const Coordinate y = load(&table[slot & ~kSign].y);
        return slot & kSign ? -y : y;
    }
    CUZKD_DEVICE Coordinate x1() const { return x(first); }
    CUZKD_DEVICE Coordinate x2() const { return x(second); }
    CUZKD_DEVICE Coordinate y1() const { return y(first); }
    CUZKD_DEVICE Coordinate y2() const { return y(second); }
};

// Points in planes by a list of pairs: the first slot of each, doubled, and 1 where there is no second one.
struct FromList {
    PointPlanes points;
    const u32* list;
    u32 slot;
    bool alone;

    CUZKD_DEVICE void at(u64 pair) { slot = list[pair] >> 1, alone = list[pair] & 1; }
    CUZKD_DEVICE Coordinate x1() const { return points.x.get(slot); }
    CUZKD_DEVICE Coordinate x2() const { return alone ? infinity_mark() : points.x.get(slot + 1); }
    CUZKD_DEVICE Coordinate y1() const { return points.y.get(slot); }
    CUZKD_DEVICE Coordinate y2() const { return alone ? Coordinate::zero() : points.y.get(slot + 1); }
};

struct FromPlanes {
    PointPlanes points;
    u64 pair;

    CUZKD_DEVICE void at(u64 index) { pair = index; }
    CUZKD_DEVICE Coordinate x1() const { return points.x.get(2 * pair); }
    CUZKD_DEVICE Coordinate x2() const { return points.x.get(2 * pair + 1); }
    CUZKD_DEVICE Coordinate y1() const { return points.y.get(2 * pair); }
    CUZKD_DEVICE Coordinate y2() const { return points.y.get(2 * pair + 1); }
};

// The denominator of a pair's slope, and which case it is.
template <class Source>
CUZKD_DEVICE Case denominator(const Source& source, Coordinate& x1, Coordinate& x2, Coordinate& d) {
    if (is_marked(x1) || is_marked(x2)) {
        d = Coordinate::one();
        return is_marked(x2) ? Case::copy_first : Case::copy_second;
    }
    d = x2 - x1;
    if (!d.is_zero()) return Case::add;
    const Coordinate y1 = source.y1();
    if (y1 == source.y2()) {
        d = y1.dbl();
        return Case::twice;
    }
    d = Coordinate::one();
    return Case::nothing;
}

template <class Source>
CUZKD_DEVICE void forward(Source source, u64 pairs, Planes<Coordinate> before, Planes<Coordinate> totals) {
    const u64 g = static_cast<u64>(blockIdx.x) * kThreads + threadIdx.x, threads = static_cast<u64>(gridDim.x) * kThreads;
    Coordinate product = Coordinate::one();
#pragma unroll 1
    for (u64 pair = g; pair < pairs; pair += threads) {
        source.at(pair);
        Coordinate x1 = source.x1(), x2 = source.x2(), d;
        denominator(source, x1, x2, d);
        before.set(pair, product);
        product = product * d;
    }
    totals.set(g, product);
}

template <class Source>
CUZKD_DEVICE void backward(Source source, u64 pairs, Planes<Coordinate> before, Planes<Coordinate> totals, PointPlanes to) {
    const u64 g = static_cast<u64>(blockIdx.x) * kThreads + threadIdx.x, threads = static_cast<u64>(gridDim.x) * kThreads;
    if (g >= pairs) return;
    Coordinate inverse = totals.get(g);
#pragma unroll 1
    for (u64 pair = g + (pairs - 1 - g) / threads * threads;; pair -= threads) {
        source.at(pair);
        Coordinate x1 = source.x1(), x2 = source.x2(), d;
        const Coordinate y1 = source.y1(), y2 = source.y2();
        const Case which = denominator(source, x1, x2, d);
        Coordinate slope = y2 - y1;
        if (which == Case::twice) {
            const Coordinate square = x1.sqr();
            slope = square.dbl() + square;
        }
        slope = slope * (before.get(pair) * inverse);
        inverse = inverse * d;
        Coordinate x3 = slope.sqr() - x1 - x2;
        Coordinate y3 = slope * (x1 - x3) - y1;
        if (which == Case::copy_first) x3 = x1, y3 = y1;
        if (which == Case::copy_second) x3 = x2, y3 = y2;
        if (which == Case::nothing) x3 = infinity_mark(), y3 = Coordinate::zero();
        to.x.set(pair, x3);
        to.y.set(pair, y3);
        if (pair < threads) return;
    }
}

}  // namespace

// Products of denominators of the pairs of a table's points; `before` and `totals` are planes.
CUZKD_KERNEL void CUZKD_BOUNDS(128, 6)
forward_table(const Point* table, const u32* slots, u64 pairs, Quad* before, u64 before_stride, Quad* totals) {
    const u64 threads = static_cast<u64>(gridDim.x) * kThreads;
    forward(FromTable{table, slots, 0, 0}, pairs, {before, before_stride}, {totals, threads});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, 6)
forward_points(Quad* points, u64 stride, u64 pairs, Quad* before, u64 before_stride, Quad* totals) {
    const u64 threads = static_cast<u64>(gridDim.x) * kThreads;
    forward(FromPlanes{PointPlanes{points, stride}, 0}, pairs, {before, before_stride}, {totals, threads});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, 6)
forward_list(Quad* points, u64 stride, const u32* list, const u32* pairs, Quad* before, u64 before_stride, Quad* totals) {
    const u64 threads = static_cast<u64>(gridDim.x) * kThreads;
    forward(FromList{PointPlanes{points, stride}, list, 0, false}, *pairs, {before, before_stride}, {totals, threads});
}

// Inverts `count` totals in place, those of one thread with one inversion; `scratch` has as many planes.
CUZKD_KERNEL void CUZKD_BOUNDS(128, 2) invert(Quad* totals, u64 count, Quad* scratch) {
    const u64 h = static_cast<u64>(blockIdx.x) * kThreads + threadIdx.x, threads = static_cast<u64>(gridDim.x) * kThreads;
    if (h >= count) return;
    const Planes<Coordinate> total{totals, count}, before{scratch, count};
    Coordinate product = Coordinate::one();
#pragma unroll 1
    for (u64 i = h; i < count; i += threads) {
        before.set(i, product);
        product = product * total.get(i);
    }
    Coordinate inverse = product.inverse();
#pragma unroll 1
    for (u64 i = h + (count - 1 - h) / threads * threads;; i -= threads) {
        const Coordinate value = total.get(i);
        total.set(i, before.get(i) * inverse);
        inverse = inverse * value;
        if (i < threads) return;
    }
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_GROUP == 1 ? 3 : 2)
backward_table(const Point* table, const u32* slots, u64 pairs, Quad* before, u64 before_stride, Quad* totals, Quad* to,
               u64 to_stride) {
    const u64 threads = static_cast<u64>(gridDim.x) * kThreads;
    backward(FromTable{table, slots, 0, 0}, pairs, {before, before_stride}, {totals, threads}, PointPlanes{to, to_stride});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_GROUP == 1 ? 3 : 2)
backward_points(Quad* points, u64 stride, u64 pairs, Quad* before, u64 before_stride, Quad* totals, Quad* to,
                u64 to_stride) {
    const u64 threads = static_cast<u64>(gridDim.x) * kThreads;
    backward(FromPlanes{PointPlanes{points, stride}, 0}, pairs, {before, before_stride}, {totals, threads},
             PointPlanes{to, to_stride});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_GROUP == 1 ? 3 : 2)
backward_list(Quad* points, u64 stride, const u32* list, const u32* pairs, Quad* before, u64 before_stride, Quad* totals,
              Quad* to, u64 to_stride) {
    const u64 threads = static_cast<u64>(gridDim.x) * kThreads;
    backward(FromList{PointPlanes{points, stride}, list, 0, false}, *pairs, {before, before_stride}, {totals, threads},
             PointPlanes{to, to_stride});
}
