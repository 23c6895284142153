// SPDX-License-Identifier: Apache-2.0

package probe

import _ "unsafe" // for go:linkname

const cacheLine = 64

// Tally is what one goroutine has counted so far, written by that goroutine alone, in a line of its own. Others read it
// while it is written: a count of a machine word is either the old or the new one.
type Tally struct {
	Operations, Switches uint64
	_                    [cacheLine - 16]byte
}

// LastRan tells which goroutine ran last on each P, and so whether a yield really switched between two of ours. One
// line a P, written by whoever runs there.
type LastRan []struct {
	goroutine int
	_         [cacheLine - 8]byte
}

// NewLastRan makes one for the placement of a run.
func NewLastRan(run *Run) LastRan { return make(LastRan, len(run.CPUs)) }

// Switched is true if another of our goroutines ran on this P since `index` last did; notes that `index` runs now.
func (last LastRan) Switched(index int) bool {
	mine := &last[procPin()]
	procUnpin()
	switched := mine.goroutine != index
	mine.goroutine = index
	return switched
}

// The number of the P on which the caller runs; sync.Pool and many others use it, so that it is kept callable.
//
//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
