// SPDX-License-Identifier: Apache-2.0

// go_chan - a token goes round among 2 to 65536 goroutines through one Go channel.
//
// The token carries the number of its pass, and whoever takes it notes from whom it came: so it is counted, not assumed,
// how many operations switched, and how many woke the one who had waited longest.
//
//	parked      a channel of one place; all goroutines wait for the token before it is put in. Who gives it back hands
//	            it to the first in line, and then waits: every operation switches.
//	unbuffered  the same through a channel without a place.
//	token       as the seed had it: a channel of one place that holds the token before any goroutine runs. The first to
//	            take it gives it back, finds it there and takes it again: nobody else ever gets it, until the runtime
//	            preempts the one and all others park. Goroutines are made anew for each batch, untimed.
//
// Known answer: parked and unbuffered, every operation switches and keeps the order.
// Overhead: the bookkeeping of a pass, about 3 ns.
// Limits: in the form `token` the figure is a mixture of two states, by how long a batch is: the runtime preempts after
// 10 ms.
// Source: g_chan.go of shell909090/context (2014), which charged every operation as a switch.
package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"steelyard/probe"
)

const timeToPark = 100 * time.Microsecond

// token is what goes round; who holds it may write all of it.
type token struct {
	pass, last        uint64 // the number of this pass, and of the batch's last
	holder            int
	waitedSince       uint64 // the number of the pass with which the holder had begun to wait
	switched, inOrder uint64
	began, ended      time.Duration
}

type ring struct {
	channel chan *token
	finish  chan struct{} // the batch's last pass was taken
	ended   chan struct{}
	waiting atomic.Int64
	began   time.Duration // when the first goroutine ran
	lastAt  []uint64      // the number of the pass that each took last, and after which it waits again
}

// take notes who has the token now; false when it was the last pass of the batch.
func (ring *ring) take(token *token, index int) bool {
	token.pass++
	if token.holder != index {
		token.switched++
		// In a strict line they come in the order in which they began to wait.
		if ring.lastAt[index] > token.waitedSince {
			token.inOrder++
		}
	}
	token.waitedSince = ring.lastAt[index]
	ring.lastAt[index] = token.pass
	token.holder = index
	return token.pass != token.last
}

// body takes the token and gives it back until the channel is closed. One operation is a send and the next receive.
//
//go:noinline
func (ring *ring) body(index int) {
	if ring.waiting.Add(1) == 1 {
		ring.began = probe.Now()
	}
receiving:
	for token := range ring.channel {
		for ring.take(token, index) {
			ring.channel <- token
			next, open := <-ring.channel
			if !open {
				break receiving
			}
			token = next
		}
		token.ended = probe.Now()
		ring.waiting.Add(1)
		ring.finish <- struct{}{}
	}
	ring.ended <- struct{}{}
}

func newRing(goroutines, places int) *ring {
	return &ring{
		channel: make(chan *token, places),
		finish:  make(chan struct{}, 1),
		ended:   make(chan struct{}, goroutines),
		lastAt:  make([]uint64, goroutines),
	}
}

func (ring *ring) start() {
	for i := range ring.lastAt {
		go ring.body(i)
	}
}

// awaitParked returns when all goroutines stand in the channel's line. That is not to be seen: all have said that they
// are about to, and get the time for it.
func (ring *ring) awaitParked(said int) {
	for ring.waiting.Load() < int64(said) {
		runtime.Gosched()
	}
	time.Sleep(timeToPark)
}

func (ring *ring) stop() {
	close(ring.channel)
	for range ring.lastAt {
		<-ring.ended
	}
}

// setupParked: all wait in the channel between batches, too, and so keep their places in the line.
func setupParked(run *probe.Run, places int) probe.Batch {
	goroutines := run.Int("contexts")
	ring := newRing(goroutines, places)
	ring.start()
	token := &token{holder: -1}
	run.AtEnd(ring.stop)
	said := goroutines
	round := func(passes uint64) {
		token.last = token.pass + passes
		ring.channel <- token
		<-ring.finish
		said++
	}
	ring.awaitParked(said)
	round(uint64(2 * goroutines)) // so that everyone's place in the line is known
	return func(operations uint64, value *probe.Value) {
		ring.awaitParked(said)
		first := token.pass
		token.switched, token.inOrder = 0, 0
		value.Start()
		token.began = probe.Now()
		round(operations)
		value.Stop()
		value.Wall = token.ended - token.began
		report(token, token.pass-first, value)
	}
}

func setupToken(run *probe.Run) probe.Batch {
	goroutines := run.Int("contexts")
	return func(operations uint64, value *probe.Value) {
		ring := newRing(goroutines, 1)
		token := &token{last: operations, holder: -1}
		ring.channel <- token
		value.Start() // on a second CPU the token goes round while goroutines are still being made
		ring.start()
		<-ring.finish
		value.Stop()
		value.Wall = token.ended - ring.began
		ring.stop()
		report(token, token.pass, value)
	}
}

func report(token *token, passes uint64, value *probe.Value) {
	value.Count("checked", passes)
	value.Count("switches", token.switched)
	value.Count("in_order", token.inOrder)
}

func main() {
	probe.Main(probe.Probe{
		Title:      "Go channel",
		Question:   "What does handing over by a Go channel cost, and does it hand over?",
		Operation:  "one send of a token into a channel and the receive that takes it out again, by whichever goroutine; one way",
		Source:     "shell909090/context g_chan.go (2014): 60 to 70 ns",
		Statistic:  "median",
		Placements: []string{"same", "cross"},
		Uses:       []string{"cpu", "sched", "ipc"},
		Family:     "turn",
		Metrics: []probe.Metric{
			{"handoff", "s", "lower", "wall", "operations", "time from one receive of the token to the next, whoever has it"},
			{"real_switch", "s", "lower", "wall", "switches", "time from one change of the holder to the next"},
			{"switched_fraction", "1", "neither", "switches", "operations",
				"share of the receives by another goroutine than the one before"},
			{"in_order_fraction", "1", "neither", "in_order", "switches",
				"share of the changes of the holder that went to the goroutine that had waited longest"},
		},
		Parameters: []probe.Parameter{
			probe.Integer{Name: "contexts", Doc: "goroutines among which the token goes round", Unit: "1",
				Sweep: []int{2, 16, 256, 4096}, Brief: []int{2, 256}, Min: 2, Max: 65536},
			probe.Choice{Name: "form",
				Doc:     "all wait before the token is put in, with or without a place in the channel; or the token is there first",
				Choices: []string{"parked", "unbuffered", "token"}, Sweep: []string{"parked", "unbuffered", "token"}},
		},
		Setup: func(run *probe.Run) probe.Batch {
			switch {
			case run.Is("form", "token"):
				return setupToken(run)
			case run.Is("form", "unbuffered"):
				return setupParked(run, 0)
			}
			return setupParked(run, 1)
		},
	})
}
