// SPDX-License-Identifier: Apache-2.0

// goroutine - a goroutine is created, runs and is waited for, one at a time.
//
// Known answer: each goroutine answers with the complement of its number.
// Overhead: an unbuffered channel hands the answer over, in place of a join that goroutines do not have.
// Limits: the runtime keeps ended goroutines with their stacks, so after the first none is made anew: the cache is part
// of what is measured, as it is of a program that starts goroutines all the time.
// Source: g_goroutine.go of shell909090/context (2014), which did not wait for its goroutines.
package main

import "steelyard/probe"

func answer(question uint64, answers chan<- uint64) { answers <- ^question }

//go:noinline
func createAndWait(answers chan uint64, times uint64) (right uint64) {
	for i := uint64(0); i < times; i++ {
		go answer(i, answers)
		if <-answers == ^i {
			right++
		}
	}
	return right
}

func main() {
	probe.Main(probe.Probe{
		Title:      "goroutine",
		Question:   "What does a goroutine cost?",
		Operation:  "one go statement and the answer of the goroutine, received through an unbuffered channel",
		Source:     "shell909090/context g_goroutine.go (2014): 568 ns, not waited for",
		Statistic:  "lower_quartile",
		Placements: []string{"same", "free"},
		Uses:       []string{"cpu", "sched"},
		Metrics: []probe.Metric{
			{"goroutine", "s", "lower", "wall", "operations", "time from the creation to the known completion of the goroutine"},
			{"goroutine_cpu", "s", "lower", "cpu", "operations", "CPU time of the process for it"},
		},
		Setup: func(*probe.Run) probe.Batch {
			answers := make(chan uint64)
			return func(operations uint64, value *probe.Value) {
				value.Start()
				right := createAndWait(answers, operations)
				value.Stop()
				value.Count("checked", right)
			}
		},
	})
}
