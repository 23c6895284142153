// SPDX-License-Identifier: Apache-2.0

// gosched - runtime.Gosched() among 1 to 65536 goroutines that all do nothing else.
//
// A Gosched is no switch where nobody else is ready. So each goroutine notes after it whether another of ours ran on its
// P meanwhile, and the cost is given per Gosched and per real switch.
//
// All goroutines run from the first batch to the last. Number 0 is the caller and the timekeeper: it yields like the
// others, and between two of its turns reads the clock and everybody's tally. A batch ends when enough turns were made
// and every goroutine made at least one.
//
// Known answer: one goroutine never switches; on one P two and more switch nearly always.
// Overhead: counting takes about 3 ns a turn; reading the tallies a few ns a goroutine and batch.
// Limits: with more than one P the cost is wall time times the Ps that the goroutines fill. The runtime takes the next ones
// from a linked list, each a miss where they no longer fit: 16384 of them took 0.14 to 0.65 us on a virtual machine, by who
// else used the last cache in that minute.
// Source: g_sched.go of shell909090/context (2014).
package main

import (
	"runtime"
	"sync/atomic"

	"steelyard/probe"
)

// Yields before the first batch, at the most: half a second of them.
const mixed = 2_000_000

type crowd struct {
	tally   []probe.Tally
	before  []uint64 // what each had done when the batch began
	lastRan probe.LastRan
	stop    atomic.Bool
	ended   chan struct{}
}

//go:noinline
func (crowd *crowd) yieldTimes(index int, times uint64) {
	mine := &crowd.tally[index]
	for i := uint64(0); i < times && !crowd.stop.Load(); i++ {
		runtime.Gosched()
		if crowd.lastRan.Switched(index) {
			mine.Switches++
		}
		mine.Operations++
	}
}

func (crowd *crowd) body(index int) {
	crowd.yieldTimes(index, ^uint64(0))
	crowd.ended <- struct{}{}
}

type reading struct {
	yields, switches uint64
	everyone         bool // nobody stands where they stood in `before`
}

//go:noinline
func (crowd *crowd) read() reading {
	now := reading{everyone: true}
	for i := range crowd.tally {
		yields := crowd.tally[i].Operations
		now.yields += yields
		now.switches += crowd.tally[i].Switches
		now.everyone = now.everyone && yields != crowd.before[i]
	}
	return now
}

// yieldUntil yields as often as falls to one goroutine of what is missing, until it is done and everyone took part.
func (crowd *crowd) yieldUntil(begin reading, yields uint64) (end reading, own uint64) {
	for done := uint64(0); ; done = end.yields - begin.yields {
		share := max((yields-min(yields, done))/uint64(len(crowd.tally)), 1)
		crowd.yieldTimes(0, share)
		own += share
		end = crowd.read()
		if end.yields-begin.yields >= yields && end.everyone {
			return end, own
		}
	}
}

func setup(run *probe.Run) probe.Batch {
	goroutines := run.Int("contexts")
	crowd := &crowd{
		tally:   make([]probe.Tally, goroutines),
		before:  make([]uint64, goroutines),
		lastRan: probe.NewLastRan(run),
		ended:   make(chan struct{}, goroutines),
	}
	for i := 1; i < goroutines; i++ {
		go crowd.body(i)
	}
	// Nobody's first turn, with its page faults, falls into a batch; and thousands of goroutines run in the order in
	// which their stacks lie until some hundred turns have mixed them: their first batches are up to twice as cheap.
	crowd.yieldUntil(crowd.read(), max(uint64(goroutines), min(128*uint64(goroutines), mixed)))
	run.AtEnd(func() {
		crowd.stop.Store(true)
		for i := 1; i < goroutines; i++ {
			<-crowd.ended
		}
	})
	lanes := min(goroutines, len(run.CPUs))
	return func(operations uint64, value *probe.Value) {
		value.Lanes = lanes
		value.Start()
		// What Start did may have let the others run: a turn of its own, and the timekeeper begins beside them.
		crowd.yieldTimes(0, 1)
		for i := range crowd.tally {
			crowd.before[i] = crowd.tally[i].Operations
		}
		ownBefore, began := crowd.tally[0].Operations, probe.Now()
		begin := crowd.read()
		end, own := crowd.yieldUntil(begin, operations)
		ended := probe.Now()
		value.Stop()
		value.Wall = ended - began
		value.Operations = end.yields - begin.yields
		// Proof: the timekeeper made its own turns, and everyone's tally has moved.
		if end.everyone && crowd.tally[0].Operations-ownBefore == own {
			value.Count("checked", value.Operations)
		} else {
			value.Count("checked", 0)
		}
		value.Count("switches", end.switches-begin.switches)
	}
}

func main() {
	probe.Main(probe.Probe{
		Title:      "goroutine",
		Question:   "What does runtime.Gosched() cost among many goroutines, and how often does it switch?",
		Operation:  "one runtime.Gosched() call of one goroutine, whether it switched or not",
		Source:     "shell909090/context g_sched.go (2014): about 250 ns among 16384",
		Statistic:  "lower_quartile",
		Placements: []string{"same", "cross"},
		Uses:       []string{"cpu", "sched"},
		Family:     "turn",
		Metrics: []probe.Metric{
			{"yield", "s", "lower", "wall", "operations", "time of one Gosched on a P"},
			{"real_switch", "s", "lower", "wall", "switches", "time a switch between two of the goroutines that happened"},
			{"switched_fraction", "1", "neither", "switches", "operations", "share of the calls that switched"},
		},
		Parameters: []probe.Parameter{
			probe.Integer{Name: "contexts", Doc: "goroutines that yield", Unit: "1",
				Sweep: []int{1, 2, 16, 256, 4096, 16384, 65536}, Brief: []int{1, 2, 256, 16384}, Min: 1, Max: 1 << 20},
		},
		Setup: setup,
	})
}
