// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// What the processor counted in a value, as probes/support/c/counters.h has it; of every thread of this process. Opened
// when all values have been timed, for batches that are run again for the counts alone.
const (
	countedValues     = 3 // counts vary little: three tell an outlier
	mostTasks         = 128
	typeHardware      = 0     // PERF_TYPE_HARDWARE
	typeSoftware      = 1     // PERF_TYPE_SOFTWARE
	bothTimes         = 1 | 2 // PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
	inherit           = 1 << 1
	excludeKernel     = 1 << 5
	excludeHypervisor = 1 << 6
	closeOnExec       = 8 // PERF_FLAG_FD_CLOEXEC
)

// eventAttributes is the kernel's perf_event_attr of the first size that it had.
type eventAttributes struct {
	kind, size                            uint32
	config, period, sample, format, flags uint64
	wakeup, breakpoint                    uint32
	config1                               uint64
}

type event struct {
	name   string
	config uint64
}

var hardware = []event{{"cycles", 0}, {"instructions", 1}, {"branch_misses", 5}, {"cache_misses", 3}}
var software = []event{{"task_clock_ns", 1}, {"page_faults", 2}, {"context_switches", 3}}

// counter is a count, the time for which it was enabled and the time for which it was counted.
type counter [3]uint64

type counters struct {
	files  map[string][]int
	scope  string
	absent string // why nothing is counted, or which events are missing
}

// counting is set while batches are run again for the counters.
var counting *counters

// openCounters opens every event for every thread. What it returns has no files where nothing can be counted.
func openCounters() *counters {
	wanted := os.Getenv("STEELYARD_COUNTERS")
	if wanted == "off" {
		return &counters{absent: "turned off by STEELYARD_COUNTERS"}
	}
	kind, events, what := uint32(typeHardware), hardware, "hardware"
	if wanted == "software" {
		kind, events, what = typeSoftware, software, "software"
	}
	tasks := threads()
	if len(tasks) > mostTasks {
		return &counters{absent: fmt.Sprintf(
			"more than %d contexts are not counted: reading so many counters would take too long", mostTasks)}
	}
	opened, who := openAll(kind, inherit, events, tasks), "user and kernel"
	if opened.files == nil && opened.refused {
		// What an ordinary user may count of itself.
		opened, who = openAll(kind, inherit|excludeKernel|excludeHypervisor, events, tasks), "user only"
	}
	if opened.files != nil {
		opened.scope = what + ", " + who
	}
	return &opened.counters
}

type attempt struct {
	counters
	refused bool
}

func openAll(kind uint32, flags uint64, events []event, tasks []int) attempt {
	files := map[string][]int{}
	var missing []string
	var first, last syscall.Errno
	for _, event := range events {
		opened, err := openEverywhere(kind, flags, event.config, tasks)
		if err == 0 {
			files[event.name] = opened
			continue
		}
		missing, last = append(missing, event.name), err
		if first == 0 {
			first = err
		}
		if err == syscall.EACCES || err == syscall.EPERM || err == syscall.EMFILE {
			break
		}
	}
	refused := first == syscall.EACCES || first == syscall.EPERM
	if len(files) == 0 {
		return attempt{counters{absent: whyAbsent(first)}, refused}
	}
	if len(missing) > 0 {
		return attempt{counters{files: files, absent: strings.Join(missing, ", ") + ": " + last.Error()}, refused}
	}
	return attempt{counters{files: files}, refused}
}

// openEverywhere opens one event for every task, or for none.
func openEverywhere(kind uint32, flags, config uint64, tasks []int) ([]int, syscall.Errno) {
	attributes := eventAttributes{kind: kind, config: config, format: bothTimes, flags: flags}
	attributes.size = uint32(unsafe.Sizeof(attributes))
	var files []int
	for _, task := range tasks {
		file, _, err := syscall.RawSyscall6(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attributes)),
			uintptr(task), ^uintptr(0), ^uintptr(0), closeOnExec, 0)
		if err == syscall.ESRCH {
			continue // a thread of the runtime's own may end while we look
		}
		if err != 0 {
			closeAll(files)
			return nil, err
		}
		files = append(files, int(file))
	}
	return files, 0
}

func whyAbsent(err syscall.Errno) string {
	switch err {
	case syscall.EACCES, syscall.EPERM:
		return fmt.Sprintf("counting is not permitted here (%v): sysctl kernel.perf_event_paranoid=2 or less permits it; a "+
			"container needs perf_event_open in its seccomp profile", err)
	case syscall.EMFILE, syscall.ENFILE:
		return fmt.Sprintf("too many open files to count so many contexts (%v): a higher ulimit -n permits it", err)
	}
	return fmt.Sprintf("the machine has no such counters (%v): virtual machines have them only where the host passes them on",
		err)
}

func (counters *counters) read() map[string]counter {
	if counters == nil {
		return nil
	}
	counted := map[string]counter{}
	for name, files := range counters.files {
		var sum counter
		for _, file := range files {
			var bytes [24]byte
			if read, err := syscall.Read(file, bytes[:]); err != nil || read != len(bytes) {
				Fail("cannot read the counter %s: %v", name, err)
			}
			for i := range sum {
				sum[i] += binary.NativeEndian.Uint64(bytes[8*i:])
			}
		}
		counted[name] = sum
	}
	return counted
}

func closeAll(files []int) {
	for _, file := range files {
		_ = syscall.Close(file)
	}
}

// counted is what was counted in a batch that was run again.
type counted struct {
	Operations uint64             `json:"operations"`
	Events     map[string]counter `json:"events"`
}

// since is what was counted between an earlier reading and this one.
func since(before, now map[string]counter) map[string]counter {
	difference := map[string]counter{}
	for name, last := range now {
		for i := range last {
			last[i] -= before[name][i]
		}
		difference[name] = last
	}
	return difference
}

// countValues runs batches like those that were timed, with the counters open.
func countValues(batch Batch, operations uint64, values []*Value) *counters {
	opened := openCounters()
	if opened.files == nil {
		return opened
	}
	counting = opened
	for i := 0; i < len(values) && i < countedValues; i++ {
		again := runBatch(batch, operations)
		values[i].counters = &counted{again.Operations, again.events}
	}
	counting = nil
	for _, files := range opened.files {
		closeAll(files)
	}
	return opened
}
