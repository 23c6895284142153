// SPDX-License-Identifier: Apache-2.0
// The stackful switch on AArch64, AAPCS64.
//
// Register map (AAPCS64, 6.1.1 and 6.1.2):
//   sp, pc, x29       exchanged with the point
//   x19               exchanged with clang, which keeps it as base pointer of frames with over-aligned locals and then
//                     ignores a clobber; a clobber with gcc
//   x20 - x28         clobbers: the compiler saves those that are live where the switch is inlined, usually none
//   v8 - v15          only their low halves are preserved; clobbers as a whole
//   x18               a temporary on Linux, which gcc uses: a clobber (reserved only under -ffixed-x18, which still
//   holds) x0                address of the point, the same on both sides; first argument of the entry function x30
//   zero after the switch, so that a backtrace of an entry function ends; a clobber all others        caller-saved,
//   clobbers fpcr              stays the thread's unless the context asks for its own (context.hpp)
//
// The jump goes through x17: with BTI a `br x17` may land on `bti c`, which an entry function has, and on `bti j`.
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

// Goes on where the point says, and leaves in the point where this side goes on when somebody exchanges again.
// Returns its argument: it comes back in a register, while everything else must be fetched from the stack again.
[[gnu::always_inline]] inline point *exchange(point *place) noexcept
{
    register point *x0 asm("x0") = place;
    asm volatile("adr x1, 1f\n\t"
                 "ldp x2, x17, [x0]\n\t"
                 "mov x3, sp\n\t"
                 "stp x3, x1, [x0]\n\t"
                 "ldp x4, x5, [x0, #16]\n\t"
#ifdef __clang__
                 "stp x29, x19, [x0, #16]\n\t"
                 "mov x19, x5\n\t"
#else
                 "str x29, [x0, #16]\n\t"
#endif
                 "mov x29, x4\n\t"
                 "mov sp, x2\n\t"
                 "mov x30, xzr\n\t"
                 "br x17\n\t"
                 "1: hint #36\n\t" // bti j
                 : "+r"(x0)
                 :
                 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                   "x16", "x17", "x18",
#ifndef __clang__
                   "x19",
#endif
                   "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4",
                   "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19",
                   "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
    return x0;
}

// A point at which `entry(place)` begins on the stack that ends at `top`. pre: top is a multiple of 16.
inline void start_at(point &place, void *top, void (*entry)(point *)) noexcept
{
    place = {top, reinterpret_cast<void *>(entry), nullptr, nullptr};
}

// For the head of the entry function: its caller's frame does not exist.
#define CORO_OUTERMOST_FRAME() asm volatile(".cfi_undefined x30")

// Control bits that a called function must leave as they were (AAPCS64, 6.1.2).
struct float_control {
    unsigned long fpcr;

    static float_control of_thread() noexcept
    {
        float_control now;
        asm volatile("mrs %0, fpcr" : "=r"(now.fpcr));
        return now;
    }
    void apply() const noexcept
    {
        asm volatile("msr fpcr, %0" : : "r"(fpcr));
    }
};

} // namespace coro::detail
