// SPDX-License-Identifier: Apache-2.0

// Package serve is the service of serve/ for models in Go: what is asked, the work, the answer. A model hands Main what it
// does with a listener. probes/support/serve/serve.h says what a request is; the instrument is probes/support/serve/drive.py.
package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	least    = 27 // bytes of an answer's three numbers
	mostHead = 4096
	mostBody = 1 << 20
)

// Refusal stands for an answer where no request came.
const Refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// ErrRequest is what Parse says of what is no request.
var ErrRequest = errors.New("not a request")

// Request is what a client asks for.
type Request struct {
	WorkNs, WaitUs, Depth, Lock, Answer uint32
	CRC                                 uint32
	Size                                int // bytes, head included
}

// Model is a model of the service.
type Model struct {
	Title  string
	Source string
	Serve  func(listener net.Listener)
}

var (
	stepsPerNs float64
	lock       sync.Mutex
	// The port of the service that requests wait for; a timer where there is none.
	askedPort = os.Getenv("STEELYARD_SERVE_ASKED")
)

// A connection's own to the service that requests wait for, made for its first question.
type asked struct{ connection net.Conn }

func (asked *asked) wait(us uint32) {
	if askedPort == "" {
		time.Sleep(time.Duration(us) * time.Microsecond)
		return
	}
	var err error
	if asked.connection == nil {
		if asked.connection, err = net.Dial("tcp", "127.0.0.1:"+askedPort); err != nil {
			leave(1, err)
		}
	}
	question := fmt.Appendf(nil, "%08x", us)
	if _, err = asked.connection.Write(question); err == nil {
		_, err = io.ReadFull(asked.connection, question)
	}
	if err != nil {
		leave(1, err)
	}
}

func (asked *asked) close() {
	if asked.connection != nil {
		asked.connection.Close()
	}
}

func number(text []byte, most uint64) (uint32, bool) {
	value, err := strconv.ParseUint(string(text), 10, 32)
	return uint32(value), err == nil && value <= most
}

// Parse returns the first request of data; nil if it is not whole yet.
func Parse(data []byte) (*Request, error) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		if len(data) >= mostHead {
			return nil, ErrRequest
		}
		return nil, nil
	}
	line, headers, _ := bytes.Cut(data[:end+2], []byte("\r\n"))
	words := bytes.Split(line, []byte(" "))
	if end > mostHead || len(words) != 3 || string(words[2]) != "HTTP/1.1" {
		return nil, ErrRequest
	}
	parts := bytes.Split(words[1], []byte("/"))
	request := new(Request)
	fields := []*uint32{&request.WorkNs, &request.WaitUs, &request.Depth, &request.Lock, &request.Answer}
	most := []uint64{1e9, 6e7, 1000, 1, mostBody}
	if len(parts) != 1+len(fields) || len(parts[0]) != 0 {
		return nil, ErrRequest
	}
	for i, field := range fields {
		var right bool
		if *field, right = number(parts[1+i], most[i]); !right {
			return nil, ErrRequest
		}
	}
	var length uint32
	for len(headers) > 0 {
		var header []byte
		header, headers, _ = bytes.Cut(headers, []byte("\r\n"))
		name, value, _ := bytes.Cut(header, []byte(":"))
		if bytes.EqualFold(name, []byte("content-length")) {
			var right bool
			if length, right = number(bytes.TrimSpace(value), mostBody); !right {
				return nil, ErrRequest
			}
		}
	}
	if request.Depth < 1 || request.Answer < least {
		return nil, ErrRequest
	}
	request.Size = end + 4 + int(length)
	if len(data) < request.Size {
		return nil, nil
	}
	request.CRC = crc32.Update(crc32.ChecksumIEEE(words[1]), crc32.IEEETable, data[end+4:request.Size])
	return request, nil
}

func work(state, steps uint32) uint32 {
	for ; steps > 0; steps-- {
		state = state*1664525 + 1013904223
	}
	return state
}

//go:noinline
func (request *Request) deep(steps, depth uint32, other *asked) uint32 {
	if depth > 1 {
		return request.deep(steps, depth-1, other) + depth - depth
	}
	state := work(request.CRC, steps/2)
	if request.WaitUs > 0 {
		other.wait(request.WaitUs)
	}
	if request.Lock == 1 {
		lock.Lock()
		defer lock.Unlock()
	}
	return work(state, steps-steps/2)
}

// Does what the request asks for and appends the answer.
func (request *Request) respond(into []byte, other *asked) []byte {
	steps := uint32(float64(request.WorkNs) * stepsPerNs)
	state := request.deep(steps, request.Depth, other)
	into = fmt.Appendf(into, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%08x %08x %08x\n",
		request.Answer, request.CRC, steps, state)
	return append(into, bytes.Repeat([]byte("."), int(request.Answer)-least)...)
}

// Connection serves one connection until it ends, and closes it.
func Connection(connection net.Conn) {
	defer connection.Close()
	data := make([]byte, 0, 2048)
	var answer []byte
	var other asked
	defer other.close()
	for {
		request, err := Parse(data)
		if err != nil {
			connection.Write([]byte(Refusal))
			return
		}
		if request != nil {
			answer = request.respond(answer[:0], &other)
			if _, err := connection.Write(answer); err != nil {
				return
			}
			data = data[:copy(data, data[request.Size:])]
			continue
		}
		if len(data) == cap(data) {
			data = append(make([]byte, 0, 2*cap(data)), data...)
		}
		came, err := connection.Read(data[len(data):cap(data)])
		if err != nil {
			return
		}
		data = data[:len(data)+came]
	}
}

// The fastest of many short stretches: whoever takes the CPU away for a while doesn't count.
func calibrate() {
	const steps = 20000
	shortest := time.Hour
	state := uint32(1)
	for stretch := 0; stretch < 500; stretch++ {
		began := time.Now()
		state = work(state, steps)
		if took := time.Since(began); took < shortest {
			shortest = took
		}
	}
	if state == 0 {
		fmt.Fprintln(os.Stderr, "an unlikely number")
	}
	stepsPerNs = steps / float64(shortest.Nanoseconds())
}

// Main is a model's whole main: it serves after --serve, and else starts the instrument, which starts it again so.
func Main(model Model) {
	if len(os.Args) == 2 && os.Args[1] == "--about" {
		about := map[string]any{"title": model.Title, "source": model.Source, "threads": 0, "version": runtime.Version()}
		json.NewEncoder(os.Stdout).Encode(about)
		return
	}
	if len(os.Args) < 4 || os.Args[1] != "--serve" {
		instrument()
	}
	calibrate()
	network, address := "tcp", "127.0.0.1:"+os.Args[2]
	if filepath.IsAbs(os.Args[2]) {
		network, address = "unix", os.Args[2]
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		leave(1, err)
	}
	model.Serve(listener)
}

func instrument() {
	self, err := os.Executable()
	if err != nil {
		leave(1, err)
	}
	python := os.Getenv("STEELYARD_PYTHON")
	if python == "" {
		python = "/usr/bin/python3"
	}
	drive := filepath.Join(filepath.Dir(self), "..", "support", "serve", "drive.py")
	leave(77, syscall.Exec(python, append([]string{python, drive, self}, os.Args[1:]...), os.Environ()))
}

func leave(code int, err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}
