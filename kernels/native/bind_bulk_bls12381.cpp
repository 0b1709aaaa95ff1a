// Multi-scalar multiplication on Bls12381.
#include "bind_bulk.hpp"
#include "msm.hpp"

namespace cuzkd {

void msm(Bls12381, bool g2, const u64* bases, const u64* scalars, size_t n, u64* out, unsigned threads) {
    if (g2) msm_of<Msm<Bls12381, Bls12381::G2>, Bls12381::G2>(bases, scalars, n, out, threads);
    else msm_of<Msm<Bls12381, Bls12381::G1>, Bls12381::G1>(bases, scalars, n, out, threads);
}

}  // namespace cuzkd
