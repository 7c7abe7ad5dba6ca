package jailtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
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
	testkit.Must(t, err)
	return out
}

// Attempt makes one attempt in a jail.
func Attempt(t testing.TB, p *policy.Profile, verb string, args ...string) attacker.Outcome {
	t.Helper()
	return Attempts(t, p, attacker.Try(verb, args...))[0]
}

// Tries returns the attempts of lines, whose words are separated by spaces. DIR is dir.
func Tries(dir string, lines ...string) (tries []attacker.Attempt) {
	for _, line := range lines {
		tries = append(tries, strings.Fields(strings.ReplaceAll(line, "DIR", dir)))
	}
	return tries
}

// Run makes the attempts in one jail that the launcher starts. It returns the error of the
// start.
func Run(t testing.TB, l confine.Launcher, p *policy.Profile, attempts []attacker.Attempt) ([]attacker.Outcome, error) {
	t.Helper()
	var out, errs bytes.Buffer
	proc, wait, err := Start(t, l, Asking(t, p, attempts...), &out, &errs)
	if err != nil {
		return nil, err
	}
	exit, _ := proc.Wait()
	wait()
	return Outcomes(t, attempts, out.Bytes(), fmt.Sprintf("exit %+v, stderr %q", exit, errs.String())), nil
}

// Start starts the program of a profile and copies its output. The function that it returns
// waits for the end of both pipes. The end of the test kills the jail.
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

// Unconfined makes the attempts in a process without a jail.
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

// Args returns the arguments that make the attacker make the attempts.
func Args(t testing.TB, attempts []attacker.Attempt) []string {
	t.Helper()
	b := testkit.Get(json.Marshal(attempts))(t)
	return []string{string(b)}
}

// Asking returns the profile with which Run and BeginBy start the attacker.
func Asking(t testing.TB, p *policy.Profile, attempts ...attacker.Attempt) *policy.Profile {
	t.Helper()
	q := *p
	q.Argv = append(q.Argv[:1:1], Args(t, attempts)...)
	return &q
}

// Outcomes reads a report of the attacker. The test fails if the report does not have one
// outcome for each attempt.
func Outcomes(t testing.TB, attempts []attacker.Attempt, report []byte, how string) []attacker.Outcome {
	t.Helper()
	var out []attacker.Outcome
	if err := json.Unmarshal(report, &out); err != nil || len(out) != len(attempts) {
		t.Fatalf("the attacker reported %q (%v) for %d attempts: %s", report, err, len(attempts), how)
	}
	return out
}

// Rounds returns how often a test repeats its attempt: short in make test, long elsewhere.
func Rounds(short, long int) int {
	if testkit.Long() {
		return long
	}
	return short
}

// Expect compares an outcome with the one that the test wants.
func Expect(t testing.TB, what string, got, want attacker.Outcome) {
	t.Helper()
	testkit.Equal(t, what, got, want)
}
