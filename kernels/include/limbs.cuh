// Multi-word integers modulo P: the few primitives that everything above is written with, and who provides them.
//
// A value is N machine words, least significant first. The bytes are the same for words of 32 and 64 bits, so that
// a number that the host wrote is the number that the device reads. `P` is a parameter struct of params.cuh.
//
// Every body provides, in namespace cuzkd::limbs, for canonical (< p) operands unless said otherwise:
//   add<P>(r, a, b)        a + b mod p
//   sub<P>(r, a, b)        a - b mod p
//   mul<P>(r, a, b)        a·b/R mod p, R = 2^(32·P::LIMBS32)
//   sqr<P>(r, a)           a²/R mod p
//   mul_add<P>(r, a, b, c, d)   (a·b + c·d)/R mod p, where P::SPARE_BITS ≥ 2; operands may be p itself
// Those for kernels also have what lazy.cuh is made of: mul_lazy, sub_lazy and subtract_once.
// r may be an operand. Bodies:
//   limbs_words.cuh        plain C++: 64-bit words over unsigned __int128, or 32-bit words over u64 (any compiler)
//   limbs_x86.cuh          x86-64 with BMI2 and ADX: two carry chains at once
//   limbs_ptx.cuh          NVIDIA devices: 32-bit words and PTX carry chains
#pragma once

#if defined(__CUDACC__)
#define HD __host__ __device__
#else
#define HD
#endif

// The largest number of 64-bit limbs whose product is inlined, and how functions that are not inlined take elements: a
// device keeps them in registers. A module of cold kernels defines CUZKD_COLD: ten inlined products of six limbs are
// more than an instruction cache holds, and take long to compile.
#if defined(__CUDA_ARCH__)
#if defined(CUZKD_COLD)
#define CUZKD_INLINED_LIMBS64 0
#else
#define CUZKD_INLINED_LIMBS64 6
#endif
#define CUZKD_ARGUMENT(T) T
#else
#define CUZKD_INLINED_LIMBS64 4
#define CUZKD_ARGUMENT(T) const T&
#endif

#define CUZKD_INLINE inline __attribute__((always_inline))
#define CUZKD_NOINLINE __attribute__((noinline))

namespace cuzkd {

using u32 = unsigned int;
using u64 = unsigned long;
static_assert(sizeof(u32) == 4 && sizeof(u64) == 8, "an LP64 platform");

#if defined(__CUDACC__) || defined(CUZKD_WORD32) || !defined(__SIZEOF_INT128__)
using word = u32;
using wide = u64;
#else
using word = u64;
__extension__ typedef unsigned __int128 wide;
#endif

constexpr unsigned WORD_BITS = 8 * sizeof(word);

// Word i of a constant that is given as 64-bit limbs.
HD constexpr word word_of(u64 (*limb)(unsigned), unsigned i) {
    return static_cast<word>(limb(i * WORD_BITS / 64) >> (i * WORD_BITS % 64));
}

template <class P>
constexpr unsigned WORDS = P::LIMBS32 * 32 / WORD_BITS;

}  // namespace cuzkd

#if defined(__CUDA_ARCH__)
#include "limbs_ptx.cuh"
#define CUZKD_FAST_LIMBS 1
#elif !defined(__CUDACC__) && !defined(CUZKD_WORD32) && defined(__x86_64__) && defined(__BMI2__) && defined(__ADX__)
#include "limbs_x86.cuh"
#define CUZKD_FAST_LIMBS 1
#else
#include "limbs_words.cuh"
#define CUZKD_FAST_LIMBS 0
#endif
