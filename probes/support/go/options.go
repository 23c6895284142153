// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	operations uint64 // 0: to be found by target
	target     time.Duration
	values     int
	deadline   time.Duration
	tails      time.Duration // 0: operations are not timed one by one
}

func parse(probe *Probe, arguments []string) (*Run, options) {
	options := options{target: 10 * time.Millisecond, values: 9, deadline: time.Minute}
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
			continue // it prints nothing else
		case strings.HasPrefix(word, "--"):
			if len(arguments) == 0 {
				refuse("%s takes an argument", word)
			}
			options.set(probe, run, word, arguments[0])
			arguments = arguments[1:]
		case !equals:
			refuse("%q is neither an option nor key=value", word)
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
	refuse("no parameter is called %q; --describe lists them", name)
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
	case "--tails":
		options.tails = duration(option, argument)
	case "--placement":
		if !slices.Contains(probe.Placements, argument) {
			refuse("--placement is one of %s, not %q", strings.Join(probe.Placements, ","), argument)
		}
		run.Placement = argument
	default:
		refuse("unknown option %s (--describe, --selftest, --operations, --values, --target, --deadline, --tails, "+
			"--placement, --json, key=value)", option)
	}
}

func count(option, text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || number == 0 || number > mostOperations {
		refuse("%s takes a number from 1 to 2^40, not %q", option, text)
	}
	return number
}

func duration(option, text string) time.Duration {
	digits := strings.TrimRight(text, "numsµ")
	// Of the forms that the library reads, those of one unit: it has minutes and sums as well, and signs.
	length, err := time.ParseDuration(text)
	if err != nil || length <= 0 || strings.Trim(digits, "0123456789.") != "" || strings.HasSuffix(text, "m") {
		refuse("%s takes a duration such as 10ms, not %q", option, text)
	}
	return length
}
