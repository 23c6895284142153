//go:build ignore

// SPDX-License-Identifier: Apache-2.0

// conformance - what tests/protocol/test_conformance.py holds every support to; in each language the same.
//
// Known answer: the sum of the numbers below `operations`.  `trouble` plants what a support has to find.
package main

import (
	"os"
	"time"

	"steelyard/probe"
)

var troubles = []string{"none", "more", "caveat", "wrong", "unproven", "unstarted", "idle", "fewer", "slow", "breaks",
	"fails", "skips"}

func setup(run *probe.Run) probe.Batch {
	trouble := os.Getenv("CONFORMANCE_TROUBLE") // for the selftest, which takes no parameters
	for _, planted := range troubles {
		if trouble == "" && run.Is("trouble", planted) {
			trouble = planted
		}
	}
	batches := uint64(0)
	return func(operations uint64, value *probe.Value) {
		done := operations
		switch trouble {
		case "more":
			done = 2 * operations
		case "fewer":
			done = operations - 1
		case "idle":
			done = 0
		case "slow":
			time.Sleep(100 * time.Millisecond)
		case "breaks":
			panic("it went wrong")
		case "fails":
			probe.Fail("it went wrong")
		case "skips":
			probe.Skip("there is no such thing")
		case "caveat":
			run.Caveat("a \"doubt\" of %d", 1)
		}
		sum := uint64(0)
		if trouble != "unstarted" {
			value.Start()
		}
		for i := uint64(0); i < done; i++ {
			sum += i
		}
		if trouble != "unstarted" {
			value.Stop()
		}
		value.Operations, value.Lanes = done, 2
		checked := done
		if done > 0 && sum != done*(done-1)/2 {
			checked = 0
		}
		if trouble == "wrong" {
			checked--
		}
		if trouble != "unproven" {
			value.Count("checked", checked)
		}
		batches++
		value.Count("batches", batches)
		value.Reading("half", float64(run.Int("number"))/2)
	}
}

func main() {
	probe.Main(probe.Probe{
		Title:      "conformance",
		Question:   "Does the support of this language keep the protocol?",
		Operation:  "one addition",
		Source:     "docs/reference/protocol.md",
		Statistic:  "median",
		Placements: []string{"same", "cross", "free"},
		Uses:       []string{"cpu"},
		Baseline:   "null/null",
		Family:     "supports",
		ValueMs:    5,
		Metrics: []probe.Metric{
			{"one", "s", "lower", "wall", "operations", "time of one addition"},
			{"half", "1", "neither", "half", "one", "half of what was given as \"number\""},
		},
		Parameters: []probe.Parameter{
			probe.Integer{Name: "number", Doc: "a number", Unit: "B", Sweep: []int{3, 4}, Brief: []int{4},
				Curves: []string{"half"}, Min: -2, Max: 9},
			probe.Choice{Name: "trouble", Doc: "what goes wrong", Choices: troubles, Sweep: []string{"none"},
				Brief: []string{"none"}},
		},
		Setup: setup,
	})
}
