//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var dropped = regexp.MustCompile(`mcp-jail: (\d+) lines of the server's stderr were dropped`)

// TestStderrFlood tests a server that floods stderr while it or the client has closed its
// stdout.
func TestStderrFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program, err := faultyServer()
	must(t, err)
	const lines = 30_000 // more than pipes and queues hold, and few enough to be written before the server gets SIGTERM

	// A client that reads stderr gets each line, or a count of dropped lines.
	c := exchange{send: calls([]string{"1"}, "\n"), waitFor: `"id":1,`}
	count := func(r transcript) int { return bytes.Count(r.stderr, []byte(" of many\n")) }
	bare := c.run(t, w.plain(program, "stderr", strconv.Itoa(lines)), testkit.Patience)
	if bare.status != 5 || count(bare) != lines {
		t.Errorf("the bare server: status %d, %d lines", bare.status, count(bare))
	}
	got := c.run(t, w.jail("--", program, "stderr", strconv.Itoa(lines)), testkit.Patience)
	n := count(got)
	for _, d := range dropped.FindAllSubmatch(got.stderr, -1) {
		n += atoi(d[1])
	}
	if got.status != 5 || n != lines || count(got) == 0 {
		t.Errorf("status %d, %d lines came or were counted, %d came", got.status, n, count(got))
	}
	if !bytes.Contains(got.stdout, []byte(`"id":1,"error":{"code":-31003`)) {
		t.Errorf("the call is not answered: %q", got.stdout)
	}

	// A client that does not read stderr blocks a server without a jail for ever.
	for _, mode := range []string{"stderr", "stderr-until-eof"} {
		for kind, cmd := range map[string]*exec.Cmd{
			"bare": w.plain(program, mode, strconv.Itoa(lines)), "jailed": w.jail("--", program, mode, strconv.Itoa(lines)),
		} {
			unread, theirErr, err := os.Pipe()
			must(t, err)
			out, theirOut, err := os.Pipe()
			must(t, err)
			cmd.Stdout, cmd.Stderr = theirOut, theirErr
			in, err := cmd.StdinPipe()
			must(t, err)
			must(t, cmd.Start())
			theirOut.Close()
			theirErr.Close()
			io.WriteString(in, handshake)
			out.Read(make([]byte, 1000))
			if mode == "stderr-until-eof" {
				// The next response cannot be written. No fork happens meanwhile: a child would hold
				// the pipe open until it executes its own program, and could take that response.
				syscall.ForkLock.RLock()
				out.Close()
				syscall.ForkLock.RUnlock()
			}
			in.Write(bytes.TrimPrefix(calls([]string{"1"}, "\n"), []byte(handshake)))
			ended := make(chan struct{})
			go func() { cmd.Wait(); close(ended) }()
			patient := testkit.Patience
			if kind == "bare" {
				patient = time.Second
				if mode == "stderr-until-eof" {
					in.Close()
				}
			}
			select {
			case <-ended:
			case <-time.After(patient):
				cmd.Process.Kill()
				<-ended
			}
			want := map[string]int{"bare stderr": 137, "jailed stderr": 5, "bare stderr-until-eof": 6, "jailed stderr-until-eof": 6}[kind+" "+mode]
			if status := statusAfter(cmd.ProcessState); status != want {
				t.Errorf("%s, %s: exit status %d, want %d", kind, mode, status, want)
			}
			in.Close()
			out.Close()
			unread.Close()
		}
		w.noneLeft(t)
	}
}
