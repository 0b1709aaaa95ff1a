// The group that a module is compiled for, and how its points lie in memory between kernels.
//
// -DCUZKD_GROUP=1 or 2. Points of a key are records of affine coordinates, as on the host. What kernels leave for each
// other is in planes of 16 bytes: plane q of a vector holds the q-th quad of every element, so that neighbouring threads
// touch neighbouring memory. Infinity has an x that is no canonical number there.
#pragma once
#include "device.cuh"

#ifndef CUZKD_GROUP
#error "CUZKD_GROUP is 1 or 2"
#endif

namespace cuzkd::device {

#if CUZKD_GROUP == 1
using Point = Curve::G1;
using Sum = Curve::G1Xyzz;
#else
using Point = Curve::G2;
using Sum = Curve::G2Xyzz;
#endif
using Coordinate = Point::Coordinate;

constexpr u32 kSign = 1u << 31;
constexpr u32 kHole = 0xffffffffu;
constexpr u32 kNoNumber = 0xffffffffu;

// A vector of T in planes, `stride` elements apart.
template <class T>
struct Planes {
    Quad* quads;
    u64 stride;

    CUZKD_DEVICE T get(u64 i) const {
        T r;
#pragma unroll
        for (unsigned q = 0; q < QUADS<T>; q++) {
            const Quad quad = quads[q * stride + i];
#pragma unroll
            for (unsigned j = 0; j < 4; j++) reinterpret_cast<u32*>(&r)[4 * q + j] = quad.w[j];
        }
        return r;
    }
    CUZKD_DEVICE void set(u64 i, const T& value) const {
#pragma unroll
        for (unsigned q = 0; q < QUADS<T>; q++) {
            Quad quad;
#pragma unroll
            for (unsigned j = 0; j < 4; j++) quad.w[j] = reinterpret_cast<const u32*>(&value)[4 * q + j];
            quads[q * stride + i] = quad;
        }
    }
};

// Affine points in planes: those of x, then those of y.
struct PointPlanes {
    Planes<Coordinate> x, y;

    CUZKD_DEVICE PointPlanes(Quad* quads, u64 stride)
        : x{quads, stride}, y{quads + QUADS<Coordinate> * stride, stride} {}
};

CUZKD_DEVICE u32& top_word(Coordinate& x) { return reinterpret_cast<u32*>(&x)[sizeof(Coordinate) / 4 - 1]; }
CUZKD_DEVICE bool is_marked(Coordinate& x) { return top_word(x) == kNoNumber; }

// The x of infinity in planes.
CUZKD_DEVICE Coordinate infinity_mark() {
    Coordinate x = Coordinate::zero();
    top_word(x) = kNoNumber;
    return x;
}

}  // namespace cuzkd::device
