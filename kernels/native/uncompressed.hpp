// Points as bellperson writes them uncompressed: coordinates big-endian, x then y, in Fq2 c1 before c0; the three
// top bits of the first byte are flags, all clear in a finite point.
#pragma once

#include <cstddef>
#include <cstdint>

#include "curve.cuh"

namespace cuzkd {

// What makes bytes no finite point; whether it is on the curve is another question.
enum class PointFault : int { none = 0, compressed = 1, infinity = 2, flags = 3, coordinate = 4 };

namespace detail {

template <class F>
F read_big_endian(const uint8_t* bytes) {
    uint64_t limb[F::LIMBS64];
    for (unsigned i = 0; i < F::LIMBS64; ++i) {
        uint64_t value = 0;
        const uint8_t* const at = bytes + 8 * (F::LIMBS64 - 1 - i);
        for (unsigned k = 0; k < 8; ++k) value = value << 8 | at[k];
        limb[i] = value;
    }
    return F::from_raw(limb);
}

template <class F>
void write_big_endian(const F& x, uint8_t* bytes) {
    uint64_t limb[F::LIMBS64];
    x.from_montgomery().to_raw(limb);
    for (unsigned i = 0; i < F::LIMBS64; ++i)
        for (unsigned k = 0; k < 8; ++k)
            bytes[8 * (F::LIMBS64 - 1 - i) + k] = static_cast<uint8_t>(limb[i] >> (56 - 8 * k));
}

// Where coordinate k of a point's Montgomery limbs stands in its bytes: y after x, but c1 before c0.
constexpr unsigned place(unsigned k, unsigned coordinates) { return coordinates == 2 ? k : k ^ 1; }

template <class F>
struct BaseOf { using Type = F; };
template <class F>
struct BaseOf<Fq2<F>> { using Type = F; };

}  // namespace detail

// Writes the point in Montgomery form into `out` (Point::LIMBS64 limbs), and says what was wrong with its bytes.
template <class Point>
PointFault read_uncompressed(const uint8_t* bytes, uint64_t* out) {
    using F = typename detail::BaseOf<typename Point::Coordinate>::Type;
    constexpr unsigned kCoordinates = Point::LIMBS64 / F::LIMBS64;
    if (bytes[0] & 0x80) return PointFault::compressed;
    if (bytes[0] & 0x40) {
        uint8_t rest = bytes[0] & 0x3f;
        for (unsigned i = 1; i < 8 * Point::LIMBS64; ++i) rest |= bytes[i];
        return rest ? PointFault::flags : PointFault::infinity;
    }
    if (bytes[0] & 0x20) return PointFault::flags;
    for (unsigned k = 0; k < kCoordinates; ++k) {
        const F x = detail::read_big_endian<F>(bytes + 8 * F::LIMBS64 * detail::place(k, kCoordinates));
        if (!x.is_canonical()) return PointFault::coordinate;
        x.to_montgomery().to_raw(out + F::LIMBS64 * k);
    }
    return PointFault::none;
}

// The inverse; infinity is the flag and zeros.
template <class Point>
void write_uncompressed(const Point& point, uint8_t* bytes) {
    using F = typename detail::BaseOf<typename Point::Coordinate>::Type;
    constexpr unsigned kCoordinates = Point::LIMBS64 / F::LIMBS64;
    uint64_t limbs[Point::LIMBS64];
    point.to_raw(limbs);
    for (unsigned k = 0; k < kCoordinates; ++k)
        detail::write_big_endian(F::from_raw(limbs + F::LIMBS64 * k),
                                 bytes + 8 * F::LIMBS64 * detail::place(k, kCoordinates));
    if (point.is_infinity()) bytes[0] = 0x40;
}

}  // namespace cuzkd
