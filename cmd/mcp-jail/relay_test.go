//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// The test in relay_streams_test.go compares what a client gets from the server mirror without and
// with a jail.

// exchange is what a client sends and expects in one session.
type exchange struct {
	hold      []string // the argument of the server
	send      []byte
	waitFor   string // a text in stdout, after which the client closes stdin
	stopProxy bool   // stop and continue mcp-jail repeatedly
}

// transcript is the result of an exchange.
type transcript struct {
	stdout, stderr []byte
	status         int // 128 + n after signal n
}

// run does an exchange.
func (c exchange) run(t *testing.T, cmd *exec.Cmd) transcript {
	t.Helper()
	theirIn, in, err := os.Pipe()
	must(t, err)
	out, theirs, err := os.Pipe()
	must(t, err)
	defer out.Close()
	var stderr lockedBuffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirIn, theirs, &stderr, 5*time.Second
	err = cmd.Start()
	theirIn.Close()
	theirs.Close()
	must(t, err)
	hung := time.AfterFunc(testkit.Patience, func() {
		t.Errorf("%v hangs", cmd.Args)
		cmd.Process.Kill()
	})
	defer hung.Stop()

	var r transcript
	heard := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf, met := make([]byte, 64<<10), false
		for {
			n, err := out.Read(buf)
			from := max(0, len(r.stdout)-len(c.waitFor))
			r.stdout = append(r.stdout, buf[:n]...)
			if !met && bytes.Contains(r.stdout[from:], []byte(c.waitFor)) {
				met = true
				close(heard)
			}
			if err != nil {
				return
			}
		}
	}()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		in.Write(c.send)
	}()
	if c.stopProxy {
		for range 5 {
			cmd.Process.Signal(syscall.SIGSTOP)
			testkit.Eventually(t, "the proxy is stopped", func() bool {
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
				return bytes.Contains(stat, []byte(") T "))
			})
			time.Sleep(100 * time.Millisecond)
			cmd.Process.Signal(syscall.SIGCONT)
			time.Sleep(10 * time.Millisecond)
		}
	}
	select {
	case <-sent:
	case <-ended:
	}
	if c.waitFor != "" {
		select {
		case <-heard:
		case <-ended:
		}
	}
	in.Close()
	<-ended
	cmd.Wait()
	r.stderr, r.status = []byte(stderr.String()), statusAfter(cmd.ProcessState)
	return r
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// difference describes the first difference that a client could see, or returns "".
func difference(want, got transcript) string {
	if want.status != got.status {
		return fmt.Sprintf("exit status %d, bare %d; stderr %.300q", got.status, want.status, got.stderr)
	}
	for i := range max(len(want.stdout), len(got.stdout)) {
		if i >= len(want.stdout) || i >= len(got.stdout) || want.stdout[i] != got.stdout[i] {
			clip := func(b []byte) []byte { return b[min(len(b), max(0, i-40)):min(len(b), i+60)] }
			return fmt.Sprintf("stdout (%d bytes, bare %d) differs at %d: %q, bare %q; stderr %.300q", len(got.stdout), len(want.stdout), i, clip(got.stdout), clip(want.stdout), got.stderr)
		}
	}
	return ""
}

const handshake = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"faults","version":"1"}}}` + "\n"

// calls returns requests with these ids, each with other parameters.
func calls(ids []string, end string) []byte {
	b := []byte(handshake)
	for i, id := range ids {
		b = fmt.Appendf(b, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"t","arguments":{"n":%d,"text":"ü🙂\\\u2028"}}}`+end, id, i)
	}
	return b
}

func numbers(n int) (ids []string) {
	for i := range n {
		ids = append(ids, strconv.Itoa(i))
	}
	return ids
}
