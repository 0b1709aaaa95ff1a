// Number-theoretic transforms of 2^1 … 2^28 elements in passes of up to 8 bits, without bit reversals.
//
// A transform from natural to reversed order decimates in frequency, its passes taking the index's bits from the top;
// one from reversed to natural order decimates in time, from the bottom. A pass takes a tile of 2^bits rows and
// 1024 / 2^bits columns; a thread holds eight elements and does three bits of butterflies in registers, then they are
// exchanged through shared memory. Between passes an element is multiplied by w^(row · column), from two tables
// of the square root of the size. Transforms of a batch lie one after the other: they are more columns.
#include "device.cuh"

namespace cuzkd::device {

#ifndef CUZKD_ROUND
#define CUZKD_ROUND 2
#endif
#ifndef CUZKD_BLOCKS
#define CUZKD_BLOCKS 6
#endif
constexpr unsigned kThreads = 128;
constexpr unsigned kEach = 8;
constexpr unsigned kRound = CUZKD_ROUND;
constexpr unsigned kTile = kThreads * kEach;
constexpr unsigned kMaxBits = 8;
constexpr unsigned kInner = 1u << (kMaxBits - 1);

// Powers of one number: low[i] = w^i for i < 2^split, high[i] = f·w^(i·2^split), f a factor for all. Without `high` the
// lower table has all of them (and the factor): memory for one product.
struct Powers {
    const Fr* low;
    const Fr* high;
    u32 split;

    CUZKD_DEVICE Fr operator()(u32 exponent) const {
        if (high == nullptr) return load(low + exponent);
        return load(low + (exponent & ((1u << split) - 1))) * load(high + (exponent >> split));
    }
};

// One pass: rows of stride 2^low, `columns` of them in all transforms together.
struct Pass {
    u32 bits, low, log_size;
    u64 columns;

    CUZKD_DEVICE u64 index(u64 column, u32 row) const {
        const u64 within = column & ((u64{1} << low) - 1);
        return ((column >> low) << (low + bits)) + (static_cast<u64>(row) << low) + within;
    }
    // The exponent, to the root of order 2^log_size, of the factor between this pass and the one of the bits below.
    CUZKD_DEVICE u32 between(u64 column, u32 row) const {
        const u32 within = static_cast<u32>(column) & ((1u << low) - 1);
        return (reverse_bits(row, bits) * within) << (log_size - low - bits);
    }
};

struct Tile {
    Quad half[2][kTile];
    Quad inner[2][kInner];

    // Rows are rotated against each other, so that neighbours in a row and in a column lie in different banks.
    static CUZKD_DEVICE u32 place(u32 row, u32 column, u32 columns) {
        const u32 turn = columns < 8 ? (row >> 1) & 3 : row & 7;
        return row * columns + (column ^ turn);
    }

    CUZKD_DEVICE Fr get(u32 i) const { return join(half[0][i], half[1][i]); }
    CUZKD_DEVICE void put(u32 i, const Fr& value) {
#pragma unroll
        for (unsigned h = 0; h < 2; h++)
#pragma unroll
            for (unsigned j = 0; j < 4; j++) half[h][i].w[j] = value.v[4 * h + j];
    }
    CUZKD_DEVICE Fr twiddle(u32 i) const { return join(inner[0][i], inner[1][i]); }
    CUZKD_DEVICE void set_twiddles(const Fr* table) {
        const Quad* quad = reinterpret_cast<const Quad*>(table);
        for (u32 i = threadIdx.x; i < 2 * kInner; i += blockDim.x) inner[i % 2][i / 2] = quad[i];
    }

  private:
    static CUZKD_DEVICE Fr join(const Quad& low, const Quad& high) {
        Fr r;
#pragma unroll
        for (unsigned j = 0; j < 4; j++) r.v[j] = low.w[j], r.v[4 + j] = high.w[j];
        return r;
    }
};

// The rows of one group of 2^B elements whose indices differ in bits shift … shift + B - 1.
template <unsigned B>
struct Group {
    u32 row, low_bits, column;

    CUZKD_DEVICE Group(u32 number, unsigned shift, u32 tile_columns) {
        column = number % tile_columns;
        const u32 group = number / tile_columns;
        low_bits = group & ((1u << shift) - 1);
        row = ((group >> shift) << (shift + B)) + low_bits;
    }
};

// The butterflies of 2^B elements: downwards decimation in frequency, upwards in time. In the round of the lowest bits
// (`LOWEST`, shift 0) twiddles are the same for every group, and half of them are one.
template <bool DOWN, unsigned B, bool LOWEST>
CUZKD_DEVICE void butterflies(Fr* x, const Tile& tile, u32 low_bits, unsigned shift) {
#pragma unroll
    for (unsigned step = 0; step < B; step++) {
        const unsigned stage = DOWN ? B - 1 - step : step;
        const unsigned half = 1u << stage;
#pragma unroll
        for (unsigned k = 0; k < half; k++) {
            const Fr w = tile.twiddle(((k << shift) + low_bits) << (kMaxBits - 1 - shift - stage));
#pragma unroll
            for (unsigned i = k; i < (1u << B); i += 2 * half) {
                if (!DOWN && !(LOWEST && k == 0)) x[i + half] = x[i + half] * w;
                const Fr sum = x[i] + x[i + half];
                x[i + half] = x[i] - x[i + half];
                x[i] = sum;
                if (DOWN && !(LOWEST && k == 0)) x[i + half] = x[i + half] * w;
            }
        }
    }
}

// B bits of butterflies for the whole tile; one thread reads and writes all elements of a group.
template <bool DOWN, unsigned B, bool LOWEST>
CUZKD_DEVICE void round(Tile& tile, u32 tile_columns, unsigned shift) {
#pragma unroll 1
    for (unsigned part = 0; part < (kEach >> B); part++) {
        const Group<B> group(threadIdx.x + part * kThreads, LOWEST ? 0 : shift, tile_columns);
        Fr x[1u << B];
#pragma unroll
        for (unsigned k = 0; k < (1u << B); k++)
            x[k] = tile.get(Tile::place(group.row + (k << shift), group.column, tile_columns));
        butterflies<DOWN, B, LOWEST>(x, tile, group.low_bits, shift);
#pragma unroll
        for (unsigned k = 0; k < (1u << B); k++)
            tile.put(Tile::place(group.row + (k << shift), group.column, tile_columns), x[k]);
    }
    __syncthreads();
}

template <bool DOWN, bool LOWEST, unsigned B = kRound>
CUZKD_DEVICE void round_of(unsigned bits, Tile& tile, u32 tile_columns, unsigned shift) {
    if (bits == B)
        round<DOWN, B, LOWEST>(tile, tile_columns, shift);
    else if constexpr (B > 1)
        round_of<DOWN, LOWEST, B - 1>(bits, tile, tile_columns, shift);
}

// All butterflies of a pass. Rounds have kRound bits, but the one of the topmost bits may have fewer.
template <bool DOWN>
CUZKD_DEVICE void rounds(Tile& tile, const Pass& pass) {
    const u32 tile_columns = kTile >> pass.bits;
    const unsigned lowest = pass.bits < kRound ? pass.bits : kRound, top = (pass.bits - lowest) % kRound;
    const unsigned full = pass.bits - top;
    if (DOWN) {
        if (top != 0) round_of<DOWN, false, kRound - 1>(top, tile, tile_columns, full);
#pragma unroll 1
        for (unsigned shift = full; shift > lowest; shift -= kRound)
            round<DOWN, kRound, false>(tile, tile_columns, shift - kRound);
        round_of<DOWN, true>(lowest, tile, tile_columns, 0);
    } else {
        round_of<DOWN, true>(lowest, tile, tile_columns, 0);
#pragma unroll 1
        for (unsigned shift = lowest; shift < full; shift += kRound) round<DOWN, kRound, false>(tile, tile_columns, shift);
        if (top != 0) round_of<DOWN, false, kRound - 1>(top, tile, tile_columns, full);
    }
}

// Calls `visit(place in the tile, column, row)` for the tile's elements that exist, neighbours in memory by neighbours,
// `UNROLL` of them at once.
template <unsigned UNROLL, class Visit>
CUZKD_DEVICE void each(const Pass& pass, Visit visit) {
    const u32 tile_columns = kTile >> pass.bits;
    const u64 first_column = static_cast<u64>(blockIdx.x) * tile_columns;
#pragma unroll UNROLL
    for (u32 i = threadIdx.x; i < kTile; i += kThreads) {
        const u32 row = pass.low == 0 ? i & ((1u << pass.bits) - 1) : i / tile_columns;
        const u32 column = pass.low == 0 ? i >> pass.bits : i % tile_columns;
        if (first_column + column < pass.columns) visit(Tile::place(row, column, tile_columns), first_column + column, row);
    }
}

}  // namespace cuzkd::device

using namespace cuzkd;
using namespace cuzkd::device;

// Natural to reversed order. `inner` is w_256^i, i < 128; with `low` > 0 elements leave with the factors between passes.
CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_BLOCKS)
ntt_down(const Fr* from, Fr* to, u32 bits, u32 low, u32 log_size, u64 columns, const Fr* inner, const Fr* between_low,
         const Fr* between_high, u32 between_split) {
    CUZKD_DYNAMIC_SHARED(Tile, tile);
    const Pass pass{bits, low, log_size, columns};
    const Powers between{between_low, between_high, between_split};
    tile->set_twiddles(inner);
    each<4>(pass, [&](u32 place, u64 column, u32 row) { tile->put(place, load(from + pass.index(column, row))); });
    __syncthreads();
    rounds<true>(*tile, pass);
    each<2>(pass, [&](u32 place, u64 column, u32 row) {
        const Fr value = tile->get(place);
        store(to + pass.index(column, row), low > 0 ? value * between(pass.between(column, row)) : value);
    });
}

// Reversed to natural order; the factors between passes are taken on entry.
CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_BLOCKS)
ntt_up(const Fr* from, Fr* to, u32 bits, u32 low, u32 log_size, u64 columns, const Fr* inner, const Fr* between_low,
       const Fr* between_high, u32 between_split) {
    CUZKD_DYNAMIC_SHARED(Tile, tile);
    const Pass pass{bits, low, log_size, columns};
    const Powers between{between_low, between_high, between_split};
    tile->set_twiddles(inner);
    each<2>(pass, [&](u32 place, u64 column, u32 row) {
        const Fr value = load(from + pass.index(column, row));
        tile->put(place, low > 0 ? value * between(pass.between(column, row)) : value);
    });
    __syncthreads();
    rounds<false>(*tile, pass);
    each<2>(pass, [&](u32 place, u64 column, u32 row) { store(to + pass.index(column, row), tile->get(place)); });
}

// The last pass downwards and the first one upwards in one, element j of the middle times shift^j.
CUZKD_KERNEL void CUZKD_BOUNDS(128, CUZKD_BLOCKS)
ntt_turn(const Fr* from, Fr* to, u32 bits, u32 log_size, u64 columns, const Fr* inner_down, const Fr* inner_up,
         const Fr* shift_low, const Fr* shift_high, u32 shift_split) {
    CUZKD_DYNAMIC_SHARED(Tile, tile);
    const Pass pass{bits, 0, log_size, columns};
    const Powers shift{shift_low, shift_high, shift_split};
    tile->set_twiddles(inner_down);
    each<4>(pass, [&](u32 place, u64 column, u32 row) { tile->put(place, load(from + pass.index(column, row))); });
    __syncthreads();
    rounds<true>(*tile, pass);
    tile->set_twiddles(inner_up);
    each<2>(pass, [&](u32 place, u64 column, u32 row) {
        const u32 position = static_cast<u32>(pass.index(column, row)) & ((1u << log_size) - 1);
        tile->put(place, tile->get(place) * shift(reverse_bits(position, log_size)));
    });
    __syncthreads();
    rounds<false>(*tile, pass);
    each<2>(pass, [&](u32 place, u64 column, u32 row) { store(to + pass.index(column, row), tile->get(place)); });
}

// out = (a·b - c), canonical and no more in Montgomery form.
CUZKD_KERNEL void quotient_points(const Fr* a, const Fr* b, const Fr* c, Fr* out, u64 count) {
    const u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    store(out + i, (load(a + i) * load(b + i) - load(c + i)).from_montgomery());
}

// table[i] = factor·base^i for i < count; a thread makes `kEach` neighbours.
CUZKD_KERNEL void powers(Fr* table, u32 count, const Fr* base, const Fr* factor) {
    const u32 first = (blockIdx.x * blockDim.x + threadIdx.x) * kEach;
    if (first >= count) return;
    const Fr step = load(base);
    Fr value = load(factor), square = step;
    for (u32 e = first; e != 0; e >>= 1) {
        if (e & 1) value = value * square;
        square = square.sqr();
    }
    for (u32 i = first; i < first + kEach && i < count; i++) {
        store(table + i, value);
        value = value * step;
    }
}
