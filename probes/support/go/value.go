// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Value is one timed batch.
type Value struct {
	Operations uint64        // preset to what was asked for; a batch that did another number says so here
	Wall       time.Duration // set by Stop; a batch that knows its bounds better sets it afterwards
	Lanes      int           // CPUs on which operations went on at the same time; preset to 1
	counts     map[string]uint64
	readings   map[string]float64
	timed      bool
	began      time.Duration
	before     used
	during     used
	events     map[string]counter // of a batch that is run for the counters
	counters   *counted           // of the batch that was run again for them
}

// used is what the process has used so far.
type used struct {
	user, system                   time.Duration
	voluntary, involuntary, faults int64
	delay                          time.Duration
}

var origin = time.Now()

// now is CLOCK_MONOTONIC since the start of the process.
func now() time.Duration { return time.Since(origin) }

// Now is the clock of all values, for a batch that takes its own bounds.
func Now() time.Duration { return now() }

// Start begins the timed part: the clock is read last.
func (value *Value) Start() {
	value.timed = true
	if !oneByOne {
		value.before = usedSoFar()
		value.events = counting.read()
	}
	value.began = now()
}

// Stop ends the timed part: the clock is read first.
func (value *Value) Stop() {
	value.Wall = now() - value.began
	if oneByOne {
		return
	}
	value.events = since(value.events, counting.read())
	after, before := usedSoFar(), value.before
	value.during = used{
		after.user - before.user, after.system - before.system, after.voluntary - before.voluntary,
		after.involuntary - before.involuntary, after.faults - before.faults, after.delay - before.delay,
	}
}

// Count reports a fact of the value that is counted.
func (value *Value) Count(name string, count uint64) { value.counts[name] = count }

// Reading reports a fact of the value that is not counted.
func (value *Value) Reading(name string, reading float64) { value.readings[name] = reading }

func usedSoFar() used {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		Fail("cannot read the CPU time: %v", err)
	}
	return used{
		time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano()),
		int64(usage.Nvcsw), int64(usage.Nivcsw), int64(usage.Minflt), runDelay(),
	}
}

// runDelay is the time that threads were ready and did not run, of all of them: goroutines have no thread of their own.
// 0 where the kernel does not keep it.
func runDelay() time.Duration {
	sum := int64(0)
	for _, thread := range threads() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", thread))
		if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
			delay, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += delay
		}
	}
	return time.Duration(sum)
}
