// Bindings of field arithmetic over arrays of elements.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "search.hpp"

namespace cuzkd {
namespace {

constexpr size_t GRAIN = 4096;

std::optional<size_t> first_noncanonical(const std::string& curve, Limbs scalars, unsigned threads) {
    require(scalars.shape(1) == 4, "scalars are (n, 4)");
    return with_curve(curve, [&](auto c) {
        using Fr = typename decltype(c)::Fr;
        nb::gil_scoped_release release;
        return first_where(scalars.shape(0), GRAIN, threads,
                           [&](size_t i) { return !Fr::from_raw(scalars.data() + 4 * i).is_canonical(); });
    });
}

template <class Fr>
void convert(Limbs in, LimbsOut out, bool to_montgomery, unsigned threads) {
    parallel_ranges(in.shape(0), GRAIN, threads, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; i++) {
            Fr x = Fr::from_raw(in.data() + 4 * i);
            (to_montgomery ? x.to_montgomery() : x.from_montgomery()).to_raw(out.data() + 4 * i);
        }
    });
}

void convert_scalars(const std::string& curve, Limbs in, LimbsOut out, bool to_montgomery, unsigned threads) {
    require(in.shape(1) == 4 && out.shape(1) == 4 && in.shape(0) == out.shape(0), "in and out are (n, 4)");
    with_curve(curve, [&](auto c) {
        nb::gil_scoped_release release;
        convert<typename decltype(c)::Fr>(in, out, to_montgomery, threads);
    });
}

template <class F>
F apply(const std::string& operation, const F& a, const F& b) {
    if (operation == "add") return a + b;
    if (operation == "sub") return a - b;
    if (operation == "mul") return a * b;
    if (operation == "sqr") return a.sqr();
    if (operation == "neg") return -a;
    if (operation == "dbl") return a.dbl();
    if (operation == "inverse") return a.inverse();
    if (operation == "inverse_fermat") return a.inverse_fermat();
    if (operation == "to_montgomery") return a.to_montgomery();
    if (operation == "from_montgomery") return a.from_montgomery();
    throw std::invalid_argument("unknown operation " + operation);
}

template <class F>
void elementwise_in(const std::string& operation, Limbs a, Limbs b, LimbsOut out) {
    constexpr size_t width = F::LIMBS64;
    require(a.shape(1) == width && b.shape(1) == width && out.shape(1) == width, "an element has another width");
    require(a.shape(0) == b.shape(0) && a.shape(0) == out.shape(0), "a, b and out have one length");
    for (size_t i = 0; i < a.shape(0); i++) {
        F x = F::from_raw(a.data() + width * i), y = F::from_raw(b.data() + width * i);
        require(x.is_canonical() && y.is_canonical(), "an element is not below the modulus");
        apply(operation, x, y).to_raw(out.data() + width * i);
    }
}

void elementwise(const std::string& curve, const std::string& field, const std::string& operation, Limbs a, Limbs b,
                 LimbsOut out) {
    with_curve(curve, [&](auto c) {
        using Curve = decltype(c);
        if (field == "fq")
            elementwise_in<typename Curve::Fq>(operation, a, b, out);
        else if (field == "fr")
            elementwise_in<typename Curve::Fr>(operation, a, b, out);
        else if (field == "fq2")
            elementwise_in<typename Curve::Fq2>(operation, a, b, out);
        else
            throw std::invalid_argument("unknown field " + field);
    });
}

}  // namespace

void bind_field(nb::module_& m) {
    using namespace nb::literals;
    m.def("first_noncanonical", &first_noncanonical, "curve"_a, "scalars"_a, "threads"_a);
    m.def("convert_scalars", &convert_scalars, "curve"_a, "scalars"_a, "out"_a, "to_montgomery"_a, "threads"_a);
    m.def("elementwise", &elementwise, "curve"_a, "field"_a, "operation"_a, "a"_a, "b"_a, "out"_a);
}

}  // namespace cuzkd
