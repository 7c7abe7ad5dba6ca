package wine

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// command is a start of mcp-jail.exe.
type command struct {
	args  []string
	env   map[string]string // beside what every process on this Windows has
	dir   string            // of Linux; C:\ if empty
	stdin string
	limit time.Duration // of a program that hangs; testkit.Patience if it is 0
}

// result is how a program has ended.
type result struct {
	status      int
	out, errors string
}

func (r result) String() string {
	return fmt.Sprintf("status %d\n%s\n%s", r.status, r.out, r.errors)
}

// jail runs mcp-jail.exe to its end.
func (h *host) jail(t *testing.T, c command) result {
	t.Helper()
	return h.run(t, h.prepare(append([]string{h.program("mcp-jail.exe")}, c.args...), c), c.stdin, cmp.Or(c.limit, testkit.Patience))
}

// prepare returns a program of Windows with what a command has beside its arguments.
func (h *host) prepare(words []string, c command) *exec.Cmd {
	cmd := h.start(words...)
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		cmd.Env = append(cmd.Env, name+"="+c.env[name])
	}
	if c.dir != "" {
		cmd.Dir = c.dir
	}
	return cmd
}

// run runs a program to its end. One that hangs is killed, and fails the test.
func (h *host) run(t *testing.T, cmd *exec.Cmd, stdin string, limit time.Duration) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	testkit.Must(t, cmd.Start())
	hung := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	cmd.WaitDelay = 10 * time.Second // a process of Wine's own can hold the streams
	err := cmd.Wait()
	if !hung.Stop() {
		t.Fatalf("it hangs, and has not ended after %v: %q\n%s\n%s", limit, cmd.Args[1:], out.String(), errs.String())
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// accepted are the gaps that every start here has: those of Windows, and those of Wine.
var accepted = []string{"--waive", "windows", "--waive", "process", "--waive", "limits"}

// serve returns the arguments of mcp-jail that start the test server with arguments.
func (h *host) serve(args ...string) []string {
	return slices.Concat([]string{"run"}, accepted, []string{"--", h.program("server.exe")}, args)
}

// session is a client's end of a session.
type session struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
	errs  string // a file
	last  int
}

// said returns what the program has written to its standard error.
func (s *session) said() string {
	b, _ := os.ReadFile(s.errs)
	return string(b)
}

// session starts mcp-jail.exe for a client, which begins with initialize.
func (h *host) session(t *testing.T, c command) *session {
	t.Helper()
	return h.talk(t, h.prepare(append([]string{h.program("mcp-jail.exe")}, c.args...), c))
}

// talk starts a program for a client, which begins with initialize.
func (h *host) talk(t *testing.T, cmd *exec.Cmd) *session {
	t.Helper()
	errs, err := os.CreateTemp(h.dir, "errors-") // a pipe would have its end when the last process below has ended
	testkit.Must(t, err)
	defer errs.Close()
	s := &session{cmd: cmd, errs: errs.Name()}
	cmd.Stderr = errs
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewReader(out)
	testkit.Must(t, cmd.Start())
	hung := time.AfterFunc(testkit.Patience, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		if !hung.Stop() {
			t.Errorf("a session has not ended after %v: %q", testkit.Patience, cmd.Args[1:])
		}
		if s.cmd.ProcessState == nil {
			s.cmd.Process.Kill()
			s.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("standard error:\n%s", s.said())
		}
	})
	s.call(t, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	s.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *session) send(t *testing.T, message string) {
	t.Helper()
	_, err := io.WriteString(s.stdin, message+"\n")
	testkit.Must(t, err)
}

// call asks, and returns the result of the answer. An answer with an error fails the test.
func (s *session) call(t *testing.T, method, params string) json.RawMessage {
	t.Helper()
	s.last++
	s.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.last, method, params))
	for {
		line, err := s.lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("no answer to %s: %v\n%s", method, err, s.said())
		}
		var answer struct {
			ID            *int
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if answer.ID == nil || *answer.ID != s.last {
			continue // a notification
		}
		if answer.Error != nil {
			t.Fatalf("%s: %s", method, answer.Error)
		}
		return answer.Result
	}
}

// tool calls a tool and returns the text of its answer.
func (s *session) tool(t *testing.T, name, arguments string) string {
	t.Helper()
	answer := s.call(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	testkit.Must(t, json.Unmarshal(answer, &result))
	if len(result.Content) != 1 || result.IsError {
		t.Fatalf("%s: %s", name, answer)
	}
	return result.Content[0].Text
}

// close ends the session as a client does, and returns the exit status.
func (s *session) close(t *testing.T) int {
	t.Helper()
	s.stdin.Close()
	if rest, err := io.ReadAll(s.lines); err != nil || len(rest) > 0 {
		t.Errorf("after the end of the session: %q, %v", rest, err)
	}
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}
