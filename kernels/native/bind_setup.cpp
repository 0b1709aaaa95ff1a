// Bindings of what makes keys and reads constraint systems: sparse.hpp and fixed_base.hpp.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "fixed_base.hpp"
#include "sparse.hpp"

namespace cuzkd {
namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Modulus = nb::ndarray<const uint64_t, nb::shape<4>, nb::c_contig, nb::device::cpu>;
using IndicesOut = nb::ndarray<uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::tuple<int, uint64_t, int> r1cs_count(Bytes section, uint64_t constraints, uint32_t wires, Modulus modulus,
                                          LimbsOut row_ptr) {
    require(row_ptr.shape(0) == 3 && row_ptr.shape(1) == constraints + 1, "row_ptr is (3, constraints + 1)");
    uint64_t* rows[3];
    for (int m = 0; m < 3; ++m) rows[m] = row_ptr.data() + m * (constraints + 1);
    const R1csWalk walk(section.data(), section.shape(0), constraints, wires);
    nb::gil_scoped_release release;
    const auto fault = walk.count(rows, modulus.data());
    if (!fault) return {0, 0, 0};
    return {fault->kind, fault->constraint, fault->matrix};
}

void r1cs_fill(Bytes section, uint64_t constraints, uint32_t wires, IndicesOut a, IndicesOut b, IndicesOut c,
               LimbsOut a_values, LimbsOut b_values, LimbsOut c_values) {
    uint32_t* cols[3] = {a.data(), b.data(), c.data()};
    uint64_t* values[3] = {a_values.data(), b_values.data(), c_values.data()};
    const size_t capacity[3] = {a.shape(0), b.shape(0), c.shape(0)};
    const size_t rows[3] = {a_values.shape(0), b_values.shape(0), c_values.shape(0)};
    for (int m = 0; m < 3; ++m) require(capacity[m] == rows[m], "cols and values have one length");
    const R1csWalk walk(section.data(), section.shape(0), constraints, wires);
    nb::gil_scoped_release release;
    require(walk.fill(cols, values, capacity), "the section is not the one that was counted");
}

// Capsules, not a bound class: a class of the same name in the module's two builds would collide.
constexpr const char* kDictionary = "cuzkd.dictionary";

Dictionary& dictionary_of(const nb::capsule& capsule) {
    auto* dictionary = static_cast<Dictionary*>(capsule.data(kDictionary));
    if (!dictionary) throw nb::python_error();
    return *dictionary;
}

nb::capsule dictionary_new() {
    // A seed that a file's author cannot know keeps its values from colliding on purpose.
    auto* dictionary = new Dictionary(std::random_device{}());
    return nb::capsule(dictionary, kDictionary, [](void* p) noexcept { delete static_cast<Dictionary*>(p); });
}

// The number of values known afterwards.
size_t dictionary_code(const nb::capsule& capsule, Limbs values, IndicesOut codes) {
    require(values.shape(1) == 4 && values.shape(0) == codes.shape(0), "values are (n, 4), codes (n,)");
    Dictionary& dictionary = dictionary_of(capsule);
    nb::gil_scoped_release release;
    dictionary.code(values.data(), values.shape(0), codes.data());
    return dictionary.size();
}

void dictionary_values(const nb::capsule& capsule, size_t first, LimbsOut out) {
    const Dictionary& dictionary = dictionary_of(capsule);
    require(out.shape(1) == 4 && first <= dictionary.size() && out.shape(0) == dictionary.size() - first,
            "out is (known values from the first, 4)");
    std::copy(dictionary.table().begin() + 4 * first, dictionary.table().end(), out.data());
}

void fixed_base(const std::string& curve, bool g2, Limbs scalars, LimbsOut out, unsigned threads) {
    with_group(curve, g2, [&](auto c, auto point) {
        using Curve = decltype(c);
        using Point = decltype(point);
        require(scalars.shape(1) == 4, "scalars are (n, 4)");
        require(out.shape(0) == scalars.shape(0) && out.shape(1) == Point::LIMBS64, "out is (n, limbs of a point)");
        const size_t count = scalars.shape(0);
        nb::gil_scoped_release release;
        Point generator;
        if constexpr (Point::LIMBS64 == Curve::G2::LIMBS64)
            generator = Curve::generator2();
        else
            generator = Curve::generator1();
        const FixedBase table(generator, fixed_base_bits(count), threads);
        table.multiply(scalars.data(), count, out.data(), threads);
    });
}

}  // namespace

void bind_setup(nb::module_& m) {
    m.def("r1cs_count", &r1cs_count);
    m.def("r1cs_fill", &r1cs_fill);
    m.def("dictionary_new", &dictionary_new);
    m.def("dictionary_code", &dictionary_code);
    m.def("dictionary_values", &dictionary_values);
    m.def("fixed_base", &fixed_base);
}

}  // namespace cuzkd
