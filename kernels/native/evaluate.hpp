// Sparse matrix times witness: rows of dictionary-coded coefficients, several threads balanced by non-zeros.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "field.cuh"
#include "search.hpp"
#include "threads.hpp"

namespace cuzkd {

// Row i has the entries [row_ptr[i], row_ptr[i + 1]): coefficient values[coeffs[e]] at column cols[e]. A value v is
// stored as v·R² mod r, R = 2^256, so that its Montgomery product with a plain w is v·w in Montgomery form.
template <class Fr>
struct SparseMatrix {
    const uint64_t* row_ptr;
    size_t rows;
    const uint32_t *cols, *coeffs;
    size_t entries;
    const Fr* values;
    size_t value_count;
};

enum class CsrFaultKind { row_ptr, column, coefficient, value };

struct CsrFault {
    CsrFaultKind kind;
    size_t index;
};

// The first row pointer out of order, else the first entry whose column or coefficient does not exist, else the first
// value that is not canonical.
template <class Fr>
std::optional<CsrFault> check_csr(const SparseMatrix<Fr>& m, size_t columns, unsigned threads) {
    constexpr size_t grain = 1 << 15;
    const auto bad_row = first_where(m.rows + 1, grain, threads, [&](size_t i) {
        return m.row_ptr[i] > m.entries || m.row_ptr[i] < (i ? m.row_ptr[i - 1] : 0) ||
               (i == 0 && m.row_ptr[0] != 0) || (i == m.rows && m.row_ptr[i] != m.entries);
    });
    if (bad_row) return CsrFault{CsrFaultKind::row_ptr, *bad_row};
    const auto bad_entry = first_where(m.entries, grain, threads, [&](size_t e) {
        return m.cols[e] >= columns || m.coeffs[e] >= m.value_count;
    });
    if (bad_entry) {
        const bool column = m.cols[*bad_entry] >= columns;
        return CsrFault{column ? CsrFaultKind::column : CsrFaultKind::coefficient, *bad_entry};
    }
    const auto bad_value =
        first_where(m.value_count, grain, threads, [&](size_t k) { return !m.values[k].is_canonical(); });
    if (bad_value) return CsrFault{CsrFaultKind::value, *bad_value};
    return std::nullopt;
}

// The values 0 and 1 apart: most of a witness is one of them, and the product of a coefficient with them is no work.
template <class Fr>
CUZKD_INLINE bool is_bit(const Fr& w) {
    typename std::remove_cv<typename std::remove_reference<decltype(w.v[0])>::type>::type high = 0;
    for (unsigned k = 1; k < Fr::N; ++k) high |= w.v[k];
    return high == 0 && w.v[0] <= 1;
}

// Rows of one matrix times z.
template <class Fr>
class RowSums {
  public:
    RowSums(const SparseMatrix<Fr>& matrix, const Fr* z, size_t columns, unsigned threads)
        : m_(matrix), z_(z), columns_(columns), plus_(code_of(Fr::of(Fr::Params::r_squared))),
          minus_(code_of(-Fr::of(Fr::Params::r_squared))), bits_{Fr::zero(), Fr::one()} {
        // Coefficients in Montgomery form, what their products with one are: worth making if they are few.
        if (m_.value_count > m_.entries / 8) return;
        montgomery_.resize(m_.value_count);
        parallel_ranges(m_.value_count, 4096, threads, [&](size_t begin, size_t end) {
            for (size_t k = begin; k < end; ++k) montgomery_[k] = m_.values[k].from_montgomery();
        });
    }

    // Entries and rows before a row: how much work they are.
    uint64_t work_before(size_t row) const { return std::min<uint64_t>(m_.row_ptr[row], m_.entries) + row; }
    size_t rows() const { return m_.rows; }

    // The sum of a row, Montgomery. Every index is checked as it is used: invalid_argument for the first bad one.
    // Most coefficients are 1 and -1: their terms are added up plain, with one product at the end of the row.
    CUZKD_NOINLINE Fr operator()(size_t row) const {
        const uint64_t begin = m_.row_ptr[row], end = m_.row_ptr[row + 1];
        if (begin > end || end > m_.entries) bad("row pointer ", row + 1);
        Fr sum = Fr::zero(), units = Fr::zero();
        for (uint64_t e = begin; e < end; ++e) {
            if (e + kAhead < m_.entries) __builtin_prefetch(z_ + m_.cols[e + kAhead]);
            const uint32_t column = m_.cols[e], code = m_.coeffs[e];
            if (column >= columns_) bad("the column of entry ", e);
            const Fr& w = z_[column];
            if (code == plus_) {
                units += w;
            } else if (code == minus_) {
                units -= w;
            } else {
                if (code >= m_.value_count) bad("the coefficient of entry ", e);
                sum += is_bit(w) && !montgomery_.empty() ? *(w.v[0] ? &montgomery_[code] : &bits_[0])
                                                         : m_.values[code] * w;
            }
        }
        return sum + (is_bit(units) ? bits_[units.v[0]] : units.to_montgomery());
    }

  private:
    static constexpr uint64_t kAhead = 24;

    // The code of a value, or one that no entry has.
    uint64_t code_of(const Fr& value) const {
        const Fr* const end = m_.values + m_.value_count;
        const Fr* const found = std::find(m_.values, end, value);
        return found == end ? ~uint64_t{0} : static_cast<uint64_t>(found - m_.values);
    }

    [[noreturn]] static void bad(const char* what, uint64_t index) {
        throw std::invalid_argument(what + std::to_string(index) + " is out of range");
    }

    const SparseMatrix<Fr> m_;
    const Fr* z_;
    size_t columns_;
    uint64_t plus_, minus_;
    Fr bits_[2];
    std::vector<Fr> montgomery_;
};

// Calls body(begin, end) for ranges of rows so divided that each has an equal share of work_before(rows).
template <class Work, class Body>
void for_equal_work(size_t rows, unsigned threads, const Work& work_before, const Body& body) {
    constexpr size_t kTaskWork = 1 << 14;
    const size_t all = work_before(rows), tasks = std::max<size_t>(1, all / kTaskWork);
    const auto boundary = [&](size_t t) {
        if (t == tasks) return rows;
        const size_t wanted = all / tasks * t;
        size_t low = 0, high = rows;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (work_before(middle) < wanted) low = middle + 1;
            else high = middle;
        }
        return low;
    };
    parallel_for(tasks, threads, [&](size_t t) { body(boundary(t), boundary(t + 1)); });
}

// out[i] = sum of row i, Montgomery.
template <class Fr>
void evaluate(const SparseMatrix<Fr>& matrix, const Fr* z, size_t columns, Fr* out, unsigned threads) {
    const RowSums<Fr> sums(matrix, z, columns, threads);
    for_equal_work(matrix.rows, threads, [&](size_t row) { return sums.work_before(row); },
                   [&](size_t begin, size_t end) {
                       for (size_t row = begin; row < end; ++row) out[row] = sums(row);
                   });
}

// a = A·z, b = B·z and c in one sweep, so that what rows of different matrices share of z is in cache once. With C, c is
// C·z (zero where C has no such row) and the first row where it is not a∘b is returned; without, c is a∘b.
template <class Fr>
std::optional<size_t> evaluate_constraints(const SparseMatrix<Fr>& of_a, const SparseMatrix<Fr>& of_b,
                                           const SparseMatrix<Fr>* of_c, const Fr* z, size_t columns, Fr* a, Fr* b,
                                           Fr* c, unsigned threads) {
    const SparseMatrix<Fr> none{};
    const RowSums<Fr> row_a(of_a, z, columns, threads), row_b(of_b, z, columns, threads),
        row_c(of_c ? *of_c : none, z, columns, threads);
    const size_t rows = of_a.rows, rows_c = row_c.rows();
    std::atomic<size_t> broken{rows};
    const auto work_before = [&](size_t row) {
        return row_a.work_before(row) + row_b.work_before(row) +
               (of_c ? row_c.work_before(std::min(row, rows_c)) : uint64_t{0});
    };
    for_equal_work(rows, threads, work_before, [&](size_t begin, size_t end) {
        const Fr one = Fr::one();
        for (size_t row = begin; row < end; ++row) {
            const Fr x = row_a(row), y = row_b(row);
            const Fr product = x.is_zero() || y.is_zero() ? Fr::zero() : y == one ? x : x == one ? y : x * y;
            a[row] = x;
            b[row] = y;
            c[row] = !of_c ? product : row < rows_c ? row_c(row) : Fr::zero();
            if (of_c && c[row] != product) {
                size_t seen = broken.load();
                while (row < seen && !broken.compare_exchange_weak(seen, row)) {
                }
            }
        }
    });
    const size_t found = broken.load();
    return found < rows ? std::optional<size_t>(found) : std::nullopt;
}

}  // namespace cuzkd
