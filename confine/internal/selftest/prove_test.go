//go:build darwin || linux

package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// proveAlone makes this process one that calls Prove, if it was started for that.
func proveAlone() {
	if len(os.Args) < 3 || os.Args[1] != "prove" {
		return
	}
	log, err := os.OpenFile(os.Args[3], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	self, _ := os.Executable()
	o := Options{Sandbox: self, Say: func(s string) { fmt.Fprintln(log, "say", s) }, change: func(r *runner) {
		fmt.Fprintln(log, "run")
		r.compile = noText
	}}
	result, err := Prove(context.Background(), os.Args[2], o)
	if err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(result.Proof)
	os.Exit(0)
}

func proveCommand(t *testing.T, dir, log string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(self, "prove", dir, log)
}

func runs(t *testing.T, log string) int {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "run\n")
}

// leftovers lists what a test has left in its cache directory and in the one with short paths.
func leftovers(t *testing.T, dir string, before []string) (out []string) {
	t.Helper()
	in, err := filepath.Glob(filepath.Join(dir, below, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shorts(t) {
		if !slices.Contains(before, s) {
			in = append(in, s)
		}
	}
	return in
}

func shorts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(shortDir, fmt.Sprintf("mj-%d-*", os.Getuid())))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTogether tests that of six programs that ask at once one makes the test, and that all have its
// result, also where it is not a good one.
func TestTogether(t *testing.T) {
	dir, log, before := t.TempDir(), filepath.Join(t.TempDir(), "log"), shorts(t)
	var all sync.WaitGroup
	var outs [6]bytes.Buffer
	for i := range outs {
		c := proveCommand(t, dir, log)
		c.Stdout, c.Stderr = &outs[i], os.Stderr
		all.Go(func() {
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := runs(t, log); n != 1 {
		t.Errorf("%d tests were made", n)
	}
	for i := range outs {
		if outs[i].String() != outs[0].String() || !strings.Contains(outs[0].String(), `"made":true`) {
			t.Errorf("%d: %s", i, outs[i].String())
		}
	}
	if left := leftovers(t, dir, before); left != nil {
		t.Errorf("left: %v", left)
	}
}

// TestKilled kills a program while it makes the test, at a random moment. The next one is not held up,
// and removes what was left.
func TestKilled(t *testing.T) {
	dir, log, before := t.TempDir(), filepath.Join(t.TempDir(), "log"), shorts(t)
	for range 12 {
		c := proveCommand(t, dir, log)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
		c.Process.Kill()
		c.Wait()
		os.Remove(filepath.Join(dir, file)) // it may have come to its end
	}
	c := proveCommand(t, dir, log)
	out, err := c.Output()
	if err != nil || !bytes.Contains(out, []byte(`"made":true`)) {
		t.Fatalf("%v: %s", err, out)
	}
	if left := leftovers(t, dir, before); left != nil {
		t.Errorf("left: %v", left)
	}
}

// pass makes Prove find that everything passes, and counts how often it tests.
func pass(n *int) Options {
	return Options{Self: "/bin/sh", Sandbox: "/bin/sh", change: func(r *runner) {
		*n++
		r.build = func(*hosts, names) error { return nil }
		r.compile, r.perform = noText, scripted{table: r.table}.perform
	}}
}

// TestCache tests what is believed: the result for this machine alone, as mcp-jail wrote it.
func TestCache(t *testing.T) {
	edit := func(change func(s *stored)) func(string) error {
		return func(path string) error {
			var s stored
			text, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(text, &s)
			}
			if err != nil {
				return err
			}
			change(&s)
			if text, err = json.Marshal(s); err != nil {
				return err
			}
			return os.WriteFile(path, text, 0o600)
		}
	}
	row := func(r *Result, id string) *Row {
		return &r.Rows[slices.IndexFunc(r.Rows, func(r Row) bool { return r.ID == id })]
	}
	first := func(r *Result) *Row { return &r.Rows[len(startRows(answer{}, answer{}))] }
	for _, c := range []struct {
		name   string
		change func(path string) error
		kept   bool
	}{
		{"as it was written", func(string) error { return nil }, true},
		{"written again", edit(func(*stored) {}), true},
		{"another build", edit(func(s *stored) { s.Key.System += "x" }), false},
		{"another mcp-jail", edit(func(s *stored) { s.Key.Program += "x" }), false},
		{"another generator", edit(func(s *stored) { s.Key.Generator++ }), false},
		{"another table", edit(func(s *stored) { s.Key.Table = "x" }), false},
		{"another kind of volume", edit(func(s *stored) { s.Key.Folds = !s.Key.Folds }), false},
		{"another architecture", edit(func(s *stored) { s.Key.Arch = "x" }), false},
		{"not made", edit(func(s *stored) { s.Result.Proof.Made = false }), false},
		{"a probe is missing", edit(func(s *stored) { s.Result.Rows = s.Result.Rows[1:] }), false},
		{"no probes", edit(func(s *stored) { s.Result.Rows = nil }), false},
		{"a probe is left out", edit(func(s *stored) { row(&s.Result, "R2a").Verdict = NotHere }), false},
		{"a failed probe has passed", edit(func(s *stored) { row(&s.Result, "R2a").Got = works }), false},
		{"a failure is missing", edit(func(s *stored) { r := row(&s.Result, "R2a"); r.Got, r.Verdict = works, Failed }), false},
		{"a probe without consequence", edit(func(s *stored) { row(&s.Result, "R2a").Info = true }), false},
		{"a probe with another name", edit(func(s *stored) { row(&s.Result, "R2a").ID = "R2z" }), false},
		{"a probe of another axis", edit(func(s *stored) { row(&s.Result, "R2a").Axis = policy.AxisEnv }), false},
		{"a probe that is fatal no more, or now", edit(func(s *stored) { r := row(&s.Result, "R2a"); r.Fatal = !r.Fatal }), false},
		{"a probe that wants something else", edit(func(s *stored) { row(&s.Result, "R2a").Want = works }), false},
		{"the first probe of the table has failed", edit(func(s *stored) { first(&s.Result).Got = "?" }), false},
		{"the first probe of the table is left out", edit(func(s *stored) { first(&s.Result).Verdict = NotHere }), false},
		{"the start is left out", edit(func(s *stored) { row(&s.Result, "S1").Verdict = NotHere }), false},
		{"cut off", func(p string) error { return os.Truncate(p, 400) }, false},
		{"empty", func(p string) error { return os.Truncate(p, 0) }, false},
		{"large", func(p string) error { return os.Truncate(p, maxFile+1) }, false},
		{"readable for others", func(p string) error { return os.Chmod(p, 0o644) }, false},
		{"writable for others", func(p string) error { return os.Chmod(p, 0o622) }, false},
		{"a symbolic link", func(p string) error { os.Rename(p, p+"2"); return os.Symlink(p+"2", p) }, false},
		{"gone", os.Remove, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, n := t.TempDir(), 0
			if got := Cached(dir); got.Proof.Made || got.Proof.Why == "" {
				t.Fatalf("without a result: %+v", got.Proof)
			}
			if r, err := Prove(t.Context(), dir, pass(&n)); err != nil || !r.Proof.Made || r.Proof.Failed != nil || n != 1 {
				t.Fatalf("the first test: %v, %+v", err, r.Proof)
			}
			if err := c.change(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			got := Cached(dir)
			if got.Proof.Made != c.kept || (got.Proof.Why == "") != c.kept {
				t.Errorf("the cache: %+v", got.Proof)
			}
			r, err := Prove(t.Context(), dir, pass(&n))
			if err != nil && (strings.Contains(c.name, "link") || strings.Contains(err.Error(), "chmod go-w")) {
				return // it stays the user's, and nothing starts
			}
			if err != nil || !r.Proof.Made || (n == 1) != c.kept {
				t.Errorf("afterwards: %v, %+v, %d tests", err, r.Proof, n)
			}
		})
	}
}

// TestOwner tests that a result of another user is none. It needs root.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: the directory of another user cannot be made")
		return
	}
	dir, n := t.TempDir(), 0
	if _, err := Prove(t.Context(), dir, pass(&n)); err != nil {
		t.Fatal(err)
	}
	if !Cached(dir).Proof.Made {
		t.Fatal("control: there is no result")
	}
	if err := os.Chown(filepath.Join(dir, file), 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if got := Cached(dir); got.Proof.Made {
		t.Errorf("%+v", got.Proof)
	}
}

// TestFailures tests how long a result counts in which something failed.
func TestFailures(t *testing.T) {
	asked := time.Now()
	good := Result{Proof: features.Proof{Made: true}}
	bad := Result{Proof: features.Proof{Made: true, Failed: []features.FailedProbe{{ID: "R2"}}}}
	for _, c := range []struct {
		name   string
		result Result
		made   time.Duration // after the program asked
		passed time.Duration // since it was made
		want   bool
	}{
		{"passed", good, -1000 * time.Hour, 1000 * time.Hour, true},
		{"passed, by another clock", good, time.Hour, -time.Hour, true},
		{"failed just now", bad, -time.Second, time.Second, true},
		{"failed long ago", bad, -time.Hour, time.Hour, false},
		{"failed while the program waited", bad, time.Second, time.Hour, true},
		{"failed, by another clock", bad, time.Hour, -time.Hour, false},
		{"not made, just now", none("x"), -time.Second, time.Second, true},
		{"not made, long ago", none("x"), -time.Hour, time.Hour, false},
	} {
		made := asked.Add(c.made)
		if got := (stored{Made: made, Result: c.result}).counts(asked, made.Add(c.passed)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestAgain tests that doctor tests again, and that another program takes what it found.
func TestAgain(t *testing.T) {
	dir, n := t.TempDir(), 0
	o := pass(&n)
	for range 3 {
		o.Again = true
		if _, err := Prove(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
	}
	o.Again = false
	if _, err := Prove(t.Context(), dir, o); err != nil || n != 3 {
		t.Errorf("%v, %d tests", err, n)
	}
}

// TestNoCompiler tests that a machine whose text cannot be made has no proof, and that the reason is
// kept.
func TestNoCompiler(t *testing.T) {
	dir, n := t.TempDir(), 0
	o := pass(&n)
	change := o.change
	o.change = func(r *runner) { change(r); r.build = func(*hosts, names) error { return os.ErrPermission } }
	r, err := Prove(t.Context(), dir, o)
	if err != nil || r.Proof.Made || !strings.Contains(r.Proof.Why, "the files of the self-test could not be made") {
		t.Errorf("%v, %+v", err, r.Proof)
	}
	if got := Cached(dir); got.Proof.Made || got.Proof.Why != r.Proof.Why {
		t.Errorf("the cache: %+v", got.Proof)
	}
}

// TestCancelled tests that a start that is given up leaves no result.
func TestCancelled(t *testing.T) {
	dir, n := t.TempDir(), 0
	ctx, cancel := context.WithCancel(t.Context())
	o := pass(&n)
	change := o.change
	o.change = func(r *runner) { change(r); cancel() }
	if _, err := Prove(ctx, dir, o); err == nil {
		t.Error("no error")
	}
	if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
		t.Error("it left a result")
	}
}
