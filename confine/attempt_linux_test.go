package confine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// attempt is a verb of the probe with its arguments.
type attempt []string

func try(verb string, args ...string) attempt { return append(attempt{verb}, args...) }

func (a attempt) String() string { return strings.Join(a, " ") }

// outcome is what came of an attempt: "ok", perhaps with an answer behind it, or
// the name of an errno.
type outcome = string

const succeeded outcome = "ok"

// inJail makes the attempts in one jail, in this order.
func inJail(t testing.TB, p *policy.Profile, attempts ...attempt) []outcome {
	t.Helper()
	out, err := runJail(t, Launcher{Waive: []policy.Axis{policy.AxisFs}}, p, attempts)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return out
}

// jailed is inJail for one attempt.
func jailed(t testing.TB, p *policy.Profile, verb string, args ...string) outcome {
	t.Helper()
	return inJail(t, p, try(verb, args...))[0]
}

func runJail(t testing.TB, l Launcher, p *policy.Profile, attempts []attempt) ([]outcome, error) {
	t.Helper()
	q := *p
	q.Argv = append(slices.Clone(p.Argv), probeArgs(t, attempts)...)
	var out, errs bytes.Buffer
	proc, wait, err := startJail(t, l, &q, &out, &errs)
	if err != nil {
		return nil, err
	}
	exit, _ := proc.Wait()
	wait()
	return outcomes(t, attempts, out.Bytes(), fmt.Sprintf("exit %+v, stderr %q", exit, errs.String())), nil
}

// startJail starts a program with its output collected; wait returns when both
// pipes are at their end.
func startJail(t testing.TB, l Launcher, p *policy.Profile, out, errs io.Writer) (*Process, func(), error) {
	t.Helper()
	if bareWorld {
		l.Waive = allGaps.Waive
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
	proc, err := l.Start(t.Context(), p, Stdio{Out: ends[0], Err: ends[1]})
	ends[0].Close()
	ends[1].Close()
	if err == nil {
		t.Cleanup(func() { proc.Kill(); <-proc.Done() })
	}
	return proc, func() { <-done; <-done }, err
}

// unconfined makes the attempts in a process without a jail: the control.
func unconfined(t testing.TB, dir string, attempts ...attempt) []outcome {
	t.Helper()
	cmd := exec.Command(testBinary)
	cmd.Args = append([]string{probeName}, probeArgs(t, attempts)...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	return outcomes(t, attempts, out, fmt.Sprintf("%v, stderr %q", err, errs.String()))
}

func probeArgs(t testing.TB, attempts []attempt) []string {
	t.Helper()
	b, err := json.Marshal(attempts)
	if err != nil {
		t.Fatal(err)
	}
	return []string{string(b)}
}

// outcomes reads a report. A probe that says less or more than one outcome an
// attempt has failed, whatever it tried.
func outcomes(t testing.TB, attempts []attempt, report []byte, how string) []outcome {
	t.Helper()
	var out []outcome
	if err := json.Unmarshal(report, &out); err != nil || len(out) != len(attempts) {
		t.Fatalf("the probe reported %q (%v) for %d attempts: %s", report, err, len(attempts), how)
	}
	return out
}

func expect(t testing.TB, what string, got, want outcome) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}
