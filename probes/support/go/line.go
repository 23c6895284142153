// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Parameter is an Integer or a Choice; the first of its sweep is used when nothing is said.
type Parameter interface {
	name() string
	first() any
	read(text string) any // ends the probe when the text is out of limits
	described() any
}

// Integer is a parameter from Min to Max.
type Integer struct {
	Name, Doc, Unit string
	Sweep           []int
	Brief           []int // optional: those of them that a first session of a few minutes should take
	Min, Max        int
}

func (p Integer) name() string { return p.Name }
func (p Integer) first() any   { return p.Sweep[0] }

func (p Integer) read(text string) any {
	number, err := strconv.Atoi(text)
	if err != nil || number < p.Min || number > p.Max {
		usage("%s is an integer from %d to %d, not %q", p.Name, p.Min, p.Max, text)
	}
	return number
}

func (p Integer) described() any {
	return struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Doc     string `json:"doc"`
		Unit    string `json:"unit"`
		Minimum int    `json:"minimum"`
		Maximum int    `json:"maximum"`
		Sweep   []int  `json:"sweep"`
		Brief   []int  `json:"brief,omitempty"`
	}{p.Name, "integer", p.Doc, p.Unit, p.Min, p.Max, p.Sweep, p.Brief}
}

// Choice is a parameter that is one of some words.
type Choice struct {
	Name, Doc string
	Choices   []string
	Sweep     []string
	Brief     []string // optional, as for Integer
}

func (p Choice) name() string { return p.Name }
func (p Choice) first() any   { return p.Sweep[0] }

func (p Choice) read(text string) any {
	for _, choice := range p.Choices {
		if choice == text {
			return text
		}
	}
	usage("%s is one of %s, not %q", p.Name, strings.Join(p.Choices, ","), text)
	return nil
}

func (p Choice) described() any {
	return struct {
		Name    string   `json:"name"`
		Type    string   `json:"type"`
		Doc     string   `json:"doc"`
		Choices []string `json:"choices"`
		Sweep   []string `json:"sweep"`
		Brief   []string `json:"brief,omitempty"`
	}{p.Name, "choice", p.Doc, p.Choices, p.Sweep, p.Brief}
}

func describe(probe *Probe) {
	parameters := []any{}
	for _, parameter := range probe.Parameters {
		parameters = append(parameters, parameter.described())
	}
	var baseline any
	if probe.Baseline != "" {
		baseline = probe.Baseline
	}
	print(struct {
		Protocol   int      `json:"protocol"`
		Probe      string   `json:"probe"`
		Question   string   `json:"question"`
		Operation  string   `json:"operation"`
		Source     string   `json:"source"`
		Statistic  string   `json:"statistic"`
		Baseline   any      `json:"baseline"`
		Placements []string `json:"placements"`
		Uses       []string `json:"uses"`
		Metrics    []Metric `json:"metrics"`
		Parameters []any    `json:"parameters"`
	}{
		protocol, identity, probe.Question, probe.Operation, probe.Source, probe.Statistic, baseline, probe.Placements,
		probe.Uses, probe.Metrics, parameters,
	})
}

func printLines(probe *Probe, run *Run, operations uint64, search time.Duration, values []*Value,
	counters *counters) {
	print(struct {
		Type       string         `json:"type"`
		Protocol   int            `json:"protocol"`
		Probe      string         `json:"probe"`
		Parameters map[string]any `json:"parameters"`
		Placement  string         `json:"placement"`
		CPUs       []int          `json:"cpus"`
		Operations uint64         `json:"operations"`
		Compiler   string         `json:"compiler"`
		Flags      string         `json:"flags"`
		Clock      string         `json:"clock"`
		SearchNs   int64          `json:"search_ns"`
		Counters   string         `json:"counters,omitempty"`
		Absent     string         `json:"counters_absent,omitempty"`
	}{
		"meta", protocol, identity, run.given, run.Placement, run.CPUs, operations, runtime.Version(),
		flags + " GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0)), "CLOCK_MONOTONIC", search.Nanoseconds(),
		counters.scope, counters.absent,
	})
	for _, value := range values {
		printValue(value)
	}
	for _, text := range run.caveats {
		print(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{"caveat", text})
	}
	print(struct {
		Type   string `json:"type"`
		Values int    `json:"values"`
	}{"end", len(values)})
}

func printValue(value *Value) {
	print(struct {
		Type        string            `json:"type"`
		Operations  uint64            `json:"operations"`
		WallNs      int64             `json:"wall_ns"`
		Lanes       int               `json:"lanes"`
		CPUNs       int64             `json:"cpu_ns"`
		UserNs      int64             `json:"user_ns"`
		SystemNs    int64             `json:"system_ns"`
		Voluntary   int64             `json:"voluntary"`
		Involuntary int64             `json:"involuntary"`
		MinorFaults int64             `json:"minor_faults"`
		RunDelayNs  int64             `json:"run_delay_ns"`
		Counts      map[string]uint64 `json:"counts"`
		Readings    struct{}          `json:"readings"`
		Counters    *counted          `json:"counters,omitempty"`
	}{
		"value", value.Operations, value.Wall.Nanoseconds(), value.Lanes,
		(value.during.user + value.during.system).Nanoseconds(), value.during.user.Nanoseconds(),
		value.during.system.Nanoseconds(), value.during.voluntary, value.during.involuntary, value.during.faults,
		value.during.delay.Nanoseconds(), value.counts, struct{}{},
		value.counters,
	})
}

func print(line any) {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		Fail("cannot write to standard output: %v", err)
	}
}
