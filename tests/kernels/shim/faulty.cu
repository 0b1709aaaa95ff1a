// Kernels with faults that the shim must see, and one without.
#include "device.cuh"

using namespace cuzkd;

CUZKD_KERNEL void reversed(u32* values) {
    CUZKD_DYNAMIC_SHARED(u32, local);
    local[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = local[blockDim.x - 1 - threadIdx.x];
}

CUZKD_KERNEL void reversed_without_barrier(u32* values) {
    CUZKD_DYNAMIC_SHARED(u32, local);
    local[threadIdx.x] = values[threadIdx.x];
    values[threadIdx.x] = local[blockDim.x - 1 - threadIdx.x];
}

CUZKD_KERNEL void behind_shared(u32* values) {
    CUZKD_DYNAMIC_SHARED(u32, local);
    local[blockDim.x] = values[0];
}

CUZKD_KERNEL void half_at_barrier(u32* values) {
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    else
        values[threadIdx.x] += __shfl_up_sync(0xffffffffu, values[threadIdx.x], 1);
}

CUZKD_KERNEL void warp_sums(u32* values) {
    u32 sum = values[threadIdx.x];
    for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(values + blockDim.x, sum);
}
