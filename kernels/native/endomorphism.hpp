// Scalars cut in half by the endomorphism phi(x, y) = (beta·x, y), beta³ = 1: phi multiplies the points of order r by
// lambda, a cube root of one modulo r, so k·P = k1·P + k2·phi(P) with k1, k2 of half the length (Gallant, Lambert,
// Vanstone, "Faster point multiplication on elliptic curves with efficient endomorphisms", CRYPTO 2001).
//
// The pairs (u, v) with u + lambda·v = 0 mod r form a lattice. On both curves it has the basis (A, B), (-B, D) with
// r = A·D + B², given by the curve's parameter x:
//   BN254      A = 6x² + 4x + 1, B = 2x + 1, D = 6x² + 2x     (lambda = 36x³ + 18x² + 6x + 1)
//   BLS12-381  A = x²,           B = 1,      D = x² - 1       (lambda = -x²)
#pragma once

#include "curve.cuh"

namespace cuzkd {

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

// A scalar's two halves: each |half| ≤ (A + B)/2 + 1 < 2^126.6, and (k, 0) for every k < A/2.
struct Halves {
    i128 own, turned;
};

template <class Curve>
class ScalarSplit {
    using FrParams = typename Curve::Fr::Params;
    static constexpr u128 x = Curve::Constants::X_ABS;
    static constexpr bool is_bn = Curve::Constants::TWIST_IS_D;

  public:
    static constexpr u128 A = is_bn ? 6 * x * x + 4 * x + 1 : x * x;
    static constexpr u128 B = is_bn ? 2 * x + 1 : 1;
    static constexpr u128 D = is_bn ? 6 * x * x + 2 * x : x * x - 1;

    // k is four limbs, < r. Babai's rounding: (k, 0) minus the lattice point whose coordinates k·D/r and -k·B/r are
    // rounded. Everything fits 128 bits in the end, so it is computed modulo 2^128.
    static Halves split(const u64* k) {
        const u128 low = static_cast<u128>(k[1]) << 64 | k[0];
        const u128 c1 = rounded_product(k, kD), c2 = rounded_product(k, kB);
        return {static_cast<i128>(low - c1 * A - c2 * B), static_cast<i128>(c2 * D - c1 * B)};
    }

  private:
    // round(2^320·d/r), by long division.
    struct Ratio {
        u64 limb[4];
    };
    static constexpr unsigned kShift = 320;

    static constexpr Ratio ratio(u128 d) {
        u64 rest[5] = {static_cast<u64>(d), static_cast<u64>(d >> 64), 0, 0, 0};
        Ratio quotient{};
        for (unsigned step = 0; step < kShift + 1; ++step) {
            // After kShift doublings of the rest, one more digit decides the rounding.
            u64 carry = 0;
            for (unsigned i = 0; i < 5; ++i) {
                const u64 next = rest[i] >> 63;
                rest[i] = rest[i] << 1 | carry;
                carry = next;
            }
            u64 difference[5] = {};
            u64 borrow = 0;
            for (unsigned i = 0; i < 5; ++i) {
                const u128 sub = static_cast<u128>(i < 4 ? FrParams::modulus(i) : 0) + borrow;
                difference[i] = rest[i] - static_cast<u64>(sub);
                borrow = rest[i] < sub ? 1 : 0;
            }
            if (!borrow)
                for (unsigned i = 0; i < 5; ++i) rest[i] = difference[i];
            if (step == kShift) {
                if (!borrow) increment(quotient);
                break;
            }
            shift_in(quotient, !borrow);
        }
        return quotient;
    }
    static constexpr void shift_in(Ratio& q, bool bit) {
        for (unsigned i = 3; i > 0; --i) q.limb[i] = q.limb[i] << 1 | q.limb[i - 1] >> 63;
        q.limb[0] = q.limb[0] << 1 | (bit ? 1 : 0);
    }
    static constexpr void increment(Ratio& q) {
        for (unsigned i = 0; i < 4; ++i)
            if (++q.limb[i] != 0) break;
    }

    // round(k·ratio / 2^320), off by less than 2^-64 before rounding.
    static u128 rounded_product(const u64* k, const Ratio& ratio) {
        u64 t[8] = {};
        for (unsigned i = 0; i < 4; ++i) {
            u64 carry = 0;
            for (unsigned j = 0; j < 4; ++j) {
                const u128 sum = static_cast<u128>(k[i]) * ratio.limb[j] + t[i + j] + carry;
                t[i + j] = static_cast<u64>(sum);
                carry = static_cast<u64>(sum >> 64);
            }
            t[i + 4] = carry;
        }
        return (static_cast<u128>(t[6]) << 64 | t[5]) + (t[4] >> 63);
    }

    static constexpr Ratio kD = ratio(D), kB = ratio(B);
};

// The beta whose phi is the lambda of the curve's lattice, on the group that `generator` generates: of the two
// primitive cube roots of one, that with A·G + B·phi(G) = 0.
template <class Curve, class Point>
typename Curve::Fq matching_beta(const Point& generator) {
    using Accumulator = Xyzz<typename Point::Coordinate, Curve>;
    const auto multiple = [](const Point& p, u128 k) {
        Accumulator sum = Accumulator::infinity();
        for (unsigned bit = 128; bit-- > 0;) {
            sum = sum.dbl();
            if (k >> bit & 1) sum.add(p);
        }
        return sum;
    };
    const auto beta = Curve::Fq::of(Curve::Constants::beta);
    Accumulator sum = multiple(generator, ScalarSplit<Curve>::A);
    sum.add(multiple(Point{generator.x * beta, generator.y}, ScalarSplit<Curve>::B));
    return sum.is_infinity() ? beta : beta.sqr();
}

}  // namespace cuzkd
