// The entries of a multi-scalar multiplication, sorted by bucket: signed digits of the scalars, two levels of binning.
//
// A scalar s becomes W signed digits of c bits, |digit| ≤ 2^(c - 1); a digit that is not zero is an entry: its bucket,
// and the base with the digit's sign. Zeros vanish, and the scalars 1 and r - 1 go to a list of their own, which needs
// no buckets. A large scalar has a multiple of r added that depends on its place, so that the topmost digit takes
// all its values: r times a point of the subgroup is nothing, and no bucket gets more than its share.
//
// Buckets are sorted in two steps: entries go to bins of 2^sub_bits buckets, then each block sorts a bin. A bucket's
// slots begin at a multiple of 2^rounds and are filled up with holes, so that pairs of neighbouring slots are in the
// same bucket for so many rounds of additions.
#include "device.cuh"

using namespace cuzkd;
using namespace cuzkd::device;

namespace {

constexpr unsigned kWords = 9;
constexpr unsigned kThreads = 256;
constexpr u32 kSign = 1u << 31;
constexpr u32 kHole = 0xffffffffu;

// How scalars become entries. With stored multiples, window w of base i is base w·count + i and all windows share their
// buckets; else every window has buckets of its own.
struct Digits {
    u32 bits, windows, sub_bits, spread;
    u64 count;
    bool stored;

    CUZKD_DEVICE u32 bucket(u32 window, u32 size) const {
        return (stored ? 0 : window << (bits - 1)) + size - 1;
    }
    CUZKD_DEVICE u32 base(u32 window, u32 i) const { return stored ? window * static_cast<u32>(count) + i : i; }
};

struct Scalar {
    u32 v[kWords];

    CUZKD_DEVICE u32 take(u32 bits) {
        const u32 low = v[0] & ((1u << bits) - 1);
#pragma unroll
        for (unsigned i = 0; i + 1 < kWords; i++) v[i] = __funnelshift_r(v[i], v[i + 1], bits);
        v[kWords - 1] >>= bits;
        return low;
    }
};

enum class Kind { zero, one, minus_one, small, large };

CUZKD_DEVICE u32 order(unsigned i) { return word_of(Fr::Params::modulus, i); }

CUZKD_DEVICE Kind kind_of(const Fr& s) {
    u32 rest = 0, rest_minus = 0;
#pragma unroll
    for (unsigned i = 1; i < 8; i++) {
        rest |= s.v[i];
        rest_minus |= s.v[i] ^ order(i);
    }
    if (rest == 0 && s.v[0] <= 1) return s.v[0] == 0 ? Kind::zero : Kind::one;
    if (rest_minus == 0 && s.v[0] == order(0) - 1) return Kind::minus_one;
    return (s.v[4] | s.v[5] | s.v[6] | s.v[7]) == 0 ? Kind::small : Kind::large;
}

// s, or s + k·r with a k < spread that looks random over the places.
CUZKD_DEVICE Scalar spread(const Fr& s, Kind kind, u32 i, u32 limit) {
    const u32 k = kind == Kind::large && limit > 1 ? static_cast<u32>((static_cast<u64>(i * 2654435769u) * limit) >> 32) : 0;
    Scalar r;
    u64 carry = 0;
#pragma unroll
    for (unsigned j = 0; j < 8; j++) {
        carry += static_cast<u64>(k) * order(j) + s.v[j];
        r.v[j] = static_cast<u32>(carry);
        carry >>= 32;
    }
    r.v[8] = static_cast<u32>(carry);
    return r;
}

// Calls `visit(bucket, base and sign)` for every entry of a scalar that is neither 0 nor ±1.
template <class Visit>
CUZKD_DEVICE void entries(const Digits& digits, Scalar s, u32 i, Visit visit) {
    const u32 half = 1u << (digits.bits - 1);
    u32 carry = 0;
#pragma unroll 1
    for (u32 w = 0; w < digits.windows; w++) {
        const u32 digit = s.take(digits.bits) + carry;
        carry = digit > half;
        const u32 size = carry ? (half << 1) - digit : digit;
        if (size != 0) visit(digits.bucket(w, size), digits.base(w, i) | (carry ? kSign : 0));
    }
}

}  // namespace

// bins[b] += the entries of bin b; counts[0] += the scalars ±1.
CUZKD_KERNEL void CUZKD_BOUNDS(256, 4)
count_entries(const Fr* scalars, u64 count, u32 bits, u32 windows, u32 sub_bits, u32 limit, u32 stored, u32 bin_count,
              u32* bins) {
    CUZKD_DYNAMIC_SHARED(u32, local);
    for (u32 b = threadIdx.x; b < bin_count; b += kThreads) local[b] = 0;
    __syncthreads();
    const Digits digits{bits, windows, sub_bits, limit, count, stored != 0};
    for (u64 i = static_cast<u64>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += static_cast<u64>(gridDim.x) * kThreads) {
        const Fr s = load(scalars + i);
        const Kind kind = kind_of(s);
        if (kind != Kind::small && kind != Kind::large) continue;
        entries(digits, spread(s, kind, static_cast<u32>(i), limit), static_cast<u32>(i),
                [&](u32 bucket, u32) { atomicAdd(local + (bucket >> sub_bits), 1u); });
    }
    __syncthreads();
    for (u32 b = threadIdx.x; b < bin_count; b += kThreads)
        if (local[b] != 0) atomicAdd(bins + b, local[b]);
}

namespace {

// local[i] becomes the sum of those before it, for i < size; the sum of all. One block, any number of threads ≤ 1024.
CUZKD_DEVICE u32 exclusive_scan(u32* local, u32 size) {
    __shared__ u32 sums[32];
    __shared__ u32 total;
    if (threadIdx.x == 0) total = 0;
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (u32 first = 0; first < size; first += blockDim.x) {
        __syncthreads();
        const u32 i = first + threadIdx.x, value = i < size ? local[i] : 0;
        u32 sum = value;
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            const u32 other = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        u32 before = total;
        for (u32 w = 0; w < warp; w++) before += sums[w];
        if (i < size) local[i] = before + sum - value;
        __syncthreads();
        if (threadIdx.x == 0)
            for (u32 w = 0; w < warps; w++) total += sums[w];
    }
    __syncthreads();
    return total;
}

}  // namespace

// Puts every entry into its bin: (bucket within the bin, base and sign) at places that `cursors` hands out; `ones` takes
// the bases of the scalars ±1, `ones_count` how many. A block does `tile` scalars: it sorts their entries by bin in shared
// memory, so that neighbours in a bin are written together.
CUZKD_KERNEL void CUZKD_BOUNDS(1024, 1)
scatter_entries(const Fr* scalars, u64 count, u32 bits, u32 windows, u32 sub_bits, u32 limit, u32 stored, u32 bin_count,
                u32 tile, u32* cursors, unsigned short* subs, u32* values, u32* ones, u32* ones_count) {
    CUZKD_DYNAMIC_SHARED(u32, shared);
    u32* const places = shared;               // of the next entry of a bin within the block
    u32* const shifts = shared + bin_count;   // from a place within the block to the one in memory
    u32* const buckets = shifts + bin_count;  // entries by bin
    u32* const bases = buckets + tile * windows;
    __shared__ u32 local_ones, ones_place;
    const Digits digits{bits, windows, sub_bits, limit, count, stored != 0};
    const u64 first = static_cast<u64>(blockIdx.x) * tile;
    const u64 end = first + tile < count ? first + tile : count;
    if (threadIdx.x == 0) local_ones = 0;
    for (u32 b = threadIdx.x; b < bin_count; b += blockDim.x) places[b] = 0;
    __syncthreads();
#pragma unroll 1
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
        const Fr s = load(scalars + i);
        const Kind kind = kind_of(s);
        if (kind == Kind::one || kind == Kind::minus_one) atomicAdd(&local_ones, 1u);
        if (kind != Kind::small && kind != Kind::large) continue;
        entries(digits, spread(s, kind, static_cast<u32>(i), limit), static_cast<u32>(i),
                [&](u32 bucket, u32) { atomicAdd(places + (bucket >> sub_bits), 1u); });
    }
    __syncthreads();
    for (u32 b = threadIdx.x; b < bin_count; b += blockDim.x)
        if (places[b] != 0) shifts[b] = atomicAdd(cursors + b, places[b]);
    if (threadIdx.x == 0) ones_place = atomicAdd(ones_count, local_ones);
    const u32 total = exclusive_scan(places, bin_count);
    for (u32 b = threadIdx.x; b < bin_count; b += blockDim.x) shifts[b] -= places[b];
    __syncthreads();
#pragma unroll 1
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
        const Fr s = load(scalars + i);
        const Kind kind = kind_of(s);
        if (kind == Kind::one || kind == Kind::minus_one)
            ones[atomicAdd(&ones_place, 1u)] = static_cast<u32>(i) | (kind == Kind::one ? 0 : kSign);
        if (kind != Kind::small && kind != Kind::large) continue;
        entries(digits, spread(s, kind, static_cast<u32>(i), limit), static_cast<u32>(i), [&](u32 bucket, u32 base) {
            const u32 place = atomicAdd(places + (bucket >> sub_bits), 1u);
            buckets[place] = bucket;
            bases[place] = base;
        });
    }
    __syncthreads();
    for (u32 place = threadIdx.x; place < total; place += blockDim.x) {
        const u32 bucket = buckets[place], to = place + shifts[bucket >> sub_bits];
        subs[to] = static_cast<unsigned short>(bucket & ((1u << sub_bits) - 1));
        values[to] = bases[place];
    }
}


// starts[b] = the sum of sizes before b, starts[size] = the sum of all; cursors, if any, get a copy. One block.
CUZKD_KERNEL void CUZKD_BOUNDS(1024, 1) scan(const u32* sizes, u32 size, u32* starts, u32* cursors) {
    CUZKD_DYNAMIC_SHARED(u32, local);
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) local[i] = sizes[i];
    const u32 total = exclusive_scan(local, size);
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) {
        starts[i] = local[i];
        if (cursors != nullptr) cursors[i] = local[i];
    }
    if (threadIdx.x == 0) starts[size] = total;
}

// slots[bin] = the slots that the bin's buckets take, each filled up to a multiple of 2^rounds; counts gets the buckets'
// entries. One block a bin.
CUZKD_KERNEL void CUZKD_BOUNDS(512, 2)
count_buckets(const u32* bin_starts, const unsigned short* subs, u32 sub_bits, u32 rounds, u32* counts, u32* slots) {
    CUZKD_DYNAMIC_SHARED(u32, local);
    const u32 buckets = 1u << sub_bits, pad = (1u << rounds) - 1;
    for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (u32 e = bin_starts[blockIdx.x] + threadIdx.x; e < bin_starts[blockIdx.x + 1]; e += blockDim.x)
        atomicAdd(local + subs[e], 1u);
    __syncthreads();
    u32 sum = 0;
    for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) {
        counts[(static_cast<u64>(blockIdx.x) << sub_bits) + b] = local[b];
        sum += (local[b] + pad) & ~pad;
    }
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(slots + blockIdx.x, sum);
}

// Sorts a bin into its slots, in shared memory if its slots are at most `capacity`: `starts` gets the first slot of every
// bucket. One block a bin.
CUZKD_KERNEL void CUZKD_BOUNDS(1024, 1)
place_entries(const u32* bin_starts, const u32* slot_starts, const unsigned short* subs, const u32* values, u32 sub_bits,
              u32 rounds, u32 capacity, const u32* counts, u32* starts, u32* slots) {
    CUZKD_DYNAMIC_SHARED(u32, local);
    const u32 buckets = 1u << sub_bits, pad = (1u << rounds) - 1, base = slot_starts[blockIdx.x];
    const u32 size = slot_starts[blockIdx.x + 1] - base;
    const u64 first = static_cast<u64>(blockIdx.x) << sub_bits;
    const bool fits = size <= capacity;
    u32* const to = fits ? local + buckets : slots + base;
    for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) local[b] = (counts[first + b] + pad) & ~pad;
    exclusive_scan(local, buckets);
    for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) {
        const u32 count = counts[first + b], start = local[b];
        starts[first + b] = base + start;
        for (u32 hole = count; hole < ((count + pad) & ~pad); hole++) to[start + hole] = kHole;
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) starts[first + buckets] = slot_starts[gridDim.x];
    __syncthreads();
#pragma unroll 4
    for (u32 e = bin_starts[blockIdx.x] + threadIdx.x; e < bin_starts[blockIdx.x + 1]; e += blockDim.x)
        to[atomicAdd(local + subs[e], 1u)] = values[e];
    if (!fits) return;
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) slots[base + i] = to[i];
}

namespace {

constexpr u32 kPerBlock = 2048;

// How many pairs a bucket's points make, the last one alone if they are odd.
CUZKD_DEVICE u32 pairs_of(const u32* starts, u32 shift, u64 bucket) {
    return ((starts[bucket + 1] >> shift) - (starts[bucket] >> shift) + 1) / 2;
}

}  // namespace

// sums[block] = the pairs of its 2048 buckets; bucket b has the points starts[b] >> shift … starts[b + 1] >> shift.
CUZKD_KERNEL void CUZKD_BOUNDS(512, 2) count_pairs(const u32* starts, u32 shift, u64 buckets, u32* sums) {
    const u64 first = static_cast<u64>(blockIdx.x) * kPerBlock;
    u32 sum = 0;
    for (u64 b = first + threadIdx.x; b < first + kPerBlock && b < buckets; b += blockDim.x) sum += pairs_of(starts, shift, b);
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(sums + blockIdx.x, sum);
}

// The pairs of all buckets in order, as additions take them, and the starts of the buckets of their sums.
CUZKD_KERNEL void CUZKD_BOUNDS(512, 2)
list_pairs(const u32* starts, u32 shift, u64 buckets, const u32* offsets, u32* next_starts, u32* list) {
    __shared__ u32 local[kPerBlock];
    const u64 first = static_cast<u64>(blockIdx.x) * kPerBlock;
    const u32 count = buckets - first < kPerBlock ? static_cast<u32>(buckets - first) : kPerBlock;
    for (u32 b = threadIdx.x; b < count; b += blockDim.x) local[b] = pairs_of(starts, shift, first + b);
    const u32 total = exclusive_scan(local, count);
    const u32 base = offsets[blockIdx.x];
    for (u32 b = threadIdx.x; b < count; b += blockDim.x) {
        const u32 begin = starts[first + b] >> shift, end = starts[first + b + 1] >> shift, place = base + local[b];
        next_starts[first + b] = place;
        for (u32 slot = begin; slot < end; slot += 2) list[place + (slot - begin) / 2] = slot << 1 | (slot + 1 == end);
    }
    if (first + count == buckets && threadIdx.x == 0) next_starts[buckets] = base + total;
}
