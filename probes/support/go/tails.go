// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math/bits"
	"slices"
	"time"
)

// oneByOne: of a batch nothing but the clock is read.
var oneByOne bool

const (
	bucketBits     = 8 // leading bits of a number that its bucket keeps, as in c/histogram.h
	shortestTailed = time.Microsecond
)

// histogram is how many numbers lie in a bucket, by the least that the bucket holds.
type histogram map[uint64]uint64

func (histogram histogram) add(number uint64) {
	beyond := max(0, bits.Len64(number)-bucketBits)
	histogram[number>>beyond<<beyond]++
}

// buckets are pairs of the least number and how many there are, in rising order.
func (histogram histogram) buckets() [][2]uint64 {
	pairs := make([][2]uint64, 0, len(histogram))
	for least, count := range histogram {
		pairs = append(pairs, [2]uint64{least, count})
	}
	slices.SortFunc(pairs, func(a, b [2]uint64) int {
		if a[0] < b[0] {
			return -1
		}
		return 1
	})
	return pairs
}

func (histogram histogram) median() uint64 {
	all, seen := uint64(0), uint64(0)
	for _, count := range histogram {
		all += count
	}
	for _, pair := range histogram.buckets() {
		if seen += pair[1]; 2*seen >= all {
			return pair[0]
		}
	}
	return 0
}

// timeOneByOne does batches of one operation for so long; nil if it was not asked to, or cannot.
func timeOneByOne(batch Batch, run *Run, length time.Duration) histogram {
	if length == 0 {
		return nil
	}
	oneByOne = true
	defer func() { oneByOne = false }()
	times := histogram{}
	for end := now() + length; ; {
		value := runBatch(batch, 1)
		if value.Operations != 1 {
			run.Caveat("no operation is timed by itself: this probe does several at least")
			return nil
		}
		times.add(uint64(value.Wall))
		if now() >= end {
			break
		}
	}
	if times.median() < uint64(shortestTailed) {
		run.Caveat("timed one by one, an operation takes less than a microsecond with two readings of the clock: their " +
			"time is much of its p50, p99 and p99_9")
	}
	return times
}
