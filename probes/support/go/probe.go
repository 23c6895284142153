// SPDX-License-Identifier: Apache-2.0

// Package probe is probe protocol 1 for probes written in Go; docs/reference/protocol.md is its contract.
//
// A probe fills a Probe and hands it to Main. The rest is done here: --describe, --selftest, key=value, finding the
// number of operations, values, JSON lines, the deadline. probes/create/goroutine.go is the skeleton to copy. Identity
// (question/way) comes from the path of the source file: no name is typed twice.
//
// Placement `same` means GOMAXPROCS 1 and every thread on one CPU; `cross` and `free` mean a P for each CPU. The garbage
// collector runs as it does in any program.
//
// Exit codes: 0 right, 1 failed, 2 wrong usage, 77 cannot run here (the reason is the last line on stderr).
package probe

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

const (
	protocol           = 1
	selftestOperations = 23 // a prime, so that rounding to a batch size shows
	mostOperations     = 1 << 40
)

// Set by the build.
var (
	identity = "unknown/unknown"
	flags    = "unknown"
)

// Metric is one reported figure: quantity Over divided by quantity Per of the same value. A quantity is "wall" (seconds
// on the clock times Lanes), "cpu", "user", "system" (seconds), "operations", "one", or the name of a count or reading.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`   // base unit: "s", "B", "B/s", "1"
	Better string `json:"better"` // "lower", "higher" or "neither"
	Over   string `json:"over"`
	Per    string `json:"per"`
	Doc    string `json:"doc"`
}

// Probe is what a probe says about itself, and what it does.
type Probe struct {
	Title      string      `json:"title,omitempty"`    // optional: what people call it, in a few plain words
	Question   string      `json:"question"`           // required: the question in a sentence
	Operation  string      `json:"operation"`          // required: what ONE operation is: one way or round trip, with or without creation
	Source     string      `json:"source"`             // required: where the measurement comes from in the literature
	Statistic  string      `json:"statistic"`          // required: "lower_quartile" for pure CPU cost, "median" where waiting is the subject
	Placements []string    `json:"placements"`         // required: those of same, cross, free that make sense, the default first
	Uses       []string    `json:"uses"`               // required: those of cpu, sched, ipc, disk, net that it loads
	Baseline   string      `json:"baseline,omitempty"` // optional: "question/way" of the case that measures this one's overhead
	ValueMs    int         `json:"value_ms,omitempty"` // optional: a session's values need be no longer
	Family     string      `json:"family,omitempty"`   // optional: the name under which ways of one question are drawn and tabled together
	Metrics    []Metric    `json:"metrics"`            // required: the first is the main figure
	Parameters []Parameter `json:"parameters"`

	// Required: called once before the first batch, untimed; makes what all batches share.
	Setup func(run *Run) Batch `json:"-"`
}

// Batch does operations between value.Start() and value.Stop(), checks that they happened, and reports how many were
// proven by value.Count("checked", n). A value whose "checked" differs from its Operations fails the run.
type Batch func(operations uint64, value *Value)

// Run is what was asked for.
type Run struct {
	Placement string
	CPUs      []int // where this run may go, in order
	given     map[string]any
	atEnd     []func()
	caveats   []string
}

// Int is the value of an integer parameter that the probe declares.
func (run *Run) Int(name string) int {
	number, declared := run.given[name].(int)
	if !declared {
		Fail("the probe asks for an integer parameter %s that it does not declare", name)
	}
	return number
}

// Is tells whether a choice parameter that the probe declares has this value.
func (run *Run) Is(name, choice string) bool {
	word, declared := run.given[name].(string)
	if !declared {
		Fail("the probe asks for a choice parameter %s that it does not declare", name)
	}
	return word == choice
}

// AtEnd calls a function after the last batch, untimed.
func (run *Run) AtEnd(function func()) { run.atEnd = append(run.atEnd, function) }

// Caveat notes a doubt that travels with the result; once a run however often it is said.
func (run *Run) Caveat(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	for _, said := range run.caveats {
		if said == text {
			return
		}
	}
	run.caveats = append(run.caveats, text)
}

func (run *Run) end() {
	for _, function := range run.atEnd {
		function()
	}
}

// Fail ends the whole probe: it went wrong.
func Fail(format string, arguments ...any) { leave(1, format, arguments...) }

// Skip ends the whole probe: it can't run here.
func Skip(format string, arguments ...any) { leave(77, format, arguments...) }

func refuse(format string, arguments ...any) { leave(2, format, arguments...) }

func leave(code int, format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, identity+": "+format+"\n", arguments...)
	os.Exit(code)
}

// Main does what the command line asks of this probe, and ends the process.
func Main(probe Probe) {
	defer func() {
		if problem := recover(); problem != nil {
			Fail("%v", problem) // the runtime would end with the code of wrong usage
		}
	}()
	arguments := os.Args[1:]
	if len(arguments) == 1 && arguments[0] == "--describe" {
		describe(&probe)
		os.Exit(0)
	}
	test := len(arguments) == 1 && arguments[0] == "--selftest"
	if test {
		arguments = nil
	}
	run, options := parse(&probe, arguments)
	place(run)
	endAt(options.deadline)
	if test {
		selftest(probe.Setup(run), run)
	} else {
		measure(probe.Setup(run), run, options)
	}
	os.Exit(0)
}

// place pins the process where the placement wants it. Where nobody restricted the CPUs, `same` takes the last one: CPU
// 0 is the one that interrupts prefer.
func place(run *Run) {
	allowed := allowedCPUs()
	run.CPUs = allowed
	switch {
	case run.Placement == "same":
		run.CPUs = allowed[len(allowed)-1:]
		if len(allowed) > 1 {
			pinAllThreads(run.CPUs[0])
		}
	case run.Placement == "cross" && len(allowed) < 2:
		Skip("placement cross needs two CPUs and this process may use one")
	}
	runtime.GOMAXPROCS(len(run.CPUs))
}

func runBatch(batch Batch, operations uint64) *Value {
	value := &Value{Operations: operations, Lanes: 1, counts: map[string]uint64{}, readings: map[string]float64{}}
	batch(operations, value)
	if !value.timed {
		Fail("a batch never began its timed part")
	}
	if value.Operations == 0 {
		Fail("a batch did no operation at all")
	}
	checked, said := value.counts["checked"]
	if !said {
		Fail(`a value lacks the count "checked"`)
	}
	if checked != value.Operations {
		Fail("%d operations were timed but %d were proven to have happened", value.Operations, checked)
	}
	return value
}

// findOperations finds the number of operations whose batch takes about as long as target; grows by at most 10 so that a
// slow first batch (cold caches, page faults) does not settle it.
func findOperations(batch Batch, target time.Duration) uint64 {
	operations := uint64(1)
	for attempt := 0; attempt < 40; attempt++ {
		value := runBatch(batch, operations)
		factor := float64(target) / float64(max(value.Wall, 1))
		// From what was done, not from what was asked for: a probe may do far more, and then the time was for that.
		wanted := float64(value.Operations)*min(factor, 10) + 0.5
		if wanted > mostOperations {
			return operations
		}
		next := max(uint64(wanted), 1)
		settled := next >= operations-operations/5 && next <= operations+operations/5
		closeEnough := factor < 4 && factor > 0.25 && attempt > 20 // a noisy machine never settles
		operations = next
		if settled || closeEnough {
			break
		}
	}
	return operations
}

func selftest(batch Batch, run *Run) {
	value := runBatch(batch, selftestOperations)
	if value.Operations < selftestOperations {
		Fail("%d operations were asked for and %d done", selftestOperations, value.Operations)
	}
	run.end()
}

func measure(batch Batch, run *Run, options options) {
	operations, search := options.operations, time.Duration(0)
	if operations > 0 {
		runBatch(batch, 1+operations/8) // warm-up: page faults and caches of the first batch are not the subject
	} else {
		began := now()
		operations = findOperations(batch, options.target)
		search = now() - began
	}
	values := make([]*Value, options.values)
	for i := range values {
		values[i] = runBatch(batch, operations)
	}
	counters := countValues(batch, operations, values)
	tails := timeOneByOne(batch, run, options.tails)
	run.end()
	printLines(run, operations, search, values, counters, tails)
}
