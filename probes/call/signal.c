/* SPDX-License-Identifier: Apache-2.0
 * signal - a process sends itself a signal: a handler runs, or it is read from a descriptor; or a handler is installed.
 *
 * Known answer: a handler counts its runs, each signal that is read has the number it was sent with, and the system says
 * which handler was installed before.
 * Overhead: the loop, under 1 ns.  Limits: one thread, so the signal is there before the call that sends it returns, and
 * nobody is woken. A signal to another process is message/latency_signal.
 * Assembly: send_all contains (call|bl)\s.*<kill
 * Assembly: read_all contains (call|bl)\s.*<read
 * Assembly: install_all contains (call|bl)\s.*<(__)?sigaction
 * Source: lat_sig install and catch of lmbench (McVoy & Staelin 1996). */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "probe.h"

#define SIGNAL SIGUSR1

static volatile uint64_t caught;
static int descriptor = -1;

static void count(int signal_number)
{
    (void)signal_number;
    caught++;
}

static void count_too(int signal_number)
{
    count(signal_number);
}

static __attribute__((noinline)) uint64_t send_all(uint64_t times)
{
    const pid_t self = getpid();
    const uint64_t before = caught;
    for (uint64_t i = 0; i < times; i++)
        if (kill(self, SIGNAL) != 0)
            break;
    return caught - before;
}

static __attribute__((noinline)) uint64_t read_all(uint64_t times)
{
    const pid_t self = getpid();
    uint64_t right = 0;
    for (uint64_t i = 0; i < times; i++) {
        struct signalfd_siginfo info;
        const union sigval number = {.sival_int = (int)i};
        right += sigqueue(self, SIGNAL, number) == 0 && read(descriptor, &info, sizeof info) == sizeof info &&
                 info.ssi_int == number.sival_int;
    }
    return right;
}

/* Two handlers take turns, so that each call changes something. */
static __attribute__((noinline)) uint64_t install_all(uint64_t times)
{
    uint64_t right = 0;
    struct sigaction next = {.sa_handler = count_too}, before;
    sigaction(SIGNAL, &(struct sigaction){.sa_handler = count}, NULL);
    for (uint64_t i = 0; i < times; i++) {
        right += sigaction(SIGNAL, &next, &before) == 0 && before.sa_handler != next.sa_handler;
        next.sa_handler = before.sa_handler;
    }
    return right;
}

static void setup(struct probe_run *run)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    sigaction(SIGNAL, &(struct sigaction){.sa_handler = count}, NULL);
    if (!probe_is(run, "way", "descriptor")) {
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        return;
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    descriptor = signalfd(-1, &set, SFD_CLOEXEC);
    if (descriptor < 0)
        probe_skip("no descriptor for signals: %s", strerror(errno));
}

static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    uint64_t (*const way)(uint64_t) = probe_is(run, "way", "handler")      ? send_all
                                      : probe_is(run, "way", "descriptor") ? read_all
                                                                           : install_all;
    probe_start(value);
    uint64_t right = way(operations);
    probe_stop(value);
    probe_count(value, "checked", right);
}

static const struct probe signal_probe = {
    .title = "signal to oneself",
    .question = "What does a signal cost that a process sends itself, and what does it cost to install a handler?",
    .operation = "one kill() and the run of the handler; or one sigqueue() and the read() from a signalfd; or one sigaction()",
    .source = "lmbench, lat_sig install and catch (McVoy & Staelin 1996)",
    .statistic = "lower_quartile",
    .placements = "same",
    .uses = "cpu",
    .metrics = (const struct probe_metric[]){
        {"signal", "s", "lower", "wall", "operations", "time of one signal, or of one handler installed"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "way", .doc = "a handler runs; it is read from a descriptor; a handler is installed and nothing sent",
         .choices = "handler,descriptor,install", .sweep = "handler,descriptor,install"},
        {0}},
    .setup = setup,
    .batch = batch,
};

int main(int argc, char **argv)
{
    return probe_main(&signal_probe, argc, argv);
}
