// SPDX-License-Identifier: Apache-2.0

// goroutine - a binary tree of forks by goroutines, on 1 to 1024 Ps.
//
// Known answer: the leaves' numbers add up to n(n+1)/2, and n forks were counted.
// Overhead: adding two pairs of numbers, under 1 ns.
// Limits: one half is a goroutine that answers through a channel of one place, the other one a call. The channels are
// garbage, whose collection is part of the cost.
// Source: the fork-join of parallel/coro in Go's own way.
package main

import (
	"runtime"

	"steelyard/probe"
)

type harvest struct{ sum, forks uint64 }

func split(first, count uint64) harvest {
	if count == 1 {
		return harvest{sum: first}
	}
	answer := make(chan harvest, 1)
	go func() { answer <- split(first, count/2) }()
	upper := split(first+count/2, count-count/2)
	lower := <-answer
	return harvest{lower.sum + upper.sum, lower.forks + upper.forks + 1}
}

func setup(run *probe.Run) probe.Batch {
	threads := run.Int("threads")
	if threads > len(run.CPUs) {
		probe.Skip("threads=%d needs as many CPUs, and this process may use %d", threads, len(run.CPUs))
	}
	runtime.GOMAXPROCS(threads)
	return func(operations uint64, value *probe.Value) {
		value.Start()
		all := split(0, operations+1)
		value.Stop()
		if all.sum != operations*(operations+1)/2 {
			all.forks = 0
		}
		value.Count("checked", all.forks)
	}
}

func main() {
	probe.Main(probe.Probe{
		Title:      "goroutines",
		Question:   "What does a fork cost whose halves may run at the same time?",
		Operation:  "one fork of a binary tree and the join of its halves, by a goroutine and a channel",
		Source:     "the fork-join of Cilk (Frigo et al. 1998) in Go's own way",
		Statistic:  "lower_quartile",
		Placements: []string{"free"},
		Uses:       []string{"cpu", "sched"},
		Family:     "fork",
		Metrics: []probe.Metric{
			{"fork", "s", "lower", "wall", "operations", "time of one fork and its join, all threads together"},
			{"fork_cpu", "s", "lower", "cpu", "operations", "CPU time of the process for it"},
		},
		Parameters: []probe.Parameter{
			probe.Integer{Name: "threads", Doc: "threads that share the tree", Unit: "1", Sweep: []int{1, 2},
				Brief: []int{1, 2}, Min: 1, Max: 1024},
		},
		Setup: setup,
	})
}
