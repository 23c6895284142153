// SPDX-License-Identifier: Apache-2.0

// goroutine - what a suspended goroutine takes of memory: its stack and the runtime's descriptor.
//
// All goroutines are made once, before the first batch, and wait in the line of one channel. In a batch each gets a
// number, counts and waits again: that is the proof that they are there, and its time is reported. Then the memory is read
// and compared with what it was before the first was made.
//
// Known answer: all are counted in each batch; a stack has at least 2 KiB.
// Overhead: the channel's entries of those who wait, about 100 bytes each, are in the figure, as in any program.
// Limits: goroutines that call deeper have larger stacks, which are copied to twice their size as they grow.
// Source: proc_pid_smaps(5); runtime/stack.go of Go.
package main

import (
	"runtime"

	"steelyard/probe"
)

func park(there <-chan uint64, back chan<- uint64) {
	for round := range there {
		back <- round
	}
}

//go:noinline
func resumeAll(there chan<- uint64, back <-chan uint64, goroutines int, round uint64) (right uint64) {
	for i := 0; i < goroutines; i++ {
		there <- round
		if <-back == round {
			right++
		}
	}
	return right
}

func setup(run *probe.Run) probe.Batch {
	goroutines := run.Int("contexts")
	there, back := make(chan uint64), make(chan uint64)
	runtime.GC() // what the start left behind does not hide what grows
	before := probe.MemoryNow()
	for i := 0; i < goroutines; i++ {
		go park(there, back)
	}
	round := uint64(0)
	resumeAll(there, back, goroutines, round) // all have begun to wait
	run.AtEnd(func() { close(there) })
	return func(_ uint64, value *probe.Value) {
		round++
		value.Operations = uint64(goroutines)
		value.Start()
		right := resumeAll(there, back, goroutines, round)
		value.Stop()
		value.Count("checked", right)
		value.CountMemory(before, probe.MemoryNow())
	}
}

func main() {
	probe.Main(probe.Probe{
		Title:      "goroutine",
		Question:   "What does a suspended goroutine take of memory?",
		Operation:  "one goroutine among many that wait, resumed and suspended again; memory is read while all wait",
		Source:     "proc_pid_smaps(5): Rss; runtime/stack.go: the smallest stack is 2 KiB",
		Statistic:  "median",
		Placements: []string{"same"},
		Uses:       []string{"cpu", "sched"},
		Metrics:    probe.MemoryMetrics(),
		Parameters: []probe.Parameter{
			probe.Integer{Name: "contexts", Doc: "goroutines that wait", Unit: "1", Sweep: []int{10_000, 100_000},
				Brief: []int{10_000}, Min: 23, Max: 2_000_000},
		},
		Setup: setup,
	})
}
