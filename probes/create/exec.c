/* SPDX-License-Identifier: Apache-2.0
 * exec - a program of a given size, without a library, that ends at once: what execve() costs by how much there is to map
 * and how much of it is touched.
 *
 * The program is made here: a header of ELF, some instructions, and bytes up to the size. It lies in the page cache.
 *
 * Known answer: every child is waited for by its PID and must have returned the program's own code.
 * Overhead: the loop, nanoseconds against hundreds of microseconds.
 * Limits: no dynamic linker and no C library: create/spawn has both. What is timed is the spawn, the exec, the end and
 * the wait. The size is that of the mapping: what nobody touches is never read.
 * Assembly: spawn_all contains (call|bl)\s.*<posix_spawn
 * Source: execve(2), elf(5); lat_proc exec of lmbench (McVoy & Staelin, USENIX 1996). */
#define _GNU_SOURCE
#include <elf.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/stat.h>

#include "child.h"
#include "pages.h"

#define PROGRAM_CODE 42
#define PROGRAM_ADDRESS UINT64_C(0x400000)
#define SEGMENT_ALIGNMENT UINT64_C(0x10000) /* the largest page of those that know this layout */

/* Reads a byte every 4096 bytes, as often as the word at the end says, and ends with PROGRAM_CODE. It is copied, never
 * run here. */
extern const unsigned char program_begin[], program_times[], program_end[];
#if defined(__x86_64__)
#define MACHINE EM_X86_64
__asm__(".pushsection .rodata\n"
        ".balign 8\n"
        "program_begin: lea program_begin(%rip), %rsi\n"
        "mov program_times(%rip), %rcx\n"
        "1: movb (%rsi), %al\n"
        "add $4096, %rsi\n"
        "dec %rcx\n"
        "jnz 1b\n"
        "mov $42, %edi\n"
        "mov $231, %eax\n" /* exit_group */
        "syscall\n"
        ".balign 8\n"
        "program_times: .quad 0\n"
        "program_end:\n"
        ".popsection\n");
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
__asm__(".pushsection .rodata\n"
        ".balign 8\n"
        "program_begin: adr x1, program_begin\n"
        "ldr x2, program_times\n"
        "1: ldrb w3, [x1]\n"
        "add x1, x1, #4096\n"
        "subs x2, x2, #1\n"
        "b.ne 1b\n"
        "mov x0, #42\n"
        "mov x8, #94\n" /* exit_group */
        "svc #0\n"
        ".balign 8\n"
        "program_times: .quad 0\n"
        "program_end:\n"
        ".popsection\n");
#else
#define MACHINE EM_NONE
const unsigned char program_begin[1], program_times[1], program_end[1];
#endif

struct program {
    char path[64];
    int fd;
};

static __attribute__((noinline)) uint64_t spawn_all(const char *path, uint64_t times)
{
    static char name[] = "program";
    char *const arguments[] = {name, NULL}, *const environment[] = {NULL};
    uint64_t ended = 0;
    for (uint64_t i = 0; i < times; i++) {
        pid_t pid;
        int error = posix_spawn(&pid, path, NULL, NULL, arguments, environment);
        if (error)
            child_refused("posix_spawn()", error);
        ended += child_ended(pid, PROGRAM_CODE);
    }
    return ended;
}

/* The beginning of a file that file_of() has made of the whole size becomes the program. */
static void write_program(int fd, uint64_t bytes, uint64_t touches)
{
    struct { Elf64_Ehdr file; Elf64_Phdr segment; unsigned char code[128]; } image = {0};
    const size_t code_bytes = (size_t)(program_end - program_begin);
    const uint64_t entry = offsetof(__typeof__(image), code);
    memcpy(image.file.e_ident, ELFMAG, SELFMAG);
    image.file.e_ident[EI_CLASS] = ELFCLASS64;
    image.file.e_ident[EI_DATA] = ELFDATA2LSB;
    image.file.e_ident[EI_VERSION] = EV_CURRENT;
    image.file.e_type = ET_EXEC;
    image.file.e_machine = MACHINE;
    image.file.e_version = EV_CURRENT;
    image.file.e_entry = PROGRAM_ADDRESS + entry;
    image.file.e_phoff = sizeof image.file;
    image.file.e_ehsize = sizeof image.file;
    image.file.e_phentsize = sizeof image.segment;
    image.file.e_phnum = 1;
    image.segment = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = PROGRAM_ADDRESS,
                                 .p_paddr = PROGRAM_ADDRESS, .p_filesz = bytes, .p_memsz = bytes,
                                 .p_align = SEGMENT_ALIGNMENT};
    memcpy(image.code, program_begin, code_bytes);
    memcpy(image.code + (program_times - program_begin), &touches, sizeof touches);
    if (pwrite(fd, &image, sizeof image, 0) != (ssize_t)sizeof image || fchmod(fd, 0700) != 0)
        probe_skip("the program cannot be written in the working folder: %s", strerror(errno));
}

static void setup(struct probe_run *run)
{
    static struct program program;
    const uint64_t bytes = (uint64_t)probe_integer(run, "size");
    char writable[64];
    if (MACHINE == EM_NONE)
        probe_skip("this probe has a program for x86-64 and aarch64 alone");
    int fd = file_of(bytes);
    write_program(fd, bytes, probe_is(run, "touched", "all") ? bytes / 4096 : 1);
    /* Opened anew for reading alone: a file that somebody may write cannot be executed. */
    snprintf(writable, sizeof writable, "/proc/self/fd/%d", fd);
    program.fd = open(writable, O_RDONLY | O_CLOEXEC);
    if (program.fd < 0)
        probe_skip("the program cannot be opened: %s", strerror(errno));
    close(fd);
    snprintf(program.path, sizeof program.path, "/proc/self/fd/%d", program.fd);
    if (spawn_all(program.path, 1) != 1)
        probe_skip("a program that lies in the working folder does not run: start the probe in one that is not mounted noexec");
    run->state = &program;
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    const struct program *program = run->state;
    probe_start(value);
    uint64_t ended = spawn_all(program->path, operations);
    probe_stop(value);
    probe_count(value, "checked", ended);
}

static const struct probe exec_probe = {
    .title = "another program, by its size",
    .question = "What does it cost to run another program, by its size and by how much of it is touched?",
    .operation = "one posix_spawn() of a program without libraries that returns at once, and waitpid()",
    .source = "execve(2); lmbench lat_proc exec (McVoy & Staelin, USENIX 1996)",
    .statistic = "median",
    .placements = "same,free",
    .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){
        {"exec", "s", "lower", "wall", "operations", "time from the spawn to the known end of the program"},
        {"exec_cpu", "s", "lower", "cpu", "operations", "CPU time of parent and child for it"},
        {0}},
    .params = (const struct probe_param[]){
        {.name = "size", .doc = "bytes of the program", .unit = "B", .sweep = "4096,1048576,33554432", .brief = "4096,1048576",
         .min = 4096, .max = 67108864},
        {.name = "touched", .doc = "what the program reads of itself: its first page, or each", .choices = "first,all",
         .sweep = "first,all"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&exec_probe, argc, argv);
}
