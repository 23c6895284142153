// SPDX-License-Identifier: Apache-2.0
// The stackful switch on x86-64, System V ABI.
//
// Register map (psABI 1.0, figure 3.4, "preserved across function calls"):
//   rsp, rip, rbp     exchanged with the point
//   rbx               exchanged with clang, which keeps it as base pointer of frames with over-aligned locals and then
//                     ignores a clobber; a clobber with gcc
//   r12 - r15         clobbers: the compiler saves those that are live where the switch is inlined, usually none
//   rdi               address of the point, the same on both sides; first argument of the entry function
//   all others        caller-saved, clobbers
//   mxcsr, x87 cw     control bits: they stay the thread's unless the context asks for its own (context.hpp)
//
// No push: the code may be inlined into a leaf function that uses its red zone. jmp, not ret: a ret to another place
// than its call's is mispredicted every time (five times slower where that was measured).
#pragma once

namespace coro::detail
{

// Where a stack goes on. Holds the other side: of a suspended context where it stopped, of a running one its resumer.
struct point {
    void *sp;
    void *ip;
    void *fp;
    void *base;
};

#if defined(__CET__) && (__CET__ & 1)
#define CORO_LANDING "endbr64\n\t"
#else
#define CORO_LANDING ""
#endif

// Goes on where the point says, and leaves in the point where this side goes on when somebody exchanges again.
// Returns its argument: it comes back in a register, while everything else must be fetched from the stack again.
[[gnu::always_inline]] inline point *exchange(point *place) noexcept
{
    asm volatile("leaq 1f(%%rip), %%rax\n\t"
                 "movq 0(%%rdi), %%rcx\n\t"
                 "movq 8(%%rdi), %%rdx\n\t"
                 "movq 16(%%rdi), %%rsi\n\t"
#ifdef __clang__
                 "movq 24(%%rdi), %%r8\n\t"
                 "movq %%rbx, 24(%%rdi)\n\t"
                 "movq %%r8, %%rbx\n\t"
#endif
                 "movq %%rsp, 0(%%rdi)\n\t"
                 "movq %%rax, 8(%%rdi)\n\t"
                 "movq %%rbp, 16(%%rdi)\n\t"
                 "movq %%rcx, %%rsp\n\t"
                 "movq %%rsi, %%rbp\n\t"
                 "jmpq *%%rdx\n\t"
                 "1:\n\t" CORO_LANDING
                 : "+D"(place)
                 :
                 : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
#ifndef __clang__
                   "rbx",
#endif
                   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                   "xmm12", "xmm13", "xmm14", "xmm15",
#ifdef __AVX512F__
                   "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
                   "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#endif
                   "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7", "st", "st(1)", "st(2)", "st(3)", "st(4)",
                   "st(5)", "st(6)", "st(7)", "cc", "memory");
    return place;
}

#undef CORO_LANDING

// A point at which `entry(place)` begins on the stack that ends at `top`. pre: top is a multiple of 16.
inline void start_at(point &place, void *top, void (*entry)(point *)) noexcept
{
    // A zero return address and a zero frame pointer end every backtrace here.
    void **sp = static_cast<void **>(top) - 1;
    *sp = nullptr;
    place = {sp, reinterpret_cast<void *>(entry), nullptr, nullptr};
}

// For the head of the entry function: its caller's frame does not exist.
#define CORO_OUTERMOST_FRAME() asm volatile(".cfi_undefined rip")

// Control bits that a called function must leave as they were (psABI 3.2.1).
struct float_control {
    unsigned mxcsr;
    unsigned short x87;

    static float_control of_thread() noexcept
    {
        float_control now;
        asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(now.mxcsr), "=m"(now.x87));
        return now;
    }
    void apply() const noexcept
    {
        asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
    }
};

} // namespace coro::detail
