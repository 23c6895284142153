// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strconv"
	"strings"
	"time"
)

type options struct {
	operations uint64 // 0: to be found by target
	target     time.Duration
	values     int
	deadline   time.Duration
	json       bool
}

func parse(probe *Probe, arguments []string) (*Run, options) {
	options := options{target: 10 * time.Millisecond, values: 9, deadline: time.Minute, json: !isTerminal()}
	run := &Run{Placement: probe.Placements[0], given: map[string]any{}}
	for _, parameter := range probe.Parameters {
		run.given[parameter.name()] = parameter.first()
	}
	for len(arguments) > 0 {
		word := arguments[0]
		arguments = arguments[1:]
		name, text, equals := strings.Cut(word, "=")
		switch {
		case word == "--json":
			options.json = true
		case strings.HasPrefix(word, "--"):
			if len(arguments) == 0 {
				usage("%s takes an argument", word)
			}
			options.set(probe, run, word, arguments[0])
			arguments = arguments[1:]
		case !equals:
			usage("%q is neither an option nor key=value", word)
		default:
			set(probe, run, name, text)
		}
	}
	return run, options
}

func set(probe *Probe, run *Run, name, text string) {
	for _, parameter := range probe.Parameters {
		if parameter.name() == name {
			run.given[name] = parameter.read(text)
			return
		}
	}
	usage("no parameter is called %s; --describe lists them", name)
}

func (options *options) set(probe *Probe, run *Run, option, argument string) {
	switch option {
	case "--operations":
		options.operations = count(option, argument)
	case "--values":
		options.values = int(count(option, argument))
	case "--target":
		options.target = duration(option, argument)
	case "--deadline":
		options.deadline = max(duration(option, argument), time.Second)
	case "--placement":
		for _, placement := range probe.Placements {
			if placement == argument {
				run.Placement = placement
				return
			}
		}
		usage("--placement is one of %s, not %q", strings.Join(probe.Placements, ","), argument)
	default:
		usage("unknown option %s (--describe, --selftest, --operations, --values, --target, --deadline, --placement, "+
			"--json, key=value)", option)
	}
}

func count(option, text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || number == 0 || number > mostOperations {
		usage("%s takes a positive number, not %q", option, text)
	}
	return number
}

func duration(option, text string) time.Duration {
	for _, unit := range []struct {
		suffix string
		length time.Duration
	}{{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second}} {
		if digits, found := strings.CutSuffix(text, unit.suffix); found {
			number, err := strconv.ParseFloat(digits, 64)
			if length := number * float64(unit.length); err == nil && length > 0 && length < 1e18 {
				return time.Duration(length)
			}
			break
		}
	}
	usage("%s takes a duration such as 10ms, not %q", option, text)
	return 0
}
