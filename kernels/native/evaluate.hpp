// Sparse matrix times witness: rows of dictionary-coded coefficients, several threads balanced by non-zeros.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

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

template <class Fr>
class Evaluator {
  public:
    Evaluator(const SparseMatrix<Fr>& matrix, const Fr* z, size_t columns)
        : m_(matrix), z_(z), columns_(columns), plus_(code_of(Fr::of(Fr::Params::r_squared))),
          minus_(code_of(-Fr::of(Fr::Params::r_squared))) {}

    // out[i] = sum of row i, Montgomery. Every index is checked as it is used: invalid_argument for the first that a
    // thread meets.
    void run(Fr* out, unsigned threads) const {
        const size_t tasks = std::max<size_t>(1, (m_.entries + m_.rows) / kTaskWork);
        parallel_for(tasks, threads, [&](size_t t) {
            const size_t end = boundary(t + 1, tasks);
            for (size_t row = boundary(t, tasks); row < end; ++row) out[row] = row_sum(row);
        });
    }

  private:
    static constexpr size_t kTaskWork = 1 << 14;

    // The first row of task t: rows so divided that each task has an equal share of entries and rows.
    size_t boundary(size_t t, size_t tasks) const {
        const size_t wanted = (m_.entries + m_.rows) / tasks * t;
        if (t == tasks) return m_.rows;
        size_t low = 0, high = m_.rows;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (m_.row_ptr[middle] + middle < wanted) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    // Most coefficients are 1 and -1: their terms are added up plain, with one product at the end of the row.
    Fr row_sum(size_t row) const {
        const uint64_t begin = m_.row_ptr[row], end = m_.row_ptr[row + 1];
        if (begin > end || end > m_.entries) bad("row pointer ", row + 1);
        Fr sum = Fr::zero(), units = Fr::zero();
        bool any_units = false;
        for (uint64_t e = begin; e < end; ++e) {
            const uint32_t column = m_.cols[e], code = m_.coeffs[e];
            if (column >= columns_) bad("the column of entry ", e);
            const Fr& w = z_[column];
            if (code == plus_) {
                units += w;
                any_units = true;
            } else if (code == minus_) {
                units -= w;
                any_units = true;
            } else {
                if (code >= m_.value_count) bad("the coefficient of entry ", e);
                sum += m_.values[code] * w;
            }
        }
        return any_units ? sum + units.to_montgomery() : sum;
    }

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
};

}  // namespace cuzkd
