// Bindings of point checks and small linear combinations.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <vector>

#include "bindings.hpp"
#include "complete.cuh"
#include "search.hpp"
#include "subgroup.cuh"
#include "subset_sums.hpp"

namespace cuzkd {
namespace {

// Points with a thread's share at a time: equations are cheap, subgroup checks dear.
constexpr size_t CURVE_GRAIN = 1024;
constexpr size_t SUBGROUP_GRAIN = 16;

template <class Point>
void require_points(const Limbs& points) {
    require(points.shape(1) == Point::LIMBS64, "points have another width");
}

std::optional<size_t> first_off_curve(const std::string& curve, bool g2, Limbs points, unsigned threads) {
    return with_group(curve, g2, [&](auto, auto p) {
        using Point = decltype(p);
        require_points<Point>(points);
        nb::gil_scoped_release release;
        return first_where(points.shape(0), CURVE_GRAIN, threads, [&](size_t i) {
            return !Point::from_raw(points.data() + Point::LIMBS64 * i).is_on_curve();
        });
    });
}

std::optional<size_t> first_outside_subgroup(const std::string& curve, bool g2, Limbs points, unsigned threads) {
    return with_group(curve, g2, [&](auto, auto p) {
        using Point = decltype(p);
        require_points<Point>(points);
        nb::gil_scoped_release release;
        return first_where(points.shape(0), SUBGROUP_GRAIN, threads, [&](size_t i) {
            const Point point = Point::from_raw(points.data() + Point::LIMBS64 * i);
            return !point.is_on_curve() || !in_subgroup(point);
        });
    });
}

using Choices = nb::ndarray<const uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void subset_sums(const std::string& curve, bool g2, Limbs points, Choices choices, unsigned bits, LimbsOut out,
                 unsigned threads) {
    with_group(curve, g2, [&](auto, auto p) {
        using Point = decltype(p);
        require_points<Point>(points);
        const size_t count = points.shape(0), passes = choices.shape(0);
        require(0 < bits && bits <= 16, "a choice has 1 to 16 bits");
        require(count < size_t{1} << 32, "too many points at once");
        require(choices.shape(1) == count, "choices are (passes, points)");
        require(out.shape(0) == passes * bits && out.shape(1) == Point::LIMBS64, "out is (passes * bits, limbs)");
        nb::gil_scoped_release release;
        const unsigned workers = static_cast<unsigned>(std::min<size_t>(std::max(threads, 1u), std::max<size_t>(passes, 1)));
        std::vector<SubsetSums<Point>> rooms(workers);
        parallel_for(passes, workers, [&](size_t pass, unsigned worker) {
            Point sums[16];
            rooms[worker].sum(points.data(), count, choices.data() + pass * count, bits, sums);
            for (unsigned b = 0; b < bits; b++) sums[b].to_raw(out.data() + Point::LIMBS64 * (pass * bits + b));
        });
    });
}

void combine(const std::string& curve, bool g2, Limbs points, Limbs scalars, LimbsOut out, bool secret) {
    with_group(curve, g2, [&](auto, auto p) {
        using Point = decltype(p);
        require_points<Point>(points);
        require(scalars.shape(1) == 4 && scalars.shape(0) == points.shape(0), "scalars are (n, 4), one a point");
        require(out.shape(0) == 1 && out.shape(1) == Point::LIMBS64, "out is one point");
        nb::gil_scoped_release release;
        std::vector<Point> loaded;
        loaded.reserve(points.shape(0));
        for (size_t i = 0; i < points.shape(0); i++) {
            loaded.push_back(Point::from_raw(points.data() + Point::LIMBS64 * i));
            require(loaded.back().x.is_canonical() && loaded.back().y.is_canonical(), "a coordinate is not below q");
        }
        const u64* k = scalars.data();
        const Point sum = secret ? combine_secret(loaded.data(), k, loaded.size())
                                 : combine_public(loaded.data(), k, loaded.size());
        sum.to_raw(out.data());
    });
}

}  // namespace

void bind_curve(nb::module_& m) {
    using namespace nb::literals;
    m.def("first_off_curve", &first_off_curve, "curve"_a, "g2"_a, "points"_a, "threads"_a);
    m.def("first_outside_subgroup", &first_outside_subgroup, "curve"_a, "g2"_a, "points"_a, "threads"_a);
    m.def("subset_sums", &subset_sums, "curve"_a, "g2"_a, "points"_a, "choices"_a, "bits"_a, "out"_a, "threads"_a);
    m.def("combine", &combine, "curve"_a, "g2"_a, "points"_a, "scalars"_a, "out"_a, "secret"_a);
}

}  // namespace cuzkd
