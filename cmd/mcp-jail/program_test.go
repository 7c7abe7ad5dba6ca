//go:build linux

package main

import (
	"fmt"
	"net"
	"testing"
)

// shell starts a session with the exec server of node, in the default policy.
func shell(t *testing.T, w *world, flags ...string) *session {
	t.Helper()
	args := append(flags, "--", "node", w.fixture(t, "exec.mjs"))
	return open(t, w.jail(args...), nil)
}

// hostPort is a port that the host listens at.
func hostPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}
