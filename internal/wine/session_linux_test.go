package wine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestVersion: the program starts, and knows what it is on.
func TestVersion(t *testing.T) {
	t.Parallel()
	h := start(t)
	r := h.jail(t, command{args: []string{"version"}})
	if r.status != 0 || !strings.HasPrefix(r.out, "mcp-jail ") || !strings.Contains(r.out, " windows/amd64\n") || r.errors != "" {
		t.Error(r)
	}
}

// unheld are the probes of the self-test that Wine 8 fails.
var unheld = []string{"W3", "W5", "W6", "W7", "W9"}

// TestDoctor: the gaps of Windows are named, and the parts of the self-test that Wine does not hold.
// The other parts have passed.
func TestDoctor(t *testing.T) {
	t.Parallel()
	h := start(t)
	r := h.jail(t, command{args: []string{"doctor"}})
	var failed []string
	for line := range strings.Lines(r.out) {
		if probe, _, ok := strings.Cut(line, ": this does not hold: "); ok {
			failed = append(failed, probe)
		}
	}
	if !slices.Equal(failed, unheld) {
		t.Errorf("the probes %v have failed, want %v", failed, unheld)
	}
	for _, want := range []string{
		"mcp-jail restricts no files on Windows", "mcp-jail restricts no connections on Windows", `waive = ["process", "limits", "windows"]`,
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if r.status != 3 || t.Failed() {
		t.Error(r)
	}
}

// TestRefusal: a server does not start where a gap is not accepted, and the client is told why.
func TestRefusal(t *testing.T) {
	t.Parallel()
	h := start(t)
	r := h.jail(t, command{
		args:  []string{"run", "--waive", "process", "--waive", "limits", "--", h.program("server.exe")},
		stdin: `{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n",
	})
	if r.status != 3 || !strings.Contains(r.out, `"id":5,"error":`) || !strings.Contains(r.out, "mcp-jail restricts no files on Windows") || strings.Contains(r.errors, "the server has started") {
		t.Error(r)
	}
}

// TestRelay: lists, the arguments as they were given, answers of 3 MB, and what the server writes to
// its standard error.
func TestRelay(t *testing.T) {
	t.Parallel()
	h := start(t)
	args := []string{"", " ", "a b", `a b\`, `a\b\\`, `q"r`, `"`, `\"`, `a\\"b c\\`, `""`, "'x y'", "%PATH%", "^&|<>()", "a\tb", "ä€😀", "*", "--flag=a b", "/x"}
	s := h.session(t, command{args: h.serve(args...)})
	if list := s.call(t, "tools/list", "{}"); !bytes.Contains(list, []byte(`"name":"spawn"`)) {
		t.Errorf("tools/list: %s", list)
	}
	var arrived []string
	testkit.Must(t, json.Unmarshal([]byte(s.tool(t, "args", "{}")), &arrived))
	if !slices.Equal(arrived, args) {
		t.Errorf("the server has the arguments %q, want %q", arrived, args)
	}
	const size = 3_000_000
	for range 3 {
		if text := s.tool(t, "big", `{"bytes":`+strconv.Itoa(size)+`}`); text != strings.Repeat("y", size) {
			t.Errorf("an answer has %d bytes, want %d", len(text), size)
		}
	}
	if status := s.close(t); status != 0 || !strings.Contains(s.said(), "the server has started\n") {
		t.Errorf("status %d\n%s", status, s.said())
	}
}

// TestEnvironment: of the variables only those that a profile grants reach the server.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	h := start(t)
	args := append([]string{"run", "--env", "GIVEN"}, h.serve()[1:]...)
	s := h.session(t, command{args: args, env: map[string]string{"GIVEN": "given", "WITHHELD": "withheld"}})
	variables := strings.Split(s.tool(t, "env", "{}"), "\n")
	if !slices.Contains(variables, "GIVEN=given") || strings.Contains(strings.Join(variables, "\n"), "withheld") {
		t.Errorf("the server has the variables %q", variables)
	}
	s.close(t)
}

// TestEnd: when a session ends, its server ends, and all that the server has started. It may end by
// its client or be killed. Without mcp-jail, the same processes live on when the server is killed.
func TestEnd(t *testing.T) {
	t.Parallel()
	h := start(t)
	for name, c := range map[string]struct {
		bare bool
		end  func(t *testing.T, s *session)
		left int
	}{
		"the client ends": {end: func(t *testing.T, s *session) {
			if status := s.close(t); status != 0 {
				t.Errorf("status %d", status)
			}
		}},
		"killed":          {end: func(t *testing.T, s *session) { s.cmd.Process.Kill(); s.cmd.Wait() }},
		"killed, no jail": {end: func(t *testing.T, s *session) { s.cmd.Process.Kill(); s.cmd.Wait() }, bare: true, left: 2},
		"closed, no jail": {end: func(t *testing.T, s *session) { s.stdin.Close(); s.cmd.Wait() }, bare: true, left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			word := "tree-of-" + strings.ReplaceAll(name, " ", "-")
			below := func() []int { // the child and its child, which have the word as an argument
				return processes(func(pid int, _ []byte) bool { return strings.HasSuffix(arguments(pid), word) })
			}
			var s *session
			if c.bare {
				s = h.talk(t, h.start(h.program("server.exe")))
			} else {
				s = h.session(t, command{args: h.serve()})
			}
			t.Cleanup(func() {
				for _, pid := range below() {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			if said := s.tool(t, "spawn", `{"word":"`+word+`"}`); said != "started" || len(below()) != 2 {
				t.Fatalf("%s; below the server are %v", said, below())
			}
			c.end(t, s)
			testkit.Eventually(t, strconv.Itoa(c.left)+" processes are left", func() bool { return len(below()) == c.left })
		})
	}
}
