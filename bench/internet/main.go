// Command internet is the host that bench grants and reaches, in a network namespace. It
// is a separate program so that bench stays as small as mcp-jail: the init of a jail is a
// copy of bench.
//
//	internet certify DIR    write a certificate for its names, and print the issuer's
//	internet serve DIR      join the pair of interfaces, and serve
package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
)

// internetNames are the hosts of the namespace that stands for the Internet.
var internetNames = map[string][]string{"bench.test": {"198.51.100.10"}, "seen.test": {"198.51.100.11"}}

func main() {
	var err error
	switch os.Args[1] {
	case "certify":
		err = certify(os.Args[2])
	case "serve":
		err = serveInternet(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "internet:", err)
		os.Exit(1)
	}
}

func certify(dir string) error {
	if err := egresstest.Certify(dir, slices.Collect(maps.Keys(internetNames))...); err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(ca)
	return err
}

// serveInternet serves in the namespace until its parent ends.
func serveInternet(dir string) error {
	if err := egresstest.Join(); err != nil {
		return err
	}
	for port, handle := range map[string]func(net.Conn){":7000": echo, ":7001": swallow} {
		l, err := net.Listen("tcp", port)
		if err != nil {
			return err
		}
		go egresstest.Serve(l, handle)
	}
	web, err := net.Listen("tcp", ":443")
	if err != nil {
		return err
	}
	if err := egresstest.ServeNames(func(name string) []string { return internetNames[name] }); err != nil {
		return err
	}
	fmt.Println("up")
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello\n") })
	return http.ServeTLS(web, hello, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
}

func echo(c net.Conn) { io.Copy(c, c) }

// swallow reads to the end and then answers.
func swallow(c net.Conn) {
	buf := make([]byte, 1<<20)
	for {
		if _, err := c.Read(buf); err != nil {
			break
		}
	}
	c.Write([]byte{0})
}
