//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// message is one JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// clientSession is an MCP client and the process it talks to.
type clientSession struct {
	t            *testing.T
	cmd          *exec.Cmd
	in           io.WriteCloser
	stderr       lockedBuffer
	stdoutClosed chan struct{} // closed when stdout has ended
	exited       chan struct{} // closed when the process has ended
	answer       func(message) any

	mu             sync.Mutex
	next           int
	pending        map[string]chan message
	notifications  []message // from the server
	serverRequests []message // from the server
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a session and sends nothing.
func start(t *testing.T, cmd *exec.Cmd) *clientSession {
	t.Helper()
	s := &clientSession{t: t, cmd: cmd, stdoutClosed: make(chan struct{}), exited: make(chan struct{}), pending: map[string]chan message{}}
	var err error
	s.in, err = cmd.StdinPipe()
	must(t, err)
	out, theirs, err := os.Pipe()
	must(t, err)
	cmd.Stdout, cmd.Stderr = theirs, &s.stderr
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Start()
	theirs.Close()
	must(t, err)
	go func() {
		defer close(s.stdoutClosed)
		defer out.Close()
		s.read(out)
	}()
	go func() {
		defer close(s.exited)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		select {
		case <-s.exited:
		default: // the test has failed, or there is no jail
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-s.exited
		}
	})
	return s
}

func (s *clientSession) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var m message
		switch {
		case err != nil:
			return
		case json.Unmarshal(line, &m) != nil:
			s.t.Errorf("stdout carries what is no message: %q", line)
			continue
		}
		s.mu.Lock()
		switch {
		case m.Method != "" && m.ID != nil:
			s.serverRequests = append(s.serverRequests, m)
			if s.answer != nil {
				if result := s.answer(m); result != nil {
					s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
				}
			}
		case m.Method != "":
			s.notifications = append(s.notifications, m)
		case s.pending[string(m.ID)] != nil:
			s.pending[string(m.ID)] <- m
			delete(s.pending, string(m.ID))
		default:
			s.t.Errorf("an answer to what was not asked: %s", line)
		}
		s.mu.Unlock()
	}
}

// send writes one message.
func (s *clientSession) send(m any) {
	b, err := json.Marshal(m)
	if err == nil {
		_, err = s.in.Write(append(b, '\n'))
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		s.t.Errorf("send: %v", err)
	}
}

// request sends a request. The channel receives the response.
func (s *clientSession) request(method string, params any) <-chan message {
	s.mu.Lock()
	id := s.next
	s.next++
	c := make(chan message, 1)
	s.pending[strconv.Itoa(id)] = c
	s.mu.Unlock()
	if m, ok := params.(map[string]any); params == nil || ok && m == nil {
		params = struct{}{}
	}
	s.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return c
}

// call sends a request and waits for the response.
func (s *clientSession) call(method string, params any) message {
	s.t.Helper()
	c := s.request(method, params)
	select {
	case m := <-c:
		return m
	case <-s.stdoutClosed:
	case <-time.After(testkit.Patience):
	}
	select {
	case m := <-c:
		return m
	default:
	}
	s.t.Fatalf("%s was not answered\nstderr: %s", method, &s.stderr)
	return message{}
}

// result returns the result of a request, which must not fail.
func (s *clientSession) result(method string, params any) json.RawMessage {
	s.t.Helper()
	m := s.call(method, params)
	if m.Error != nil {
		s.t.Fatalf("%s: %s\nstderr: %s", method, m.Error, &s.stderr)
	}
	return m.Result
}

// open starts a session and does the handshake with the capabilities of the client, which
// may be nil.
func open(t *testing.T, cmd *exec.Cmd, capabilities map[string]any) *clientSession {
	t.Helper()
	s := start(t, cmd)
	s.initialize(capabilities)
	return s
}

func (s *clientSession) initialize(capabilities map[string]any) json.RawMessage {
	s.t.Helper()
	if capabilities == nil {
		capabilities = map[string]any{}
	}
	r := s.result("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": capabilities,
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return r
}

// greet does the handshake. It returns the error of a server that does not start.
func (s *clientSession) greet() (failure json.RawMessage) {
	s.t.Helper()
	m := s.call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	if m.Error == nil {
		s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	return m.Error
}

// toolResult is the part of a tool result that tests look at.
type toolResult struct {
	raw     json.RawMessage
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// texts returns all text blocks.
func (r toolResult) texts() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// tool calls a tool. It returns a JSON-RPC error as a failed result.
func (s *clientSession) tool(name string, arguments any) toolResult {
	s.t.Helper()
	if m, ok := arguments.(map[string]any); arguments == nil || ok && m == nil {
		arguments = struct{}{}
	}
	m := s.call("tools/call", map[string]any{"name": name, "arguments": arguments})
	r := toolResult{raw: m.Result}
	if m.Error != nil {
		r.raw, r.IsError = m.Error, true
		r.Content = append(r.Content, struct {
			Text string `json:"text"`
		}{string(m.Error)})
		return r
	}
	must(s.t, json.Unmarshal(m.Result, &r))
	return r
}

// tools returns the names of the tools, sorted.
func (s *clientSession) tools() []string {
	s.t.Helper()
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	must(s.t, json.Unmarshal(s.result("tools/list", nil), &list))
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// waitNotifications waits for n notifications of a method and returns all so far.
func (s *clientSession) waitNotifications(method string, n int) []message {
	s.t.Helper()
	var found []message
	testkit.Eventually(s.t, fmt.Sprintf("%d × %s", n, method), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		found = nil
		for _, m := range s.notifications {
			if m.Method == method {
				found = append(found, m)
			}
		}
		return len(found) >= n
	})
	return found
}

// close closes stdin, as clients do, and returns the exit status.
func (s *clientSession) close() int {
	s.t.Helper()
	s.in.Close()
	return s.wait()
}

// wait waits until the process has ended and returns the exit status.
func (s *clientSession) wait() int {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(testkit.Patience):
		s.t.Fatalf("%v did not end\nstderr: %s", s.cmd.Args, &s.stderr)
	}
	return statusAfter(s.cmd.ProcessState)
}

// run runs a program with the tool of an exec server. It returns the output and whether
// the program succeeded.
func (s *clientSession) run(argv ...string) (string, bool) {
	s.t.Helper()
	r := s.tool("run", map[string]any{"argv": argv})
	return r.texts(), !r.IsError
}

// mustRun is run for a program that must succeed.
func (s *clientSession) mustRun(argv ...string) string {
	s.t.Helper()
	out, ok := s.run(argv...)
	if !ok {
		s.t.Errorf("%q failed: %s", argv, out)
	}
	return out
}

// mustFail is run for a program that must fail with an output that contains why.
func (s *clientSession) mustFail(why string, argv ...string) string {
	s.t.Helper()
	out, ok := s.run(argv...)
	if ok || !strings.Contains(out, why) {
		s.t.Errorf("%q: want a failure that says %q, got (succeeded: %v): %s", argv, why, ok, out)
	}
	return out
}
