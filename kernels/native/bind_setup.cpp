// Bindings of what makes keys and reads them and constraint systems: sparse.hpp, fixed_base.hpp, uncompressed.hpp.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "fixed_base.hpp"
#include "search.hpp"
#include "sparse.hpp"
#include "uncompressed.hpp"

namespace cuzkd {
namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BytesOut = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
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

void fixed_base(const std::string& curve, bool g2, Limbs base, Limbs scalars, LimbsOut out, unsigned threads) {
    with_group(curve, g2, [&](auto, auto point) {
        using Point = decltype(point);
        require(scalars.shape(1) == 4, "scalars are (n, 4)");
        require(base.shape(0) == 1 && base.shape(1) == Point::LIMBS64, "base is (1, limbs of a point)");
        require(out.shape(0) == scalars.shape(0) && out.shape(1) == Point::LIMBS64, "out is (n, limbs of a point)");
        const size_t count = scalars.shape(0);
        nb::gil_scoped_release release;
        const FixedBase table(Point::from_raw(base.data()), fixed_base_bits(count), threads);
        table.multiply(scalars.data(), count, out.data(), threads);
    });
}

// (index, fault) of the first point that is no finite point in bellperson's uncompressed form, or nothing.
std::optional<std::pair<size_t, int>> run_read_uncompressed(const std::string& curve, bool g2, Bytes data,
                                                            LimbsOut out, unsigned threads) {
    return with_group(curve, g2, [&](auto, auto point) -> std::optional<std::pair<size_t, int>> {
        using Point = decltype(point);
        require(out.shape(1) == Point::LIMBS64, "out is (n, limbs of a point)");
        require(data.shape(0) == out.shape(0) * Point::LIMBS64 * 8, "data has the bytes of n points");
        const size_t count = out.shape(0);
        nb::gil_scoped_release release;
        const auto bad = first_where(count, 1024, threads, [&](size_t i) {
            return read_uncompressed<Point>(data.data() + 8 * Point::LIMBS64 * i, out.data() + Point::LIMBS64 * i) !=
                   PointFault::none;
        });
        if (!bad) return std::nullopt;
        uint64_t room[Point::LIMBS64];
        const PointFault fault = read_uncompressed<Point>(data.data() + 8 * Point::LIMBS64 * *bad, room);
        return std::pair<size_t, int>(*bad, static_cast<int>(fault));
    });
}

void run_write_uncompressed(const std::string& curve, bool g2, Limbs points, BytesOut out, unsigned threads) {
    with_group(curve, g2, [&](auto, auto point) {
        using Point = decltype(point);
        require(points.shape(1) == Point::LIMBS64, "points are (n, limbs of a point)");
        require(out.shape(0) == points.shape(0) * Point::LIMBS64 * 8, "out has room for n points");
        const size_t count = points.shape(0);
        nb::gil_scoped_release release;
        parallel_ranges(count, 1024, threads, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                write_uncompressed(Point::from_raw(points.data() + Point::LIMBS64 * i),
                                   out.data() + 8 * Point::LIMBS64 * i);
        });
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
    m.def("read_uncompressed", &run_read_uncompressed);
    m.def("write_uncompressed", &run_write_uncompressed);
}

}  // namespace cuzkd
