// Four elements of a prime field side by side, in limbs of 52 bits, multiplied by the floating-point units (AVX2, FMA).
//
// For integers a, b < 2^52 held as doubles, and rounding towards zero, fma(a, b, 2^104) has the high half of a·b in
// its lowest bits, and fma(a, b, 2^104 + 2^52 - that) the low half (Emmart, Zheng, Weems, "Faster modular
// exponentiation using double precision floating point arithmetic on the GPU", ARITH 2018).
//
// Everything with "mul" in its name needs rounding towards zero: a RoundTowardsZero held by a caller that is not
// inlined into, so that no operation moves out of its scope.
#pragma once

#if defined(__AVX2__) && defined(__FMA__) && defined(__x86_64__)
#define CUZKD_LANES 1
#include <immintrin.h>

#include "lane_constants.hpp"

// Limbs live in registers only where loops over them are unrolled.
#define CUZKD_UNROLL _Pragma("GCC unroll 32")

namespace cuzkd {

class RoundTowardsZero {
  public:
    RoundTowardsZero() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | _MM_ROUND_TOWARD_ZERO); }
    ~RoundTowardsZero() { _mm_setcsr(saved_); }
    RoundTowardsZero(const RoundTowardsZero&) = delete;
    RoundTowardsZero& operator=(const RoundTowardsZero&) = delete;

  private:
    unsigned saved_;
};

template <class P>
class Lanes {
    using Modulus = LaneModulus<P>;
    static constexpr unsigned BITS = Modulus::BITS;
    static constexpr u64 MASK = Modulus::MASK;

  public:
    static constexpr unsigned WORDS64 = P::LIMBS32 / 2;
    static constexpr unsigned N = Modulus::N;
    // Products are 2^SCALE too small for elements in Montgomery form of 64-bit limbs.
    static constexpr unsigned SCALE = BITS * N - 64 * WORDS64;

    // Limbs in [0, 2^52) after every operation that says "carried"; values are not reduced unless it says so.
    __m256i limb[N];

    // Factors of a product.
    struct Doubles {
        __m256d limb[N];
    };

    // ---- between memory and lanes ----------------------------------------------------------------------------------

    struct Words {
        __m256i word[WORDS64];
    };

    static CUZKD_INLINE Words load_words(const Field<P>* e0, const Field<P>* e1, const Field<P>* e2,
                                         const Field<P>* e3) {
        Words w;
        transpose_in(w.word, at(e0, 0), at(e1, 0), at(e2, 0), at(e3, 0));
        if constexpr (WORDS64 == 6) {
            const __m256i a = pair(e0, e2), b = pair(e1, e3);
            w.word[4] = _mm256_unpacklo_epi64(a, b);
            w.word[5] = _mm256_unpackhi_epi64(a, b);
        }
        return w;
    }

    static CUZKD_INLINE Lanes from_words(const Words& w) {
        Lanes r;
        CUZKD_UNROLL
        for (unsigned j = 0; j < N; ++j) {
            const unsigned word = j * BITS / 64, shift = j * BITS % 64;
            __m256i v = _mm256_srli_epi64(w.word[word], static_cast<int>(shift));
            if (shift > 64 - BITS && word + 1 < WORDS64)
                v = _mm256_or_si256(v, _mm256_slli_epi64(w.word[word + 1], static_cast<int>(64 - shift)));
            r.limb[j] = _mm256_and_si256(v, all(MASK));
        }
        return r;
    }

    // Carried limbs of values < 2^(64·WORDS64).
    CUZKD_INLINE Words to_words() const {
        Words w;
        CUZKD_UNROLL
        for (unsigned k = 0; k < WORDS64; ++k) {
            __m256i v = _mm256_setzero_si256();
            CUZKD_UNROLL
            for (unsigned j = 0; j < N; ++j) {
                const int shift = static_cast<int>(j * BITS) - static_cast<int>(64 * k);
                if (shift <= -static_cast<int>(BITS) || shift >= 64) continue;
                v = _mm256_or_si256(v, shift >= 0 ? _mm256_slli_epi64(limb[j], shift) : _mm256_srli_epi64(limb[j], -shift));
            }
            w.word[k] = v;
        }
        return w;
    }

    static CUZKD_INLINE void store_words(const Words& w, Field<P>* e0, Field<P>* e1, Field<P>* e2, Field<P>* e3) {
        __m256i row[4];
        transpose_in(row, w.word[0], w.word[1], w.word[2], w.word[3]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(e0->v), row[0]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(e1->v), row[1]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(e2->v), row[2]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(e3->v), row[3]);
        if constexpr (WORDS64 == 6) {
            const __m256i a = _mm256_unpacklo_epi64(w.word[4], w.word[5]);
            const __m256i b = _mm256_unpackhi_epi64(w.word[4], w.word[5]);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(e0->v + 4), _mm256_castsi256_si128(a));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(e1->v + 4), _mm256_castsi256_si128(b));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(e2->v + 4), _mm256_extracti128_si256(a, 1));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(e3->v + 4), _mm256_extracti128_si256(b, 1));
        }
    }

    // Four elements, wherever they lie.
    static CUZKD_INLINE Lanes load(const Field<P>* const* e) { return from_words(load_words(e[0], e[1], e[2], e[3])); }
    CUZKD_INLINE void store(Field<P>* const* e) const { store_words(to_words(), e[0], e[1], e[2], e[3]); }

    // One element in all lanes.
    static CUZKD_INLINE Lanes broadcast(const Field<P>& e) { return from_words(load_words(&e, &e, &e, &e)); }

    static CUZKD_INLINE Lanes zero() {
        Lanes r;
        CUZKD_UNROLL
        for (unsigned j = 0; j < N; ++j) r.limb[j] = _mm256_setzero_si256();
        return r;
    }

    // A bit for each lane whose carried limbs are all zero.
    CUZKD_INLINE int zeros() const {
        __m256i any = limb[0];
        CUZKD_UNROLL
        for (unsigned j = 1; j < N; ++j) any = _mm256_or_si256(any, limb[j]);
        return _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(any, _mm256_setzero_si256())));
    }
    // A bit for each lane where the carried limbs agree.
    CUZKD_INLINE int equals(const Lanes& o) const {
        Lanes difference;
        CUZKD_UNROLL
        for (unsigned j = 0; j < N; ++j) difference.limb[j] = _mm256_xor_si256(limb[j], o.limb[j]);
        return difference.zeros();
    }

    // ---- sums ------------------------------------------------------------------------------------------------------

    // a - b + k·p, carried, for values with that difference ≥ 0 and limbs of b < 2^52.
    template <unsigned K>
    static CUZKD_INLINE Lanes difference(const Lanes& a, const Lanes& b) {
        Lanes r;
        CUZKD_UNROLL
        for (unsigned j = 0; j < N; ++j)
            r.limb[j] = _mm256_sub_epi64(_mm256_add_epi64(a.limb[j], all(LANE_MULTIPLE<P, K>.padded[j])), b.limb[j]);
        r.carry();
        return r;
    }

    // Brings limbs < 2^63 below 2^52; the value must fit N limbs.
    CUZKD_INLINE void carry() {
        CUZKD_UNROLL
        for (unsigned j = 0; j + 1 < N; ++j) {
            limb[j + 1] = _mm256_add_epi64(limb[j + 1], _mm256_srli_epi64(limb[j], BITS));
            limb[j] = _mm256_and_si256(limb[j], all(MASK));
        }
    }

    // Carried value mod k·p, for a value < 2k·p: subtracted where the difference isn't negative.
    template <unsigned K>
    CUZKD_INLINE void subtract_once() {
        Lanes t;
        // Negative limbs borrow: adding 2^63 and taking 2^11 back keeps the logical shift right for signed limbs.
        __m256i borrow = _mm256_setzero_si256();
        CUZKD_UNROLL
        for (unsigned j = 0; j < N; ++j) {
            const __m256i d = _mm256_add_epi64(_mm256_sub_epi64(limb[j], all(LANE_MULTIPLE<P, K>.limb[j])), borrow);
            t.limb[j] = _mm256_and_si256(d, all(MASK));
            borrow = _mm256_sub_epi64(_mm256_srli_epi64(_mm256_add_epi64(d, all(u64{1} << 63)), BITS), all(u64{1} << 11));
        }
        // `borrow` is -1 where the difference is negative.
        CUZKD_UNROLL
        for (unsigned j = 0; j < N; ++j) limb[j] = _mm256_blendv_epi8(t.limb[j], limb[j], borrow);
    }

    // The value mod p of a carried value < 4p.
    CUZKD_INLINE void reduce() {
        subtract_once<2>();
        subtract_once<1>();
    }

    // 2^SCALE times a carried value that has as many bits to spare; carried.
    CUZKD_INLINE Lanes scaled() const {
        Lanes r;
        r.limb[0] = _mm256_and_si256(_mm256_slli_epi64(limb[0], SCALE), all(MASK));
        CUZKD_UNROLL
        for (unsigned j = 1; j < N; ++j)
            r.limb[j] = _mm256_or_si256(_mm256_and_si256(_mm256_slli_epi64(limb[j], SCALE), all(MASK)),
                                        _mm256_srli_epi64(limb[j - 1], BITS - SCALE));
        return r;
    }

    // ---- products --------------------------------------------------------------------------------------------------

    // Carried limbs as factors.
    CUZKD_INLINE Doubles doubles() const {
        Doubles r;
        CUZKD_UNROLL
        for (unsigned j = 0; j < N; ++j) r.limb[j] = to_double(limb[j]);
        return r;
    }

    // The right factor of a product; K is for Lanes2.
    template <unsigned K>
    CUZKD_INLINE Doubles factor() const {
        return doubles();
    }

    // a·b / 2^(52N) mod p, carried and < a·b / 2^(52N) + 1.25·p.
    static CUZKD_INLINE Lanes mul(const Doubles& a, const Doubles& b) {
        if constexpr (N > 5) return mul_call(a, b);
        else return product(a, b);
    }

    // The same of a·b + c·d. Longer code than this is not worth its place in the cache.
    static CUZKD_NOINLINE Lanes mul_add(const Doubles& a, const Doubles& b, const Doubles& c, const Doubles& d) {
        return by_columns(2, [&](Column& column, unsigned k) {
            column.add_products(a.limb, b.limb, k);
            column.add_products(c.limb, d.limb, k);
        });
    }

  private:
    static CUZKD_NOINLINE Lanes mul_call(const Doubles& a, const Doubles& b) { return product(a, b); }
    static CUZKD_INLINE Lanes product(const Doubles& a, const Doubles& b) {
        return by_columns(1, [&](Column& column, unsigned k) { column.add_products(a.limb, b.limb, k); });
    }

    static_assert(Modulus::FACTOR <= u64{1} << 50, "clearing adds at most p/4 beside p");

    static CUZKD_INLINE __m256i all(u64 value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }
    static CUZKD_INLINE __m256d constant(u64 value) { return _mm256_set1_pd(static_cast<double>(value)); }
    static CUZKD_INLINE __m256i bits(__m256d d) { return _mm256_castpd_si256(d); }
    static CUZKD_INLINE __m256d to_double(__m256i v) {
        return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(v, all(Modulus::TWO_52))), _mm256_set1_pd(0x1p52));
    }

    // 2^104 + 2^52·floor(a·b / 2^52), and 2^52 + a·b mod 2^52.
    static CUZKD_INLINE __m256d high_half(__m256d a, __m256d b) { return _mm256_fmadd_pd(a, b, _mm256_set1_pd(0x1p104)); }
    static CUZKD_INLINE __m256d low_half(__m256d a, __m256d b, __m256d high) {
        return _mm256_fmadd_pd(a, b, _mm256_sub_pd(_mm256_set1_pd(0x1p104 + 0x1p52), high));
    }
    static CUZKD_INLINE __m256d low_half_alone(__m256d a, __m256d b) {
        return _mm256_sub_pd(low_half(a, b, high_half(a, b)), _mm256_set1_pd(0x1p52));
    }

    // Column k of a product, and what is known of column k + 1.
    struct Column {
        __m256i sum, next;

        CUZKD_INLINE void add(__m256d a, __m256d b) {
            const __m256d high = high_half(a, b);
            sum = _mm256_add_epi64(sum, bits(low_half(a, b, high)));
            next = _mm256_add_epi64(next, bits(high));
            // Says that both are complete here: a compiler that puts sums off keeps too many terms waiting for them.
            asm("" : "+x"(sum), "+x"(next));
        }
        CUZKD_INLINE void add_products(const __m256d* a, const __m256d* b, unsigned k) {
            CUZKD_UNROLL
            for (unsigned i = 0; i < N; ++i)
                if (i <= k && k - i < N) add(a[i], b[k - i]);
        }
        CUZKD_INLINE __m256i low() const { return _mm256_and_si256(sum, all(MASK)); }
        CUZKD_INLINE void advance(u64 bias) {
            sum = _mm256_add_epi64(next, _mm256_srli_epi64(sum, BITS));
            next = all(u64{0} - bias);
        }
    };

    // Column by column, so that few of them are in registers. Below the N-th, a multiple of p makes each column zero
    // modulo 2^52. All but the last take a multiple of FACTOR·p, whose lowest limb is -1, so that the column is its
    // own quotient and loses it; that leaves up to FACTOR·p / 2^52 in the end. The last one takes a multiple of p.
    template <class Products>
    static CUZKD_INLINE Lanes by_columns(unsigned products, const Products& add_products) {
        const u64* const bias = LANE_MODULUS<P>.bias[products - 1];
        __m256d quotient[N];
        Lanes r;
        Column column{all(u64{0} - bias[0]), all(u64{0} - bias[1])};
        CUZKD_UNROLL
        for (unsigned k = 0; k < 2 * N; ++k) {
            add_products(column, k);
            CUZKD_UNROLL
            for (unsigned i = 0; i + 1 < N; ++i)
                if (i < k && k - 1 - i < N) column.add(quotient[i], constant(LANE_MODULUS<P>.folded[k - 1 - i]));
            if (k + 1 < N) quotient[k] = to_double(column.low());
            if (k + 1 == N) quotient[k] = low_half_alone(to_double(column.low()), constant(Modulus::FACTOR));
            if (k + 1 >= N && k + 1 < 2 * N) column.add(quotient[N - 1], constant(LANE_MODULUS<P>.p[k + 1 - N]));
            if (k >= N) r.limb[k - N] = k + 1 < 2 * N ? column.low() : column.sum;
            column.advance(k + 2 < 2 * N ? bias[k + 2] : 0);
        }
        return r;
    }

    static CUZKD_INLINE __m256i at(const Field<P>* e, unsigned word) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(e->v + word));
    }
    static CUZKD_INLINE __m256i pair(const Field<P>* low, const Field<P>* high) {
        return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(high->v + 4),
                                   reinterpret_cast<const __m128i*>(low->v + 4));
    }
    static CUZKD_INLINE void transpose_in(__m256i* out, __m256i a, __m256i b, __m256i c, __m256i d) {
        const __m256i ab_even = _mm256_unpacklo_epi64(a, b), ab_odd = _mm256_unpackhi_epi64(a, b);
        const __m256i cd_even = _mm256_unpacklo_epi64(c, d), cd_odd = _mm256_unpackhi_epi64(c, d);
        out[0] = _mm256_permute2x128_si256(ab_even, cd_even, 0x20);
        out[1] = _mm256_permute2x128_si256(ab_odd, cd_odd, 0x20);
        out[2] = _mm256_permute2x128_si256(ab_even, cd_even, 0x31);
        out[3] = _mm256_permute2x128_si256(ab_odd, cd_odd, 0x31);
    }
};

}  // namespace cuzkd
#endif
