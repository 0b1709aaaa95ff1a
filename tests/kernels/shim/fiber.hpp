// Fibers: stacks that are entered and left by hand. On x86-64 a switch saves the registers that a call preserves and
// takes some ten nanoseconds; elsewhere it is the system's swapcontext.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace shim {

constexpr size_t kStackBytes = 64 << 10;

#if defined(__x86_64__)

// Saves the caller's registers and stack pointer to *from, and goes on where `to` was saved.
extern "C" void cuzkd_shim_switch(void** from, void* to);
asm(R"(
    .text
    .local cuzkd_shim_switch
    .type cuzkd_shim_switch, @function
cuzkd_shim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cuzkd_shim_switch, .-cuzkd_shim_switch
)");

class Fiber {
  public:
    // Makes `entry(argument)` what the next `enter` runs; it must not return.
    void start(void (*entry)(void*), void*) {
        if (!stack_) stack_.reset(new unsigned char[kStackBytes]);
        uintptr_t top = reinterpret_cast<uintptr_t>(stack_.get() + kStackBytes) & ~uintptr_t{15};
        void** frame = reinterpret_cast<void**>(top) - 8;
        for (unsigned i = 0; i < 6; i++) frame[i] = nullptr;
        frame[6] = reinterpret_cast<void*>(entry);
        frame[7] = nullptr;  // the return address of `entry`: the stack is as a call leaves it
        inside_ = frame;
        *reinterpret_cast<uint64_t*>(stack_.get()) = kCanary;
    }
    void enter() {
        cuzkd_shim_switch(&outside_, inside_);
        if (*reinterpret_cast<uint64_t*>(stack_.get()) != kCanary) {
            std::fputs("a fiber's stack has overflowed\n", stderr);
            std::abort();
        }
    }
    void leave() { cuzkd_shim_switch(&inside_, outside_); }

  private:
    static constexpr uint64_t kCanary = 0x5afe57ac5afe57acull;
    std::unique_ptr<unsigned char[]> stack_;
    void* inside_ = nullptr;
    void* outside_ = nullptr;
};

#else

class Fiber {
  public:
    void start(void (*entry)(void*), void*) {
        if (!stack_) stack_.reset(new unsigned char[kStackBytes]);
        getcontext(&inside_);
        inside_.uc_stack.ss_sp = stack_.get();
        inside_.uc_stack.ss_size = kStackBytes;
        inside_.uc_link = nullptr;
        makecontext(&inside_, reinterpret_cast<void (*)()>(entry), 0);
    }
    void enter() { swapcontext(&outside_, &inside_); }
    void leave() { swapcontext(&inside_, &outside_); }

  private:
    std::unique_ptr<unsigned char[]> stack_;
    ucontext_t inside_, outside_;
};

#endif

}  // namespace shim
