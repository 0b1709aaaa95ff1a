// The quotient of a Groth16 proof as snarkjs keys want it: A·B - C at the odd powers of w_2n.
//
// On rows a, b, c (values at the even powers) the polynomial A·B - C vanishes, so its values at the odd points
// determine it, and its division by X^n - 1 is part of the key (the H bases).
#pragma once

#include <algorithm>
#include <cstddef>

#include "ntt.hpp"

namespace cuzkd {

// Two elements of scratch for each of the domain.
constexpr size_t kQuotientScratch = 2;

template <class Fr>
class OddCosetQuotient {
  public:
    OddCosetQuotient(unsigned log_size, unsigned threads)
        : size_(size_t{1} << log_size), threads_(threads), shifts_(Roots<Fr>::table(log_size, threads)),
          transform_(log_size, threads), inverse_size_(Roots<Fr>::inverse_size(log_size)) {}

    // out[i] = a'_i·b'_i - c'_i, canonical, where ' is the evaluation at w_2n^(2i+1) of the polynomial with the given
    // values at w_2n^(2i); a, b, c are `rows` Montgomery elements, zeros after them.
    void run(const Fr* a, const Fr* b, const Fr* c, size_t rows, Fr* out, Fr* scratch) const {
        Fr *const b_odd = scratch, *const c_odd = scratch + size_;
        to_odd_points(a, rows, out);
        to_odd_points(b, rows, b_odd);
        to_odd_points(c, rows, c_odd);
        // Transforms are not scaled: a' and b' are n times too large, c' too. A product with a plain constant takes
        // the scale and the Montgomery factor off in one.
        const Fr scale = inverse_size_.from_montgomery(), scale_squared = inverse_size_.sqr().from_montgomery();
        parallel_ranges(size_, kGrain, threads_, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                out[i] = out[i] * b_odd[i] * scale_squared - c_odd[i] * scale;
        });
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

    size_t size_;
    unsigned threads_;
    std::shared_ptr<const typename Roots<Fr>::Table> shifts_;
    Transform<Fr> transform_;
    Fr inverse_size_;
};

}  // namespace cuzkd
