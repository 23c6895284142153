// SPDX-License-Identifier: Apache-2.0

// The programs in Go: a goroutine for each fork. See programs.hpp for what is printed.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func fib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	answer := make(chan uint64, 1)
	go func() { answer <- fib(n - 1) }()
	b := fib(n - 2)
	return <-answer + b
}

func skynet(number, size uint64) (sum uint64) {
	if size == 1 {
		return number
	}
	answers := make(chan uint64, 10)
	for i := uint64(0); i < 10; i++ {
		go func(first uint64) { answers <- skynet(first, size/10) }(number + i*(size/10))
	}
	for i := 0; i < 10; i++ {
		sum += <-answers
	}
	return sum
}

type board [16]int8

func (placed *board) fits(row, column int) bool {
	for i := 0; i < row; i++ {
		apart := int(placed[i]) - column
		if apart == 0 || apart == row-i || apart == i-row {
			return false
		}
	}
	return true
}

func queens(placed board, row, n int) (sum uint64) {
	if row == n {
		return 1
	}
	answers := make(chan uint64, n)
	children := 0
	for column := 0; column < n; column++ {
		if placed.fits(row, column) {
			placed[row] = int8(column)
			children++
			go func(next board) { answers <- queens(next, row+1, n) }(placed)
		}
	}
	for i := 0; i < children; i++ {
		sum += <-answers
	}
	return sum
}

type matrices struct {
	n       int
	a, b, c []float32
}

func newMatrices(n int) *matrices {
	m := &matrices{n, make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)}
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			m.a[i*n+j] = float32((i + 6*j) % 7)
			m.b[i*n+j] = float32((i + j) % 7)
		}
	}
	return m
}

func (m *matrices) multiply(ci, cj, k, size int) {
	if size <= 32 {
		for i := ci; i < ci+size; i++ {
			for at := k; at < k+size; at++ {
				factor := m.a[i*m.n+at]
				from, into := m.b[at*m.n+cj:at*m.n+cj+size], m.c[i*m.n+cj:i*m.n+cj+size]
				for j, each := range from {
					into[j] += factor * each
				}
			}
		}
		return
	}
	half := size / 2
	for _, part := range []int{k, k + half} {
		var group sync.WaitGroup
		group.Add(3)
		go func() { m.multiply(ci, cj, part, half); group.Done() }()
		go func() { m.multiply(ci, cj+half, part, half); group.Done() }()
		go func() { m.multiply(ci+half, cj, part, half); group.Done() }()
		m.multiply(ci+half, cj+half, part, half)
		group.Wait()
	}
}

func matmul(m *matrices) uint64 {
	clear(m.c)
	m.multiply(0, 0, 0, m.n)
	sum := 0.0
	for _, each := range m.c {
		sum += float64(each)
	}
	return uint64(sum)
}

func channel(threads int, size uint64) (sum uint64) {
	pairs := max(1, threads/2)
	between := make(chan uint64, 128)
	sums := make(chan uint64, pairs)
	each := size / uint64(pairs)
	var producers sync.WaitGroup
	for i := 0; i < pairs; i++ {
		producers.Add(1)
		go func(first uint64) {
			for n := uint64(0); n < each; n++ {
				between <- first + n
			}
			producers.Done()
		}(uint64(i) * each)
		go func() {
			own := uint64(0)
			for value := range between {
				own += value
			}
			sums <- own
		}()
	}
	producers.Wait()
	close(between)
	for i := 0; i < pairs; i++ {
		sum += <-sums
	}
	return sum
}

const messageSize = 64

func answer(connection net.Conn) {
	defer connection.Close()
	message := make([]byte, messageSize)
	for {
		if _, err := io.ReadFull(connection, message); err != nil {
			return
		}
		if _, err := connection.Write(message); err != nil {
			return
		}
	}
}

func ask(where string, times uint64, answers chan<- uint64) {
	connection, err := net.Dial("tcp", where)
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	message, answered := make([]byte, messageSize), make([]byte, messageSize)
	right := uint64(0)
	for i := uint64(0); i < times; i++ {
		binary.LittleEndian.PutUint64(message, i)
		if _, err := connection.Write(message); err != nil {
			panic(err)
		}
		if _, err := io.ReadFull(connection, answered); err == nil && bytes.Equal(message, answered) {
			right++
		}
	}
	answers <- right
}

func ioSocket(connections, size uint64) (right uint64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for i := uint64(0); i < connections; i++ {
			connection, err := listener.Accept()
			if err != nil {
				panic(err)
			}
			go answer(connection)
		}
	}()
	answers := make(chan uint64, connections)
	for i := uint64(0); i < connections; i++ {
		go ask(listener.Addr().String(), size/connections, answers)
	}
	for i := uint64(0); i < connections; i++ {
		right += <-answers
	}
	listener.Close()
	return right
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func peakKiB() string {
	status, _ := os.ReadFile("/proc/self/status")
	words := strings.Fields(string(status))
	for i, word := range words {
		if word == "VmHWM:" {
			return words[i+1]
		}
	}
	return "0"
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "list" {
		fmt.Println("fib skynet nqueens matmul channel io_socket")
		return
	}
	threads, _ := strconv.Atoi(os.Args[2])
	size, _ := strconv.ParseUint(os.Args[3], 10, 64)
	if os.Args[1] != "io_socket" {
		runtime.GOMAXPROCS(threads)
	}
	var run func() uint64
	switch os.Args[1] {
	case "fib":
		run = func() uint64 { return fib(size) }
	case "skynet":
		run = func() uint64 { return skynet(0, size) }
	case "nqueens":
		run = func() uint64 { return queens(board{}, 0, int(size)) }
	case "matmul":
		m := newMatrices(int(size))
		run = func() uint64 { return matmul(m) }
	case "channel":
		run = func() uint64 { return channel(threads, size) }
	case "io_socket":
		run = func() uint64 { return ioSocket(uint64(threads), size) }
	}
	first := run()
	cpu, start := cpuSeconds(), time.Now()
	result := run()
	took, used := time.Since(start).Seconds(), cpuSeconds()-cpu
	if first != result {
		result = 0
	}
	fmt.Printf("%.6f %.6f %s %d\n", took, used, peakKiB(), result)
}
