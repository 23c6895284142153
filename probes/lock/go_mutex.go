// SPDX-License-Identifier: Apache-2.0

// go_mutex - one sync.Mutex that 1 to 65536 goroutines take and release in a loop.
//
// Go's mutex is not fair: whoever releases it wakes a waiter and has taken it again before that one runs. So on one P
// this measures an uncontended pair, and changed_fraction says so; lock/go_handoff must change its owner. A waiter that
// has waited for a millisecond turns the mutex to its fair mode, which ends when the line is short.
//
// All goroutines run from the first batch to the last. A batch's bounds are taken inside the lock, by whoever has it
// then: the one who asks for them stays outside, for as one more waiter it would turn the mutex to its fair mode.
//
// Known answer: one goroutine never changes the owner; the guarded number equals the sum of the goroutines' own counts.
// Overhead: the bookkeeping inside the lock, about 3 ns a pair.
// Limits: a batch may hold few time slices of 10 ms, and then the owners are few. Whoever ends a batch yields once.
// Source: g_lock.go of shell909090/context (2014), which took every pair for a switch; sync/mutex.go of Go for the two
// modes.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"steelyard/probe"
)

// guarded is what the mutex guards.
type guarded struct {
	pairs, changes uint64
	owner          int
	first, last    mark
	lastAt         uint64 // the number of pairs that ends the batch; 0 when there is none
}

type mark struct {
	pairs, changes uint64
	clock          time.Duration
}

type contest struct {
	mutex   sync.Mutex
	guarded guarded
	tally   []probe.Tally
	wanted  atomic.Uint64 // pairs of the batch that is asked for
	finish  chan struct{}
	stop    atomic.Bool
	ended   chan struct{}
}

func (guarded *guarded) mark() mark { return mark{guarded.pairs, guarded.changes, probe.Now()} }

// body takes and releases the lock until it is told to stop.
//
//go:noinline
func (contest *contest) body(index int) {
	guarded := &contest.guarded
	mine := &contest.tally[index]
	for !contest.stop.Load() {
		contest.mutex.Lock()
		if guarded.owner != index {
			guarded.changes++
			guarded.owner = index
		}
		guarded.pairs++
		mine.Operations++
		finished := false
		if guarded.pairs == guarded.lastAt {
			guarded.last, guarded.lastAt, finished = guarded.mark(), 0, true
		} else if wanted := contest.wanted.Load(); wanted != 0 {
			contest.wanted.Store(0)
			guarded.first, guarded.lastAt = guarded.mark(), guarded.pairs+wanted
		}
		contest.mutex.Unlock()
		if finished {
			contest.finish <- struct{}{}
			runtime.Gosched() // the next batch need not wait until this one is preempted
		}
	}
	contest.ended <- struct{}{}
}

func (contest *contest) sum() (pairs uint64) {
	for i := range contest.tally {
		pairs += contest.tally[i].Operations
	}
	return pairs
}

func setup(run *probe.Run) probe.Batch {
	goroutines := run.Int("contexts")
	contest := &contest{
		tally:  make([]probe.Tally, goroutines),
		finish: make(chan struct{}, 1),
		ended:  make(chan struct{}, goroutines),
	}
	contest.guarded.owner = -1
	for i := 0; i < goroutines; i++ {
		go contest.body(i)
	}
	run.AtEnd(func() {
		contest.stop.Store(true)
		for i := 0; i < goroutines; i++ {
			<-contest.ended
		}
		if sum := contest.sum(); sum != contest.guarded.pairs {
			probe.Fail("the goroutines took the lock %d times and the number it guards is %d", sum, contest.guarded.pairs)
		}
	})
	return func(operations uint64, value *probe.Value) {
		sum := contest.sum()
		value.Start()
		contest.wanted.Store(operations)
		<-contest.finish
		value.Stop()
		first, last := contest.guarded.first, contest.guarded.last
		value.Wall = last.clock - first.clock
		value.Operations = last.pairs - first.pairs
		// Proof: the goroutines' own counts have grown by as much at least, for they ran before and after as well.
		if contest.sum()-sum >= value.Operations {
			value.Count("checked", value.Operations)
		} else {
			value.Count("checked", 0)
		}
		value.Count("owner_changes", last.changes-first.changes)
	}
}

func main() {
	probe.Main(probe.Probe{
		Title:      "Go mutex",
		Question:   "What does Go's mutex cost that many goroutines take, and how often does its owner change?",
		Operation:  "one acquisition and release by any of the goroutines; wall time of all together",
		Source:     "shell909090/context g_lock.go (2014): a little over 30 ns among few goroutines, 20 ns among many",
		Statistic:  "median",
		Placements: []string{"same", "cross"},
		Uses:       []string{"cpu", "sched"},
		Family:     "pair",
		Metrics: []probe.Metric{
			{"lock_pair", "s", "lower", "wall", "operations", "time from one acquisition to the next, whoever has it"},
			{"owner_change", "s", "lower", "wall", "owner_changes", "time from one change of the owner to the next"},
			{"changed_fraction", "1", "neither", "owner_changes", "operations",
				"share of the acquisitions by another goroutine than the one before"},
		},
		Parameters: []probe.Parameter{
			probe.Integer{Name: "contexts", Doc: "goroutines that take the lock", Unit: "1",
				Sweep: []int{1, 2, 16, 64, 256, 1024, 4096}, Brief: []int{1, 2, 256}, Min: 1, Max: 65536},
		},
		Setup: setup,
	})
}
