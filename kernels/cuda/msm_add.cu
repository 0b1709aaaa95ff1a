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
#include "lazy.cuh"

using namespace cuzkd;
using namespace cuzkd::device;

namespace {

constexpr unsigned kThreads = 128;

enum class Case { add, copy_first, copy_second, twice, nothing };

// A pair of points; a round's first half needs no y but in rare cases.
struct Pair {
    Coordinate x1, x2, y1, y2;
};

// Sources of pairs. Threads of a warp call `open` and then `read` for their pairs in turn, all of them as often; `next` and
// `after` are the pairs of the two calls that follow. A pair that is not there (kNone) has holes.
constexpr u32 kNone = 0xffffffffu;

// Points of a table, with the sign in the topmost bit of the index. A warp fetches its 64 points together, a lane 16 bytes
// at a time, into shared memory while the points before are worked on: a lane that reads a whole point by itself
// gets half of the memory's rate.
template <bool WITH_Y>
struct FromTable {
    static constexpr unsigned PARTS = (WITH_Y ? 2 : 1) * QUADS<Coordinate>;
    static constexpr unsigned STRIDE = PARTS | 1;  // odd: neighbours read from different banks
    static constexpr unsigned WARP_QUADS = 64 * STRIDE;

    const Point* table;
    const u32* slots;
    Quad* buffer;
    u32 first, second, next_first, next_second;

    CUZKD_DEVICE FromTable(const Point* points, const u32* indices, Quad* shared)
        : table(points), slots(indices), buffer(shared + threadIdx.x / 32 * WARP_QUADS) {}

    CUZKD_DEVICE void open(u32 pair, u32 next) {
        fetch(pair);
        copy();
        first = next_first, second = next_second;
        fetch(next);
    }
    CUZKD_DEVICE void read(u32, u32, u32 after, Pair& pair) {
        copied<0>();
        __syncwarp();
        const u32 lane = threadIdx.x % 32;
        pair.x1 = load_quads(buffer + lane * STRIDE);
        pair.x2 = load_quads(buffer + (32 + lane) * STRIDE);
        if constexpr (WITH_Y) {
            pair.y1 = load_quads(buffer + lane * STRIDE + QUADS<Coordinate>);
            pair.y2 = load_quads(buffer + (32 + lane) * STRIDE + QUADS<Coordinate>);
        }
        __syncwarp();
        copy();
        mark(first, pair.x1);
        mark(second, pair.x2);
        if constexpr (WITH_Y) {
            if (first != kHole && first & kSign) pair.y1 = -pair.y1;
            if (second != kHole && second & kSign) pair.y2 = -pair.y2;
        }
        now_first = first, now_second = second;
        first = next_first, second = next_second;
        fetch(after);
    }
    CUZKD_DEVICE Coordinate y1() const { return y(now_first); }
    CUZKD_DEVICE Coordinate y2() const { return y(now_second); }

  private:
    u32 now_first, now_second;

    static CUZKD_DEVICE Coordinate load_quads(const Quad* quads) { return load(reinterpret_cast<const Coordinate*>(quads)); }
    CUZKD_DEVICE Coordinate y(u32 slot) const {
        const Coordinate y = load(&table[slot & ~kSign].y);
        return slot & kSign ? -y : y;
    }
    CUZKD_DEVICE void mark(u32 slot, Coordinate& x) const {
        if (slot == kHole || (x.is_zero() && load(&table[slot & ~kSign].y).is_zero())) x = infinity_mark();
    }
    CUZKD_DEVICE void fetch(u32 pair) {
        next_first = next_second = kHole;
        if (pair == kNone) return;
        const uint2 both = reinterpret_cast<const uint2*>(slots)[pair];
        next_first = both.x, next_second = both.y;
    }
    CUZKD_DEVICE void copy() const {
        copy_half(next_first, buffer);
        copy_half(next_second, buffer + 32 * STRIDE);
        end_copies();
    }
    // The points that the lanes' slots name, some of them at once: PARTS lanes a point.
    CUZKD_DEVICE void copy_half(u32 lanes_slot, Quad* to) const {
        constexpr u32 AT_ONCE = 32 / PARTS;
        const u32 lane = threadIdx.x % 32, part = lane % PARTS;
#pragma unroll
        for (u32 done = 0; done < 32; done += AT_ONCE) {
            const u32 point = done + lane / PARTS;
            const u32 slot = __shfl_sync(0xffffffffu, lanes_slot, point % 32);
            if (lane < AT_ONCE * PARTS && point < 32 && slot != kHole)
                copy_async(to + point * STRIDE + part, reinterpret_cast<const Quad*>(table + (slot & ~kSign)) + part);
        }
    }
};

// Points in planes by a list of pairs: the first slot of each, doubled, and 1 where there is no second one.
template <bool WITH_Y>
struct FromList {
    PointPlanes points;
    const u32* list;
    u32 slot;
    bool alone;

    CUZKD_DEVICE void open(u32, u32) {}
    CUZKD_DEVICE void read(u32 pair, u32, u32, Pair& values) {
        if (pair == kNone) return;
        slot = list[pair] >> 1, alone = list[pair] & 1;
        values.x1 = points.x.get(slot);
        values.x2 = alone ? infinity_mark() : points.x.get(slot + 1);
        if constexpr (WITH_Y) values.y1 = y1(), values.y2 = y2();
    }
    CUZKD_DEVICE Coordinate y1() const { return points.y.get(slot); }
    CUZKD_DEVICE Coordinate y2() const { return alone ? Coordinate::zero() : points.y.get(slot + 1); }
};

// All points in planes, in order.
template <bool WITH_Y>
struct FromPlanes {
    PointPlanes points;
    u32 pair;

    CUZKD_DEVICE void open(u32, u32) {}
    CUZKD_DEVICE void read(u32 now, u32, u32, Pair& values) {
        if (now == kNone) return;
        pair = now;
        values.x1 = points.x.get(2 * pair), values.x2 = points.x.get(2 * pair + 1);
        if constexpr (WITH_Y) values.y1 = y1(), values.y2 = y2();
    }
    CUZKD_DEVICE Coordinate y1() const { return points.y.get(2 * pair); }
    CUZKD_DEVICE Coordinate y2() const { return points.y.get(2 * pair + 1); }
};

// The denominator of a pair's slope, below 2p, and which case it is. `y1` and `y2` give the y when they are needed.
template <class Source>
CUZKD_DEVICE Case denominator(const Source& source, Pair& pair, Coordinate& d) {
    if (is_marked(pair.x1) || is_marked(pair.x2)) {
        d = Coordinate::one();
        return is_marked(pair.x2) ? Case::copy_first : Case::copy_second;
    }
    d = lazy::sub_plus_p(pair.x2, pair.x1);
    if (!lazy::is_p(d)) return Case::add;
    const Coordinate y1 = source.y1();
    if (y1 == source.y2()) {
        d = y1.dbl();
        return Case::twice;
    }
    d = Coordinate::one();
    return Case::nothing;
}

// The pairs of one thread: g, g + threads, …, as many turns for every lane of a warp.
struct Turns {
    u32 g, threads, pairs, count;

    CUZKD_DEVICE explicit Turns(u32 all)
        : g(blockIdx.x * kThreads + threadIdx.x), threads(gridDim.x * kThreads), pairs(all) {
        const u32 lane0 = g - threadIdx.x % 32;
        count = lane0 < pairs ? (pairs - 1 - lane0) / threads + 1 : 0;
    }
    // The pair of a turn, kNone for one that is not there: a turn below 0 is a large number.
    CUZKD_DEVICE u32 pair(u32 turn) const {
        const u32 pair = g + turn * threads;
        return turn < count && pair < pairs ? pair : kNone;
    }
};

template <class Source>
CUZKD_DEVICE void forward(Source source, const Turns& turns, Planes<Coordinate> before, Planes<Coordinate> totals) {
    Coordinate product = Coordinate::one();
    source.open(turns.pair(0), turns.pair(1));
#pragma unroll 1
    for (u32 turn = 0; turn < turns.count; turn++) {
        const u32 now = turns.pair(turn);
        Pair pair;
        source.read(now, turns.pair(turn + 1), turns.pair(turn + 2), pair);
        if (now == kNone) continue;
        Coordinate d;
        denominator(source, pair, d);
        before.set(now, product);
        product = lazy::mul_below_2p(product, d);
    }
    totals.set(turns.g, lazy::canonical<2>(product));
}

template <class Source>
CUZKD_DEVICE void backward(Source source, const Turns& turns, Planes<Coordinate> before, Planes<Coordinate> totals, PointPlanes to) {
    Coordinate inverse = totals.get(turns.g);
    source.open(turns.pair(turns.count - 1), turns.pair(turns.count - 2));
#pragma unroll 1
    for (u32 turn = turns.count; turn-- > 0;) {
        const u32 now = turns.pair(turn);
        Pair pair;
        source.read(now, turns.pair(turn - 1), turns.pair(turn - 2), pair);
        if (now == kNone) continue;
        Coordinate d;
        const Case which = denominator(source, pair, d);
        Coordinate slope = lazy::sub_plus_p(pair.y2, pair.y1);
        if (which == Case::twice) {
            const Coordinate square = pair.x1.sqr();
            slope = square.dbl() + square;
        }
        slope = lazy::mul_below_2p(slope, lazy::mul_below_2p(before.get(now), inverse));
        inverse = lazy::mul_below_2p(inverse, d);
        // slope² - x1 + p < 3p, and so on
        const Coordinate square = lazy::sqr_below_2p(slope);
        Coordinate x3 = lazy::canonical<4>(lazy::sub_plus_p(lazy::sub_plus_p(square, pair.x1), pair.x2));
        Coordinate y3 = lazy::mul_below_2p(slope, lazy::sub_plus_p(pair.x1, x3));
        y3 = lazy::canonical<3>(lazy::sub_plus_p(y3, pair.y1));
        if (which == Case::copy_first) x3 = pair.x1, y3 = pair.y1;
        if (which == Case::copy_second) x3 = pair.x2, y3 = pair.y2;
        if (which == Case::nothing) x3 = infinity_mark(), y3 = Coordinate::zero();
        to.x.set(now, x3);
        to.y.set(now, y3);
    }
}

}  // namespace

// Products of denominators of the pairs of a table's points; `before` and `totals` are planes.
CUZKD_KERNEL void CUZKD_BOUNDS(128, 5)
forward_table(const Point* table, const u32* slots, u64 pairs, Quad* before, u64 before_stride, Quad* totals) {
    __shared__ Quad buffer[kThreads / 32 * FromTable<false>::WARP_QUADS];
    const Turns turns(static_cast<u32>(pairs));
    forward(FromTable<false>(table, slots, buffer), turns, {before, before_stride}, {totals, turns.threads});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, 6)
forward_points(Quad* points, u64 stride, u64 pairs, Quad* before, u64 before_stride, Quad* totals) {
    const Turns turns(static_cast<u32>(pairs));
    forward(FromPlanes<false>{PointPlanes{points, stride}, 0}, turns, {before, before_stride}, {totals, turns.threads});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, 6)
forward_list(Quad* points, u64 stride, const u32* list, const u32* pairs, Quad* before, u64 before_stride, Quad* totals) {
    const Turns turns(*pairs);
    forward(FromList<false>{PointPlanes{points, stride}, list, 0, false}, turns, {before, before_stride},
            {totals, turns.threads});
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
    CUZKD_DYNAMIC_SHARED(Quad, buffer);
    const Turns turns(static_cast<u32>(pairs));
    backward(FromTable<true>(table, slots, buffer), turns, {before, before_stride}, {totals, turns.threads},
             PointPlanes{to, to_stride});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_GROUP == 1 ? 3 : 2)
backward_points(Quad* points, u64 stride, u64 pairs, Quad* before, u64 before_stride, Quad* totals, Quad* to,
                u64 to_stride) {
    const Turns turns(static_cast<u32>(pairs));
    backward(FromPlanes<true>{PointPlanes{points, stride}, 0}, turns, {before, before_stride}, {totals, turns.threads},
             PointPlanes{to, to_stride});
}

CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_GROUP == 1 ? 3 : 2)
backward_list(Quad* points, u64 stride, const u32* list, const u32* pairs, Quad* before, u64 before_stride, Quad* totals,
              Quad* to, u64 to_stride) {
    const Turns turns(*pairs);
    backward(FromList<true>{PointPlanes{points, stride}, list, 0, false}, turns, {before, before_stride},
             {totals, turns.threads}, PointPlanes{to, to_stride});
}
