// Multi-scalar multiplication on plain arrays: one compilation unit for each curve, because each takes a compiler long.
#pragma once

#include <cstddef>

#include "curve.cuh"

namespace cuzkd {

// An entry keeps the number of its base in 30 bits.
constexpr size_t kMsmLimit = size_t{1} << 30;

// *out = sum scalars[i]·bases[i], affine Montgomery, in G2 or G1.
void msm(Bn254, bool g2, const u64* bases, const u64* scalars, size_t n, u64* out, unsigned threads);
void msm(Bls12381, bool g2, const u64* bases, const u64* scalars, size_t n, u64* out, unsigned threads);

template <class Msm, class Point>
void msm_of(const u64* bases, const u64* scalars, size_t n, u64* out, unsigned threads) {
    Msm(reinterpret_cast<const Point*>(bases), scalars, n, threads).run().to_raw(out);
}

}  // namespace cuzkd
