// What kernels need of a device beside arithmetic: entry points, shared memory and wide memory accesses.
//
// Without a CUDA compiler the same names come from the launch shim of the tests (tests/kernels/shim.hpp).
#pragma once
#include "curve.cuh"

#if defined(__CUDACC__)
#define CUZKD_KERNEL extern "C" __global__
#define CUZKD_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define CUZKD_DEVICE __device__ __forceinline__
#define CUZKD_DYNAMIC_SHARED(type, name)                       \
    extern __shared__ __align__(16) unsigned char name##_raw[]; \
    type* const name = reinterpret_cast<type*>(name##_raw)
#endif

// The curve that a module is compiled for: -DCUZKD_CURVE=Bn254 or Bls12381.
#ifndef CUZKD_CURVE
#error "CUZKD_CURVE names the curve"
#endif

namespace cuzkd::device {

using Curve = CUZKD_CURVE;
using Fr = Curve::Fr;
using Fq = Curve::Fq;

// 16 bytes: the widest access of a thread.
struct alignas(16) Quad {
    u32 w[4];
};

template <class T>
constexpr unsigned QUADS = sizeof(T) / sizeof(Quad);

// Reads an element of whole quads at a 16-byte aligned address.
template <class T>
CUZKD_DEVICE T load(const T* from) {
    T r;
    const Quad* quad = reinterpret_cast<const Quad*>(from);
#pragma unroll
    for (unsigned i = 0; i < QUADS<T>; i++) {
        const Quad q = quad[i];
#pragma unroll
        for (unsigned j = 0; j < 4; j++) reinterpret_cast<u32*>(&r)[4 * i + j] = q.w[j];
    }
    return r;
}

template <class T>
CUZKD_DEVICE void store(T* to, const T& value) {
    Quad* quad = reinterpret_cast<Quad*>(to);
#pragma unroll
    for (unsigned i = 0; i < QUADS<T>; i++) {
        Quad q;
#pragma unroll
        for (unsigned j = 0; j < 4; j++) q.w[j] = reinterpret_cast<const u32*>(&value)[4 * i + j];
        quad[i] = q;
    }
}

// Copies 16 bytes from global to shared memory while the thread goes on; `copied<N>` waits until all but the last N
// groups of its copies are there.
CUZKD_DEVICE void copy_async(Quad* shared, const Quad* global) {
#if defined(__CUDA_ARCH__)
    const u32 to = static_cast<u32>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#else
    *shared = *global;
#endif
}
CUZKD_DEVICE void end_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <unsigned N>
CUZKD_DEVICE void copied() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

// The lowest `bits` of x in reverse order; 0 for no bits.
CUZKD_DEVICE u32 reverse_bits(u32 x, unsigned bits) { return bits == 0 ? 0 : __brev(x) >> (32 - bits); }

}  // namespace cuzkd::device
