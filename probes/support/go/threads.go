// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const cpuSetWords = 1024 / 64

type cpuSet [cpuSetWords]uint64

func allowedCPUs() []int {
	var set cpuSet
	if _, _, err := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set),
		uintptr(unsafe.Pointer(&set))); err != 0 {
		Fail("cannot read the CPU affinity: %v", err)
	}
	var cpus []int
	for cpu := 0; cpu < cpuSetWords*64; cpu++ {
		if set[cpu/64]&(1<<(cpu%64)) != 0 {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// pinAllThreads moves every thread of the process to a CPU. New threads inherit from the one that makes them, so it is
// done when a whole pass met none that had not been moved.
func pinAllThreads(cpu int) {
	var set cpuSet
	set[cpu/64] |= 1 << (cpu % 64)
	pinned := map[int]bool{}
	for met := -1; met != len(pinned); {
		met = len(pinned)
		for _, thread := range threads() {
			_, _, err := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(thread), unsafe.Sizeof(set),
				uintptr(unsafe.Pointer(&set)))
			if err != 0 && err != syscall.ESRCH {
				Fail("cannot move to CPU %d: %v", cpu, err)
			}
			pinned[thread] = true
		}
	}
}

// endAt ends the probe at its deadline. By the kernel's timer: a pending one of the runtime would have it look at the
// clock at every switch, a tenth of what a switch costs (benchmarks/peers/go_bench.py).
func endAt(deadline time.Duration) {
	expired := make(chan os.Signal, 1)
	signal.Notify(expired, syscall.SIGALRM)
	go func() {
		<-expired
		Fail("not finished within the deadline")
	}()
	timer := [4]int64{2: int64(deadline / time.Second), 3: int64(deadline % time.Second / time.Microsecond)}
	if _, _, err := syscall.RawSyscall(syscall.SYS_SETITIMER, 0, uintptr(unsafe.Pointer(&timer)), 0); err != 0 {
		Fail("cannot set the deadline: %v", err)
	}
}

// threads lists the threads of this process.
func threads() []int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		Fail("cannot list the threads: %v", err)
	}
	var found []int
	for _, entry := range entries {
		if thread, err := strconv.Atoi(entry.Name()); err == nil {
			found = append(found, thread)
		}
	}
	return found
}
