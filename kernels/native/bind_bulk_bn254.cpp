// Multi-scalar multiplication on Bn254.
#include "bind_bulk.hpp"
#include "msm.hpp"

namespace cuzkd {

void msm(Bn254, bool g2, const u64* bases, const u64* scalars, size_t n, u64* out, unsigned threads) {
    if (g2) msm_of<Msm<Bn254, Bn254::G2>, Bn254::G2>(bases, scalars, n, out, threads);
    else msm_of<Msm<Bn254, Bn254::G1>, Bn254::G1>(bases, scalars, n, out, threads);
}

}  // namespace cuzkd
