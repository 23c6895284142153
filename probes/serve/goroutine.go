// SPDX-License-Identifier: Apache-2.0

// goroutine - a goroutine for each connection, on the network poller of Go's runtime.
//
// Known answer: checksum and result of each request.  Limits: the collector runs as in any program.
// Source: the documentation of package net.
package main

import (
	"net"

	"steelyard/probe/serve"
)

func main() {
	serve.Main(serve.Model{
		Title:  "goroutine a connection",
		Source: "documentation of Go's package net",
		Serve: func(listener net.Listener) {
			for {
				if connection, err := listener.Accept(); err == nil {
					go serve.Connection(connection)
				}
			}
		},
	})
}
