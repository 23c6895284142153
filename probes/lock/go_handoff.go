// SPDX-License-Identifier: Apache-2.0

// go_handoff - sync.Mutex as a baton among 1 to 65536 goroutines in a ring: the owner must change with every pair.
//
// Each goroutine has a mutex of its own, which its predecessor unlocks; whoever has the baton unlocks its successor's and
// then locks its own, which is locked until the baton comes round. That is legal in Go, where a mutex has no owner. So a
// pair of Unlock and Lock holds a real switch, which the pair of lock/go_mutex does not.
//
// Known answer: from two goroutines on, changed_fraction is 1; with one it is 0.
// Overhead: the bookkeeping of the baton, about 2 ns a pair.
// Limits: only one goroutine is ever waited for by another, so that no mutex has more than one waiter.
// Source: the question of shell909090/context (2014) why a lock is cheaper than a channel, asked with a switch in each.
package main

import (
	"sync"
	"time"

	"steelyard/probe"
)

// baton is what is passed on; who has it may write all of it.
type baton struct {
	passes, last uint64 // how often it was taken, and at which number the batch ends
	changes      uint64
	owner        int
	began, ended time.Duration
	finish       chan struct{}
	stop         bool
}

type place struct {
	sync.Mutex
	_ [56]byte // a cache line of its own
}

//go:noinline
func runInRing(ring []place, index int, baton *baton) {
	mine, next := &ring[index], &ring[(index+1)%len(ring)]
	for {
		mine.Lock()
		if baton.stop {
			break
		}
		baton.passes++
		if baton.owner != index {
			baton.changes++
			baton.owner = index
		}
		if baton.passes == baton.last {
			baton.ended = probe.Now()
			baton.finish <- struct{}{} // and the baton rests, with the next locked, until the next batch
			continue
		}
		next.Unlock()
	}
	next.Unlock() // the stop goes round as well
	baton.finish <- struct{}{}
}

func setup(run *probe.Run) probe.Batch {
	ring := make([]place, run.Int("contexts"))
	baton := &baton{owner: -1, finish: make(chan struct{}, len(ring))}
	for i := range ring {
		ring[i].Lock()
		go runInRing(ring, i, baton)
	}
	pass := func(times uint64) {
		next := (baton.owner + 1) % len(ring) // whose turn it is when the baton rests
		baton.last = baton.passes + times
		baton.began = probe.Now()
		ring[next].Unlock()
		<-baton.finish
	}
	pass(uint64(2 * len(ring))) // all have started, and wait
	run.AtEnd(func() {
		baton.stop = true
		ring[(baton.owner+1)%len(ring)].Unlock()
		for range ring {
			<-baton.finish
		}
	})
	return func(operations uint64, value *probe.Value) {
		before, changes := baton.passes, baton.changes
		value.Start()
		pass(operations)
		value.Stop()
		value.Wall = baton.ended - baton.began
		value.Count("checked", baton.passes-before)
		value.Count("owner_changes", baton.changes-changes)
	}
}

func main() {
	probe.Main(probe.Probe{
		Title:      "Go mutex that changes hands",
		Question:   "What does handing over by Go's mutex cost, when every acquisition changes the owner?",
		Operation:  "one Unlock of the next goroutine's mutex and the end of its Lock; one way",
		Source:     "the question of shell909090/context g_lock.go and g_chan.go (2014), with a switch in each operation",
		Statistic:  "median",
		Placements: []string{"same", "cross"},
		Uses:       []string{"cpu", "sched"},
		Family:     "pair",
		Metrics: []probe.Metric{
			{"lock_pair", "s", "lower", "wall", "operations", "time from one acquisition to the next, each by the next goroutine"},
			{"owner_change", "s", "lower", "wall", "owner_changes", "time from one change of the owner to the next"},
			{"changed_fraction", "1", "neither", "owner_changes", "operations",
				"share of the acquisitions by another goroutine than the one before"},
		},
		Parameters: []probe.Parameter{
			probe.Integer{Name: "contexts", Doc: "goroutines in the ring", Unit: "1",
				Sweep: []int{1, 2, 16, 256, 4096}, Brief: []int{1, 2, 256}, Min: 1, Max: 65536},
		},
		Setup: setup,
	})
}
