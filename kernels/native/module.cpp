// The native module: what bindings.hpp lists, in one Python module whose name the build chooses.
#include "bindings.hpp"

#define MODULE(name, variable) NB_MODULE(name, variable)

MODULE(CUZKD_MODULE, m) {
#if defined(__ADX__) && defined(__BMI2__) && defined(__AVX2__) && defined(__FMA__) && defined(__x86_64__)
    m.attr("arithmetic") = "x86-64 with BMI2, ADX, AVX2 and FMA";
#else
    m.attr("arithmetic") = "portable";
#endif
    cuzkd::bind_field(m);
    cuzkd::bind_curve(m);
    cuzkd::bind_pairing(m);
    cuzkd::bind_bulk(m);
    cuzkd::bind_setup(m);
}
