// Bindings of the bulk work: transforms, quotient, sparse evaluation, multi-scalar multiplication.
#include <malloc.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "bind_bulk.hpp"
#include "bindings.hpp"
#include "evaluate.hpp"
#include "ntt.hpp"
#include "quotient.hpp"

namespace cuzkd {
namespace {

using Offsets = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
const T* view(const Limbs& array) {
    return reinterpret_cast<const T*>(array.data());
}

template <class T>
T* view(const LimbsOut& array) {
    return reinterpret_cast<T*>(array.data());
}

// f(Root{}) for the root of unity that numbers the domain.
template <class Function>
void with_root(bool bellperson, const Function& f) {
    if (bellperson) f(BellpersonRoot{});
    else f(SnarkjsRoot{});
}

void run_ntt(const std::string& curve, LimbsOut values, bool inverse, bool bellperson, unsigned threads) {
    const size_t n = values.shape(0);
    require(values.shape(1) == 4 && n != 0 && (n & (n - 1)) == 0, "values are (2^k, 4)");
    const auto log_size = static_cast<unsigned>(__builtin_ctzll(n));
    with_curve(curve, [&](auto c) {
        using Fr = typename decltype(c)::Fr;
        require(log_size <= Fr::Params::TWO_ADICITY, "the field has no root of unity of that order");
        nb::gil_scoped_release release;
        with_root(bellperson, [&](auto root) {
            ntt<decltype(root)>(view<Fr>(values), log_size, inverse, threads);
        });
    });
}

// The values at the odd coset as snarkjs keys want them or, for `bellperson`, the coefficients.
void run_quotient(const std::string& curve, Limbs a, Limbs b, Limbs c, unsigned log_domain, LimbsOut out,
                  LimbsOut scratch, bool bellperson, unsigned threads) {
    require(log_domain < 48, "the domain is too large");
    const size_t n = size_t{1} << log_domain, rows = a.shape(0);
    require(a.shape(1) == 4 && b.shape(1) == 4 && c.shape(1) == 4, "a, b and c are (rows, 4)");
    require(b.shape(0) == rows && c.shape(0) == rows && rows <= n, "a, b and c have one length, up to the domain's");
    require(out.shape(0) == n && out.shape(1) == 4, "out is (n, 4)");
    require(scratch.shape(0) == kQuotientScratch * n && scratch.shape(1) == 4, "scratch is (2n, 4)");
    with_curve(curve, [&](auto curve_tag) {
        using Fr = typename decltype(curve_tag)::Fr;
        require(log_domain < Fr::Params::TWO_ADICITY, "the field has no 2n-th root of unity");
        nb::gil_scoped_release release;
        const Fr *const of_a = view<Fr>(a), *const of_b = view<Fr>(b), *const of_c = view<Fr>(c);
        if (bellperson)
            OddCoset<Fr, BellpersonRoot>(log_domain, threads)
                .coefficients(of_a, of_b, of_c, rows, view<Fr>(out), view<Fr>(scratch));
        else
            OddCoset<Fr, SnarkjsRoot>(log_domain, threads)
                .values(of_a, of_b, of_c, rows, view<Fr>(out), view<Fr>(scratch));
    });
}

template <class Fr>
SparseMatrix<Fr> matrix_of(const Offsets& row_ptr, const Indices& cols, const Indices& coeffs, const Limbs& values) {
    require(row_ptr.shape(0) > 0, "row_ptr is (rows + 1,)");
    require(cols.shape(0) == coeffs.shape(0), "cols and coeffs have one length");
    require(values.shape(1) == 4, "values are (k, 4)");
    return {row_ptr.data(), row_ptr.shape(0) - 1, cols.data(),     coeffs.data(),
            cols.shape(0),  view<Fr>(values),     values.shape(0)};
}

std::optional<std::pair<int, size_t>> run_check_csr(const std::string& curve, Offsets row_ptr, Indices cols,
                                                    Indices coeffs, Limbs values, size_t columns, unsigned threads) {
    return with_curve(curve, [&](auto c) -> std::optional<std::pair<int, size_t>> {
        using Fr = typename decltype(c)::Fr;
        const auto matrix = matrix_of<Fr>(row_ptr, cols, coeffs, values);
        nb::gil_scoped_release release;
        const auto fault = check_csr(matrix, columns, threads);
        if (!fault) return std::nullopt;
        return std::pair<int, size_t>(static_cast<int>(fault->kind), fault->index);
    });
}

void run_evaluate(const std::string& curve, Offsets row_ptr, Indices cols, Indices coeffs, Limbs values, Limbs z,
                  LimbsOut out, unsigned threads) {
    require(z.shape(1) == 4, "z is (num_vars, 4)");
    require(out.shape(0) + 1 == row_ptr.shape(0) && out.shape(1) == 4, "out is (rows, 4)");
    with_curve(curve, [&](auto c) {
        using Fr = typename decltype(c)::Fr;
        const auto matrix = matrix_of<Fr>(row_ptr, cols, coeffs, values);
        nb::gil_scoped_release release;
        evaluate(matrix, view<Fr>(z), z.shape(0), view<Fr>(out), threads);
    });
}

// The arrays of one matrix, as Python hands them over.
using MatrixArrays = std::tuple<Offsets, Indices, Indices, Limbs>;

template <class Fr>
SparseMatrix<Fr> matrix_of(const MatrixArrays& m) {
    return std::apply([](const auto&... arrays) { return matrix_of<Fr>(arrays...); }, m);
}

std::optional<size_t> run_evaluate_constraints(const std::string& curve, MatrixArrays a, MatrixArrays b,
                                               std::optional<MatrixArrays> c, Limbs z, LimbsOut out_a, LimbsOut out_b,
                                               LimbsOut out_c, unsigned threads) {
    require(z.shape(1) == 4, "z is (num_vars, 4)");
    return with_curve(curve, [&](auto tag) -> std::optional<size_t> {
        using Fr = typename decltype(tag)::Fr;
        const auto of_a = matrix_of<Fr>(a), of_b = matrix_of<Fr>(b);
        std::optional<SparseMatrix<Fr>> of_c;
        if (c) of_c = matrix_of<Fr>(*c);
        for (const LimbsOut* out : {&out_a, &out_b, &out_c})
            require(out->shape(0) == of_a.rows && out->shape(1) == 4, "a, b and c are (rows, 4)");
        require(of_b.rows == of_a.rows && (!of_c || of_c->rows <= of_a.rows), "A and B have the same rows, C no more");
        nb::gil_scoped_release release;
        return evaluate_constraints(of_a, of_b, of_c ? &*of_c : nullptr, view<Fr>(z), z.shape(0), view<Fr>(out_a),
                                    view<Fr>(out_b), view<Fr>(out_c), threads);
    });
}

void run_hadamard(const std::string& curve, Limbs a, Limbs b, LimbsOut out, unsigned threads) {
    const size_t n = out.shape(0);
    require(a.shape(0) == n && b.shape(0) == n, "a, b and out have one length");
    require(a.shape(1) == 4 && b.shape(1) == 4 && out.shape(1) == 4, "a, b and out are (n, 4)");
    with_curve(curve, [&](auto c) {
        using Fr = typename decltype(c)::Fr;
        nb::gil_scoped_release release;
        parallel_ranges(n, 4096, threads, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) view<Fr>(out)[i] = view<Fr>(a)[i] * view<Fr>(b)[i];
        });
    });
}

void run_msm(const std::string& curve, bool g2, Limbs bases, Limbs scalars, LimbsOut out, unsigned threads) {
    const size_t n = bases.shape(0);
    require(scalars.shape(0) == n && scalars.shape(1) == 4, "scalars are (n, 4), one for each base");
    require(n < kMsmLimit, "too many bases for one call");
    with_curve(curve, [&](auto c) {
        using Curve = decltype(c);
        const size_t width = (g2 ? 4 : 2) * Curve::Fq::LIMBS64;
        require(bases.shape(1) == width && out.shape(0) == 1 && out.shape(1) == width, "a point has another width");
        nb::gil_scoped_release release;
        msm(Curve{}, g2, bases.data(), scalars.data(), n, out.data(), threads);
    });
}

// The heaps of threads that are gone keep what was worked in, more than a key takes.
void give_back_memory() {
#if defined(__GLIBC__)
    nb::gil_scoped_release release;
    malloc_trim(0);
#endif
}

}  // namespace

void bind_bulk(nb::module_& m) {
    using namespace nb::literals;
    m.def("ntt", &run_ntt, "curve"_a, "values"_a.noconvert(), "inverse"_a, "bellperson"_a, "threads"_a);
    m.def("quotient", &run_quotient, "curve"_a, "a"_a.noconvert(), "b"_a.noconvert(), "c"_a.noconvert(),
          "log_domain"_a, "out"_a.noconvert(), "scratch"_a.noconvert(), "bellperson"_a, "threads"_a);
    m.def("check_csr", &run_check_csr, "curve"_a, "row_ptr"_a.noconvert(), "cols"_a.noconvert(),
          "coeffs"_a.noconvert(), "values"_a.noconvert(), "columns"_a, "threads"_a);
    m.def("evaluate", &run_evaluate, "curve"_a, "row_ptr"_a.noconvert(), "cols"_a.noconvert(), "coeffs"_a.noconvert(),
          "values"_a.noconvert(), "z"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
    m.def("evaluate_constraints", &run_evaluate_constraints, "curve"_a, "a"_a, "b"_a, "c"_a.none(), "z"_a.noconvert(),
          "out_a"_a.noconvert(), "out_b"_a.noconvert(), "out_c"_a.noconvert(), "threads"_a);
    m.def("hadamard", &run_hadamard, "curve"_a, "a"_a.noconvert(), "b"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a);
    m.def("give_back_memory", &give_back_memory);
    m.def("msm", &run_msm, "curve"_a, "g2"_a, "bases"_a.noconvert(), "scalars"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a);
}

}  // namespace cuzkd
