// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter is an Integer or a Choice; the first of its sweep is used when nothing is said.
type Parameter interface {
	json.Marshaler
	name() string
	first() any
	read(text string) any // ends the probe when the text is out of limits
}

// Integer is a parameter from Min to Max.
type Integer struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc"`
	Unit   string   `json:"unit"`
	Sweep  []int    `json:"sweep"`
	Brief  []int    `json:"brief,omitempty"`  // optional: those of them that a first session of a few minutes should take
	Curves []string `json:"curves,omitempty"` // optional: metrics that are drawn over it beside the main one
	Min    int      `json:"minimum"`
	Max    int      `json:"maximum"`
}

func (p Integer) name() string { return p.Name }
func (p Integer) first() any   { return p.Sweep[0] }

func (p Integer) read(text string) any {
	number, err := strconv.Atoi(text)
	if err != nil || number < p.Min || number > p.Max {
		refuse("%s is an integer from %d to %d, not %q", p.Name, p.Min, p.Max, text)
	}
	return number
}

// MarshalJSON is the entry of the descriptor.
func (p Integer) MarshalJSON() ([]byte, error) {
	type fields Integer // without this method
	return json.Marshal(struct {
		Type string `json:"type"`
		fields
	}{"integer", fields(p)})
}

// Choice is a parameter that is one of some words.
type Choice struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Choices []string `json:"choices"`
	Sweep   []string `json:"sweep"`
	Brief   []string `json:"brief,omitempty"` // optional, as for Integer
}

func (p Choice) name() string { return p.Name }
func (p Choice) first() any   { return p.Sweep[0] }

func (p Choice) read(text string) any {
	if !slices.Contains(p.Choices, text) {
		refuse("%s is one of %s, not %q", p.Name, strings.Join(p.Choices, ","), text)
	}
	return text
}

// MarshalJSON is the entry of the descriptor.
func (p Choice) MarshalJSON() ([]byte, error) {
	type fields Choice
	return json.Marshal(struct {
		Type string `json:"type"`
		fields
	}{"choice", fields(p)})
}

func describe(probe *Probe) {
	if probe.Parameters == nil {
		probe.Parameters = []Parameter{}
	}
	print(struct {
		Protocol int    `json:"protocol"`
		Identity string `json:"probe"`
		*Probe
		Tails bool `json:"tails"`
	}{protocol, identity, probe, true})
}

type object = map[string]any

func printLines(
	run *Run, operations uint64, search time.Duration, values []*Value, counters *counters, tails histogram,
) {
	print(object{
		"type": "meta", "protocol": protocol, "probe": identity, "parameters": run.given, "placement": run.Placement,
		"cpus": run.CPUs, "operations": operations, "compiler": runtime.Version(),
		"flags": flags + " GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0)), "clock": "CLOCK_MONOTONIC",
		"search_ns": search.Nanoseconds(), "counters": counters.scope, "counters_absent": counters.absent,
	})
	for _, value := range values {
		used := value.during
		line := object{
			"type": "value", "operations": value.Operations, "wall_ns": value.Wall.Nanoseconds(), "lanes": value.Lanes,
			"cpu_ns": (used.user + used.system).Nanoseconds(), "user_ns": used.user.Nanoseconds(),
			"system_ns": used.system.Nanoseconds(), "voluntary": used.voluntary, "involuntary": used.involuntary,
			"minor_faults": used.faults, "run_delay_ns": used.delay.Nanoseconds(), "counts": value.counts,
			"readings": value.readings,
		}
		if value.counters != nil {
			line["counters"] = value.counters
		}
		print(line)
	}
	if tails != nil {
		print(object{"type": "histogram", "name": "operation", "unit": "s", "scale": 1e-9, "buckets": tails.buckets()})
	}
	for _, text := range run.caveats {
		print(object{"type": "caveat", "text": text})
	}
	print(object{"type": "end", "values": len(values)})
}

func print(line any) {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		Fail("cannot write to standard output: %v", err)
	}
}
