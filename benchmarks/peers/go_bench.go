// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"runtime"
	"testing"
)

func BenchmarkGoroutine(b *testing.B) {
	done := make(chan int)
	for i := 0; i < b.N; i++ {
		go func(i int) { done <- i }(i)
		<-done
	}
}

func BenchmarkGosched(b *testing.B) {
	stop := make(chan struct{})
	go func() {
		for i := 0; i < b.N; i++ {
			runtime.Gosched()
		}
		close(stop)
	}()
	for i := 0; i < b.N; i++ {
		runtime.Gosched()
	}
	<-stop
}

func BenchmarkUnbuffered(b *testing.B) {
	there, back := make(chan int), make(chan int)
	go func() {
		for i := range there {
			back <- i
		}
	}()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		there <- i
		<-back
	}
	b.StopTimer()
	close(there)
}
