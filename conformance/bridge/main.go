// Command bridge makes a streamable HTTP server of a stdio one, for the official
// conformance suite, which speaks HTTP only.
//
//	bridge COMMAND [ARG…]
//
// It prints the URL, and ends at the end of its standard input. Every legacy session
// gets a process of its own. All requests of 2026-07-28, which know no session, go
// to one more process.
//
// It is no transport to use elsewhere: what belongs to HTTP alone, such as the
// comparison of headers with bodies, is left out, and what the server says outside
// of any request goes to whichever stream is likeliest.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: bridge COMMAND [ARG…]")
		os.Exit(2)
	}
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bridge:", err)
		os.Exit(1)
	}
}

func serve(argv []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b := &bridge{argv: argv, sessions: map[string]*peer{}}
	srv := &http.Server{Handler: b}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		srv.Close()
	}()
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	err = srv.Serve(listener)
	b.end()
	if err == http.ErrServerClosed || err == context.Canceled {
		return nil
	}
	return err
}
