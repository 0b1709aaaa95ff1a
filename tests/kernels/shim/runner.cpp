// One module of kernels as a library: CUZKD_SHIM_SOURCE is its file, CUZKD_SHIM_KERNELS an ENTRY(name) for each kernel.
#include "shim.hpp"

#include CUZKD_SHIM_SOURCE

#define ENTRY(name) shim::Kernel<&name>::entry(#name),
static const shim::Entry kEntries[] = {CUZKD_SHIM_KERNELS};

// Runs a kernel; what is wrong, or nothing. `sizes` are the bytes of each argument as the caller sees it.
extern "C" const char* shim_launch(const char* name, const uint64_t* arguments, const unsigned char* sizes, unsigned count,
                                   const unsigned* grid, const unsigned* block, size_t shared_bytes, unsigned order) {
    std::string& error = shim::now().error;
    error.clear();
    for (const shim::Entry& entry : kEntries) {
        if (std::strcmp(entry.name, name) != 0) continue;
        unsigned char own[64];
        const unsigned taken = entry.sizes(own);
        if (taken != count) return error = "the kernel takes " + std::to_string(taken) + " arguments", error.c_str();
        for (unsigned i = 0; i < count; i++)
            if (own[i] != sizes[i])
                return error = "argument " + std::to_string(i) + " has " + std::to_string(own[i]) + " bytes", error.c_str();
        return entry.launch(arguments, {grid[0], grid[1], 1}, {block[0], block[1], 1}, shared_bytes, order) ? nullptr
                                                                                                      : error.c_str();
    }
    return error = "the module has no such kernel", error.c_str();
}
