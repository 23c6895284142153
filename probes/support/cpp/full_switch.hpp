/* SPDX-License-Identifier: Apache-2.0
 * full_switch.hpp - a switch of stacks that is a function of its own and keeps every register that a call keeps.
 *
 * As Boost.Context's jump and what is made after it: six registers, the control words of both floating-point units and
 * the place to go on are pushed and popped, whether they are in use or not. coro's own switch (detail/point_*.hpp) is
 * inlined, and the compiler saves what is live. */
#ifndef STEELYARD_FULL_SWITCH_HPP
#define STEELYARD_FULL_SWITCH_HPP

#include "probe.hpp"

#include <cstddef>

/* Leaves this stack, noting in *left_at where, and goes on where `go_on_at` was left. Comes back when somebody goes on
 * at *left_at; returns the argument that they gave. */
extern "C" void *steelyard_switch_stacks(void **left_at, void *go_on_at, void *argument) noexcept;

#if defined(__x86_64__)
/* jmp, not ret: a ret to another place than its call's is mispredicted every time. */
asm(".text\n"
    ".p2align 4\n"
    ".type steelyard_switch_stacks, @function\n"
    "steelyard_switch_stacks:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    subq $8, %rsp\n"
    "    stmxcsr (%rsp)\n"
    "    fnstcw 4(%rsp)\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    ldmxcsr (%rsp)\n"
    "    fldcw 4(%rsp)\n"
    "    addq $8, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    popq %rcx\n"
    "    movq %rdx, %rax\n"
    "    movq %rdx, %rdi\n"
    "    jmpq *%rcx\n"
    ".size steelyard_switch_stacks, . - steelyard_switch_stacks\n");

/* What *left_at would hold of a stack that is about to begin entry(argument). pre: top is a multiple of 16. */
inline void *switch_begin_at(void *top, void (*entry)(void *)) noexcept
{
    constexpr int words = 9; /* the control words, six registers, where to go on, and a return address of nowhere */
    auto *word = static_cast<std::uint64_t *>(top) - words;
    for (int i = 0; i < words; i++)
        word[i] = 0;
    asm volatile("stmxcsr (%0)\n\tfnstcw 4(%0)" : : "r"(word) : "memory");
    word[7] = reinterpret_cast<std::uint64_t>(entry);
    return word;
}
#elif defined(__aarch64__)
asm(".text\n"
    ".p2align 4\n"
    ".type steelyard_switch_stacks, %function\n"
    "steelyard_switch_stacks:\n"
    "    sub sp, sp, #176\n"
    "    stp d8, d9, [sp, #0]\n    stp d10, d11, [sp, #16]\n    stp d12, d13, [sp, #32]\n    stp d14, d15, [sp, #48]\n"
    "    stp x19, x20, [sp, #64]\n    stp x21, x22, [sp, #80]\n    stp x23, x24, [sp, #96]\n"
    "    stp x25, x26, [sp, #112]\n    stp x27, x28, [sp, #128]\n    stp x29, x30, [sp, #144]\n"
    "    mrs x4, fpcr\n    str x4, [sp, #160]\n"
    "    mov x4, sp\n    str x4, [x0]\n"
    "    mov sp, x1\n"
    "    ldr x4, [sp, #160]\n    msr fpcr, x4\n"
    "    ldp d8, d9, [sp, #0]\n    ldp d10, d11, [sp, #16]\n    ldp d12, d13, [sp, #32]\n    ldp d14, d15, [sp, #48]\n"
    "    ldp x19, x20, [sp, #64]\n    ldp x21, x22, [sp, #80]\n    ldp x23, x24, [sp, #96]\n"
    "    ldp x25, x26, [sp, #112]\n    ldp x27, x28, [sp, #128]\n    ldp x29, x4, [sp, #144]\n"
    "    mov x30, x4\n"
    "    add sp, sp, #176\n"
    "    mov x0, x2\n"
    "    br x4\n"
    ".size steelyard_switch_stacks, . - steelyard_switch_stacks\n");

inline void *switch_begin_at(void *top, void (*entry)(void *)) noexcept
{
    constexpr int words = 22;
    auto *word = static_cast<std::uint64_t *>(top) - words;
    for (int i = 0; i < words; i++)
        word[i] = 0;
    word[19] = reinterpret_cast<std::uint64_t>(entry);
    asm volatile("mrs %0, fpcr" : "=r"(word[20]));
    return word;
}
#else
#error "full_switch.hpp knows x86-64 and AArch64: coro, which all these probes need, has no other either"
#endif

#endif
