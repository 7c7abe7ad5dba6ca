// Command bridge turns a stdio server into a streamable HTTP server for the official
// conformance suite, which speaks HTTP only.
//
//	bridge COMMAND [ARG…]
//
// It prints the URL, and ends at the end of its standard input. Every legacy session gets a
// process. All requests of 2026-07-28, which has no sessions, go to one more process.
//
// It is not a transport for other uses: it does not check what belongs to HTTP alone, such
// as headers against bodies, and it guesses the stream of messages that belong to no
// request.
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
