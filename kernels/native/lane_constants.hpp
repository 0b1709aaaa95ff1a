// Constants of lanes.hpp, in limbs of 52 bits, made by the compiler.
#pragma once

#include "field.cuh"

namespace cuzkd {

// A modulus, and what products modulo it need.
template <class P>
struct LaneModulus {
    static constexpr unsigned BITS = 52;
    static constexpr unsigned N = (P::LIMBS32 * 32 - P::SPARE_BITS + 4 + BITS - 1) / BITS;
    static constexpr u64 MASK = (u64{1} << BITS) - 1;
    // What 2^52 and 2^104 look like as doubles.
    static constexpr u64 TWO_52 = u64{1023 + 52} << BITS, TWO_104 = u64{1023 + 104} << BITS;
    // -1/p mod 2^52
    static constexpr u64 FACTOR = P::INV & MASK;

    u64 p[N];
    // (FACTOR·p + 1) / 2^52
    u64 folded[N];
    // What the exponents of all halves add to a column by the time that it is read, for one product and for two.
    u64 bias[2][2 * N];

    static constexpr LaneModulus make() {
        LaneModulus m{};
        for (unsigned j = 0; j < N; ++j) m.p[j] = limb(j);
        wide carry = 1;
        for (unsigned j = 0; j <= N; ++j) {
            carry += static_cast<wide>(FACTOR) * limb(j);
            if (j > 0) m.folded[j - 1] = static_cast<u64>(carry) & MASK;
            carry >>= BITS;
        }
        for (unsigned k = 0; k < 2 * N; ++k) {
            m.bias[0][k] = bias_of(k, 1);
            m.bias[1][k] = bias_of(k, 2);
        }
        return m;
    }

    // Limb j of factor·p; the last one holds all that is left.
    static constexpr u64 multiple(unsigned factor, unsigned j) {
        wide carry = 0;
        for (unsigned i = 0; i <= j; ++i) carry = static_cast<wide>(factor) * limb(i) + (carry >> BITS);
        return static_cast<u64>(carry) & (j + 1 < N ? MASK : ~u64{0});
    }

  private:
    static constexpr u64 limb(unsigned j) {
        if (j >= N) return 0;
        const unsigned word = j * BITS / 64, shift = j * BITS % 64;
        u64 v = P::modulus(word) >> shift;
        if (shift > 64 - BITS && word + 1 < P::LIMBS32 / 2) v |= P::modulus(word + 1) << (64 - shift);
        return v & MASK;
    }

    static constexpr u64 bias_of(unsigned k, unsigned products) {
        // The last clearing carries an exponent over.
        u64 sum = k == N ? TWO_52 >> BITS : 0;
        for (unsigned i = 0; i < N && i <= k; ++i) {
            const unsigned clearing = i + 1 < N ? i + 1 : i;
            for (unsigned j = 0; j < N; ++j) {
                if (i + j == k) sum += products * TWO_52;
                if (i + j + 1 == k) sum += products * TWO_104;
                if (i == k) continue;  // read before it is cleared
                if (clearing + j == k) sum += TWO_52;
                if (clearing + j + 1 == k) sum += TWO_104;
            }
        }
        return sum;
    }
};

template <class P>
inline constexpr LaneModulus<P> LANE_MODULUS = LaneModulus<P>::make();

template <class P, unsigned K>
struct LaneMultiple {
    static constexpr unsigned N = LaneModulus<P>::N;
    u64 limb[N];
    // The same value with a surplus in every limb but the last, from which a limb < 2^52 can be taken.
    u64 padded[N];

    static constexpr LaneMultiple make() {
        LaneMultiple m{};
        for (unsigned j = 0; j < N; ++j) {
            m.limb[j] = LaneModulus<P>::multiple(K, j);
            m.padded[j] = m.limb[j] + (j + 1 < N ? LaneModulus<P>::MASK + 1 : 0) - (j > 0 ? 1 : 0);
        }
        return m;
    }
};

template <class P, unsigned K>
inline constexpr LaneMultiple<P, K> LANE_MULTIPLE = LaneMultiple<P, K>::make();

}  // namespace cuzkd
