// What the binding sources share: array types that nanobind checks, size checks, and the choice of a curve by name.
//
// A binding gets C-contiguous arrays of uint64 with two dimensions, (count, limbs); nanobind refuses others with
// TypeError, `require` the wrong sizes with ValueError.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "curve.cuh"

namespace cuzkd {

namespace nb = nanobind;

using Limbs = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using LimbsOut = nb::ndarray<uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// f(Curve{}) for the curve that snarkjs calls `name`.
template <class Function>
auto with_curve(const std::string& name, const Function& f) {
    if (name == "bn128") return f(Bn254{});
    if (name == "bls12381") return f(Bls12381{});
    throw std::invalid_argument("unknown curve " + name);
}

// f(Point{}) for the affine points of a group of a curve.
template <class Function>
auto with_group(const std::string& curve, bool g2, const Function& f) {
    return with_curve(curve, [&](auto c) {
        using Curve = decltype(c);
        return g2 ? f(Curve{}, typename Curve::G2{}) : f(Curve{}, typename Curve::G1{});
    });
}

void bind_field(nb::module_& m);
void bind_curve(nb::module_& m);
void bind_pairing(nb::module_& m);
void bind_bulk(nb::module_& m);
void bind_setup(nb::module_& m);

}  // namespace cuzkd
