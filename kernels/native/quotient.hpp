// The quotient of a Groth16 proof in the two forms that keys want, from a, b, c at the domain's points.
//
// On these the polynomial P = A·B - C vanishes. A snarkjs key wants its values at the odd powers of w_2n: they
// determine P, and its division by X^n - 1 is part of the key. A bellperson key wants the coefficients of
// h = P/(X^n - 1): at the same odd points X^n is -1, so h is P/(-2) there, and one transform back gives the
// coefficients. (bellperson itself divides on the coset of 7; h is the same polynomial from whichever coset.)
#pragma once

#include <algorithm>
#include <cstddef>

#include "ntt.hpp"

namespace cuzkd {

// Two elements of scratch for each of the domain.
constexpr size_t kQuotientScratch = 2;

template <class Fr, class Root>
class OddCoset {
  public:
    OddCoset(unsigned log_size, unsigned threads)
        : log_size_(log_size), size_(size_t{1} << log_size), threads_(threads),
          shifts_(Roots<Fr, Root>::table(log_size, threads)), transform_(log_size, threads),
          inverse_size_(Roots<Fr, Root>::inverse_size(log_size)) {}

    // out[i] = factor·(a'_i·b'_i - c'_i), canonical, where ' is the evaluation at w_2n^(2i+1) of the polynomial with
    // the given values at w_2n^(2i); a, b, c are `rows` Montgomery elements, zeros after them.
    void values(const Fr* a, const Fr* b, const Fr* c, size_t rows, Fr* out, Fr* scratch,
                const Fr& factor = Fr::one()) const {
        Fr *const b_odd = scratch, *const c_odd = scratch + size_;
        to_odd_points(a, rows, out);
        to_odd_points(b, rows, b_odd);
        to_odd_points(c, rows, c_odd);
        // Transforms are not scaled: a' and b' are n times too large, c' too. A product with a plain constant takes
        // the scale and the Montgomery factor off in one.
        const Fr scale = (inverse_size_ * factor).from_montgomery();
        const Fr scale_squared = (inverse_size_.sqr() * factor).from_montgomery();
        parallel_ranges(size_, kGrain, threads_, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                out[i] = out[i] * b_odd[i] * scale_squared - c_odd[i] * scale;
        });
    }

    // out[j] = the coefficient h_j, canonical, of h = (A·B - C)/(X^n - 1), from the same a, b, c. The last one is zero
    // where a·b = c on all rows.
    void coefficients(const Fr* a, const Fr* b, const Fr* c, size_t rows, Fr* out, Fr* scratch) const {
        const Fr half_negative = -(Fr::one().dbl().inverse());
        values(a, b, c, rows, out, scratch, half_negative * inverse_size_);
        transform_.template to_reversed<Direction::inverse>(out);
        const Fr* const shift = shifts_->data();
        parallel_ranges(size_, kGrain, threads_, [&](size_t begin, size_t end) {
            for (size_t p = std::max<size_t>(begin, 1); p < end; ++p) out[p] = -(out[p] * shift[mirror(p)]);
        });
        bit_reverse(out, log_size_, threads_);
    }

  private:
    static constexpr size_t kGrain = 4096;

    // n times the values at odd points. Coefficient j lies at place p = j bit-reversed between the transforms, and
    // w_2n^j is entry p of the table of roots.
    void to_odd_points(const Fr* values, size_t rows, Fr* to) const {
        parallel_ranges(size_, kGrain, threads_, [&](size_t begin, size_t end) {
            const size_t filled = std::clamp(rows, begin, end);
            std::copy(values + std::min(rows, begin), values + std::min(rows, filled), to + begin);
            std::fill(to + filled, to + end, Fr::zero());
        });
        const Fr* const shift = shifts_->data();
        transform_.template there_and_back<Direction::inverse, Direction::forward>(
            to, [shift](size_t first, Fr* elements, size_t count) {
                for (size_t i = 0; i < count; ++i) elements[i] = elements[i] * shift[first + i];
            });
    }

    unsigned log_size_;
    size_t size_;
    unsigned threads_;
    std::shared_ptr<const typename Roots<Fr, Root>::Table> shifts_;
    Transform<Fr, Root> transform_;
    Fr inverse_size_;
};

}  // namespace cuzkd
