package jailtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Attempts makes the attempts in one jail, in this order.
func Attempts(t testing.TB, p *policy.Profile, attempts ...attacker.Attempt) []attacker.Outcome {
	t.Helper()
	out, err := Run(t, confine.Launcher{Waive: []policy.Axis{policy.AxisFs}}, p, attempts)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return out
}

// Attempt is inJail for one attempt.
func Attempt(t testing.TB, p *policy.Profile, verb string, args ...string) attacker.Outcome {
	t.Helper()
	return Attempts(t, p, attacker.Try(verb, args...))[0]
}

func Run(t testing.TB, l confine.Launcher, p *policy.Profile, attempts []attacker.Attempt) ([]attacker.Outcome, error) {
	t.Helper()
	q := *p
	q.Argv = append(slices.Clone(p.Argv), Args(t, attempts)...)
	var out, errs bytes.Buffer
	proc, wait, err := Start(t, l, &q, &out, &errs)
	if err != nil {
		return nil, err
	}
	exit, _ := proc.Wait()
	wait()
	return Outcomes(t, attempts, out.Bytes(), fmt.Sprintf("exit %+v, stderr %q", exit, errs.String())), nil
}

// Start starts a program with its output collected; wait returns when both
// pipes are at their end.
func Start(t testing.TB, l confine.Launcher, p *policy.Profile, out, errs io.Writer) (*confine.Process, func(), error) {
	t.Helper()
	if HostNS {
		l.Waive = WaivesGaps.Waive
	}
	var ends []*os.File
	done := make(chan struct{}, 2)
	for _, w := range []io.Writer{out, errs} {
		r, pw, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, pw)
		go func() {
			io.Copy(w, r)
			r.Close()
			done <- struct{}{}
		}()
	}
	proc, err := l.Start(t.Context(), p, jail.Stdio{Out: ends[0], Err: ends[1]})
	ends[0].Close()
	ends[1].Close()
	if err == nil {
		t.Cleanup(func() { proc.Kill(); <-proc.Done() })
	}
	return proc, func() { <-done; <-done }, err
}

// Unconfined makes the attempts in a process without a jail: the control.
func Unconfined(t testing.TB, dir string, attempts ...attacker.Attempt) []attacker.Outcome {
	t.Helper()
	cmd := exec.Command(Binary)
	cmd.Args = append([]string{attacker.Name}, Args(t, attempts)...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	return Outcomes(t, attempts, out, fmt.Sprintf("%v, stderr %q", err, errs.String()))
}

func Args(t testing.TB, attempts []attacker.Attempt) []string {
	t.Helper()
	b, err := json.Marshal(attempts)
	if err != nil {
		t.Fatal(err)
	}
	return []string{string(b)}
}

// Outcomes reads a report. A probe that says less or more than one outcome an
// Attempt has failed, whatever it tried.
func Outcomes(t testing.TB, attempts []attacker.Attempt, report []byte, how string) []attacker.Outcome {
	t.Helper()
	var out []attacker.Outcome
	if err := json.Unmarshal(report, &out); err != nil || len(out) != len(attempts) {
		t.Fatalf("the probe reported %q (%v) for %d attempts: %s", report, err, len(attempts), how)
	}
	return out
}

// Rounds returns how often a test repeats what it tests: short times in make test, long
// times in make test-all.
func Rounds(short, long int) int {
	if testkit.All() {
		return long
	}
	return short
}

func Expect(t testing.TB, what string, got, want attacker.Outcome) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}
