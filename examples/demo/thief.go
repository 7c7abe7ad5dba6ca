package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// attempt is a row of the second act: the theft of a planted thing.
type attempt struct {
	label, tool string
	arguments   map[string]any
	// owned thefts are allowed by the policy, so the jail must not refuse them.
	owned bool
}

// outcomes are the outcomes of all attempts in one session, by label.
type outcomes map[string]answer

func (d *demo) attempts() []attempt {
	all := []attempt{
		{"write into the project folder", "write_file", map[string]any{"path": "report.txt"}, true},
		{"read ~/.ssh/id_ed25519", "read_file", map[string]any{"path": d.path("home/.ssh/id_ed25519"), "show": 0}, false},
		{"read .env in the project folder", "read_file", map[string]any{"path": ".env", "show": 0}, false},
		{"read the variable " + secretName, "env_var", map[string]any{"name": secretName}, false},
		{"plant a hook in .git/hooks", "write_hook", nil, false},
		{"connect to a local service", "connect", map[string]any{"port": d.tcp.Addr().(*net.TCPAddr).Port}, false},
	}
	if d.unix != nil {
		all = append(all, attempt{"open a socket like Docker's", "unix_socket", map[string]any{"path": d.unix.Addr().String()}, false})
	}
	return append(all,
		attempt{"signal the MCP client", "kill", map[string]any{"pid": os.Getpid()}, false},
		attempt{"start a user namespace", "new_namespace", nil, false},
		attempt{"set up an io_uring", "io_uring", nil, false})
}

// thief plays the act of the dishonest server, without a jail and in one, with the same targets.
func (d *demo) thief(ctx context.Context) error {
	d.heading(3, "thief", ", a server that steals: it may use the project folder, and no network")
	d.command("mcp-jail run --config jail.toml thief")
	policy, err := d.policy()
	if err != nil {
		return err
	}
	bare, err := d.heist(ctx, "bare", 3, d.programs.thief)
	if err != nil {
		return err
	}
	// Remove the report of the bare thief, so that the other one can write its own.
	if err := os.Remove(d.path("project/report.txt")); err != nil && !os.IsNotExist(err) {
		return err
	}
	jailed, err := d.heist(ctx, "jailed", 5, d.programs.jail, "run", "--config", policy, "thief")
	if err != nil {
		return err
	}
	d.line("    %s %s %s", pad("", 32), pad("without", 14), "in the jail")
	for _, a := range append(d.attempts(), attempt{label: outlive}) {
		with, tried := jailed[a.label]
		if !tried {
			continue
		}
		d.row(a.label, bare[a.label], with, a.owned)
		refused := !with.ok && strings.HasPrefix(with.text, "failed: ")
		d.expect(with.ok && a.owned || refused && !a.owned, "%s in the jail: %s", a.label, oneLine(with.text))
	}
	// The survivor of the bare thief ends by itself within seconds. Wait for it: it is part of the clean-up.
	d.expect(gone(mark("bare"), 10*time.Second), "the survivor of the thief without a jail is still there")
	return nil
}

func (d *demo) row(label string, bare, jailed answer, owned bool) {
	without, first := "got it", red
	switch {
	case owned:
		without, first = "fine", plain
	case !bare.ok:
		// This machine stops the theft without a jail, so this row proves nothing about the jail.
		without, first = "fails too", dim
	}
	with, second := reason(jailed), green
	if jailed.ok {
		with, second = "got it", red
		if owned {
			with, second = "fine", plain
		}
	}
	d.line("    %s %s %s", pad(label, 32), d.in(first, pad(without, 14)), d.in(second, with))
}

// reason returns why a theft failed: the errno, or the message of the thief.
func reason(a answer) string {
	text := strings.TrimPrefix(oneLine(a.text), "failed: ")
	if errno, _, ok := strings.Cut(text, ":"); ok && errno == strings.ToUpper(errno) {
		return "blocked  " + errno
	}
	if strings.HasSuffix(text, "is not set") {
		return "not set"
	}
	return cut(text, 40)
}

// outlive is the label of the attempt whose outcome shows after the session.
const outlive = "outlive the session"

// heist runs one session of the thief and returns the outcomes.
func (d *demo) heist(ctx context.Context, name string, seconds int, program string, arguments ...string) (outcomes, error) {
	s, err := d.start(ctx, program, arguments...)
	if err != nil {
		return nil, err
	}
	defer s.close()
	offered, err := s.tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the thief's tools: %w\n%s", err, s.said())
	}
	got := outcomes{}
	for _, a := range d.attempts() {
		if !offered[a.tool] {
			continue
		}
		if got[a.label], err = s.call(ctx, a.tool, a.arguments); err != nil {
			return nil, err
		}
	}
	if offered["survive"] && runtime.GOOS == "linux" {
		got[outlive], err = survive(ctx, s, mark(name), seconds)
	}
	return got, err
}

// survive ends the session and reports whether a process of the thief outlives it. It first checks that the process
// exists.
func survive(ctx context.Context, s *session, mark string, seconds int) (answer, error) {
	left, err := s.call(ctx, "survive", map[string]any{"seconds": seconds, "mark": mark})
	if err != nil || !left.ok {
		return left, err
	}
	if !running(mark) {
		return answer{text: "never seen"}, nil
	}
	s.close()
	if gone(mark, time.Second) {
		return answer{text: "failed: it was killed"}, nil
	}
	return left, nil
}

// mark returns the word on the command line of the survivor of a heist.
func mark(heist string) string { return fmt.Sprintf("demo-%d-%s", os.Getpid(), heist) }

// gone waits until the process with mark on its command line has ended. A killed process needs a moment.
func gone(mark string, wait time.Duration) bool {
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !running(mark) {
			return true
		}
	}
	return false
}

func running(mark string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(mark)) {
			return true
		}
	}
	return false
}
