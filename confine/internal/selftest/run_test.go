//go:build darwin || linux

package selftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attempt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
)

// fakeSandbox makes this process a sandbox-exec that confines nothing, if it was started as one. It
// refuses a text with an operation that does not exist, as the real one does.
func fakeSandbox() {
	if len(os.Args) < 2 || os.Args[1] != "-f" {
		return
	}
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		os.Exit(66)
	}
	if strings.Contains(string(text), "no-such-operation") {
		fmt.Fprintln(os.Stderr, "sandbox-exec: unbound variable: no-such-operation at <input string>, line 3")
		os.Exit(65)
	}
	landlocked(string(text))
	i := slices.Index(os.Args, "--") + 1
	err = syscall.Exec(os.Args[i], os.Args[i:], os.Environ())
	fmt.Fprintln(os.Stderr, "sandbox-exec: execvp:", err)
	os.Exit(71)
}

func noText(seatbelt.Input) (seatbelt.Text, error) {
	return seatbelt.Text{Profile: "(version 1)\n"}, nil
}

// testRunner returns a runner with directories of its own, and with this program in both roles.
func testRunner(t *testing.T) *runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp(shortDir, "mj-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	return &runner{self: self, sandbox: self, dir: t.TempDir(), temp: short, compile: noText, build: build, perform: perform, table: Table()}
}

func run(t *testing.T, r *runner) Result {
	t.Helper()
	got, err := r.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestNoWall tests that the proof of a sandbox that confines nothing refuses: each attempt that must
// be refused worked, and its control shows that it can work.
func TestNoWall(t *testing.T) {
	r := testRunner(t)
	got := run(t, r)
	byTry := map[string]Probe{}
	for _, test := range r.table {
		for i, p := range test.Probes {
			byTry[test.ID+string(rune('a'+i))] = p
		}
	}
	for _, row := range got.Rows {
		p, ok := byTry[row.ID]
		switch {
		case !ok: // of the start itself
		case p.When != Always:
			continue
		case row.Control != p.Control:
			t.Errorf("%s %s: the control is %q", row.ID, row.Try, row.Control)
		}
		if want := !ok || p.Want == p.Control; (row.Verdict == Passed) != want {
			t.Errorf("%s %s: %s: %s", row.ID, row.Try, row.Verdict, row.Happened())
		}
	}
	if at := slices.IndexFunc(got.Rows, func(r Row) bool { return r.ID == "S4" }); got.Rows[at].Got != got.Rows[at].Want {
		t.Errorf("the wrong text is refused with %s, not %s", got.Rows[at].Got, got.Rows[at].Want)
	}
	var tests []string
	for _, f := range got.Proof.Failed {
		tests = append(tests, f.ID)
	}
	if want := "R2 R4 F2 F3 F4 F5 F7 F9 F10 F11 F14 F15 F13 X1 X2 N1 N2 N6 N4 I1"; runtime.GOOS == "linux" && strings.Join(tests, " ") != want {
		t.Errorf("failed: %s\nwant:   %s", strings.Join(tests, " "), want)
	}
	if !got.Proof.Made {
		t.Error("the test was not made")
	}
}

// scripted answers as a jail that holds everything does, but for what change says. sides counts the
// attempts of each side.
type scripted struct {
	table  []Test
	change func(j job, a *answer)
}

func (s scripted) perform(_ context.Context, j job) answer {
	a := answer{got: map[int]string{}}
	_, probes := rows(s.table)
	if j.group == "wrong" {
		a.status, a.said = 65, "unbound variable: no-such-operation"
	} else {
		for _, try := range j.tries {
			a.got[try.N] = probes[try.N].Control
			if j.inside {
				a.got[try.N] = probes[try.N].Want
			}
		}
	}
	if s.change != nil {
		s.change(j, &a)
	}
	return a
}

func scriptedRunner(t *testing.T, change func(j job, a *answer)) *runner {
	r := testRunner(t)
	r.folds, r.build = true, func(*hosts, names) error { return nil }
	r.perform = scripted{table: r.table, change: change}.perform
	return r
}

// TestAllPass is the control of the tests below.
func TestAllPass(t *testing.T) {
	got := run(t, scriptedRunner(t, nil))
	if !got.Proof.Made || got.Proof.Failed != nil || got.Proof.Layered {
		t.Errorf("the proof is %+v", got.Proof)
	}
	for _, row := range got.Rows {
		if row.Verdict != Passed && row.Verdict != NotHere {
			t.Errorf("%s: %s", row.ID, row.Verdict)
		}
	}
}

// TestOneFlipped flips the outcome of each probe, inside and outside, in each way in which it may be
// wrong. The test of the probe must fail, with its axis, and no other.
func TestOneFlipped(t *testing.T) {
	table := Table()
	all, probes := rows(table)
	for n, p := range probes {
		if p.When == Darwin && runtime.GOOS != "darwin" {
			continue
		}
		test := strings.TrimRight(all[n].ID, "abcdefghijklmnopqrstuvwxyz")
		wrong := []string{"", "ENOENT"}
		if p.Want != works {
			wrong = append(wrong, works)
		}
		if p.Want == Refused {
			wrong = []string{"", works}
		}
		for _, side := range []struct {
			inside bool
			wrong  []string
		}{{true, wrong}, {false, []string{"", "EACCES"}}} {
			for _, value := range side.wrong {
				got := run(t, scriptedRunner(t, func(j job, a *answer) {
					if _, asked := a.got[n]; asked && j.inside == side.inside {
						if a.got[n] = value; value == "" {
							delete(a.got, n)
						}
					}
				}))
				failed := got.Proof.Failed
				if all[n].Info {
					if failed != nil {
						t.Errorf("%s: a failure without consequence has one: %+v", all[n].ID, failed)
					}
					continue
				}
				if len(failed) != 1 || failed[0].ID != test || failed[0].Axis != all[n].Axis || failed[0].Fatal != all[n].Fatal || failed[0].Axis == "" {
					t.Errorf("%s, inside %v, %q: %+v", all[n].ID, side.inside, value, failed)
				}
			}
		}
	}
}

// TestForms tests that the second form is taken if it passes what the first does not, and only then.
func TestForms(t *testing.T) {
	all, _ := rows(Table())
	row := func(id string) int { return slices.IndexFunc(all, func(r Row) bool { return r.ID == id }) }
	for _, c := range []struct {
		name          string
		first, second []string // what fails
		layered       bool
		failed        []string
	}{
		{"the second passes", []string{"F12b"}, nil, true, nil},
		{"both fail", []string{"F12b"}, []string{"F12b"}, false, []string{"F12"}},
		{"the second lets more through", []string{"F12b"}, []string{"R2a"}, false, []string{"F12"}},
		{"no other form helps", []string{"N1a"}, nil, false, []string{"N1"}},
		{"the second passes more", []string{"R1a", "F12b", "N1a"}, []string{"N1a"}, true, []string{"N1"}},
	} {
		forms := map[seatbelt.Form]int{}
		r := scriptedRunner(t, func(j job, a *answer) {
			fails := c.first
			if strings.HasPrefix(filepath.Base(filepath.Dir(j.file())), "1-") {
				fails = c.second
			}
			for _, id := range fails {
				if _, asked := a.got[row(id)]; asked && j.inside {
					a.got[row(id)] = "wrong"
				}
			}
		})
		r.compile = func(in seatbelt.Input) (seatbelt.Text, error) { forms[in.Form]++; return noText(in) }
		got := run(t, r)
		var failed []string
		for _, f := range got.Proof.Failed {
			failed = append(failed, f.ID)
		}
		if got.Proof.Layered != c.layered || !slices.Equal(failed, c.failed) {
			t.Errorf("%s: layered %v, failed %v", c.name, got.Proof.Layered, failed)
		}
		if c.name == "no other form helps" && forms[seatbelt.Layered] > 0 {
			t.Errorf("%s: it was tried", c.name)
		}
	}
}

func (j job) file() string {
	if i := slices.Index(j.args, "-f"); i >= 0 {
		return j.args[i+1]
	}
	return ""
}

// TestUnknownOperations tests that optional operations are left out which the system does not know,
// and no others.
func TestUnknownOperations(t *testing.T) {
	for _, c := range []struct {
		unknown []string
		without []string
		fatal   bool
	}{
		{nil, nil, false},
		{[]string{"system-fsctl"}, []string{"system-fsctl"}, false},
		{[]string{"system-fsctl", "file-test-existence"}, []string{"system-fsctl", "file-test-existence"}, false},
		{[]string{"file-read-data"}, nil, true},
	} {
		var without []string
		r := scriptedRunner(t, func(j job, a *answer) {
			for _, op := range c.unknown {
				if j.group != "wrong" && j.inside && !slices.Contains(without, op) {
					*a = answer{status: 65, end: "exit status 65", said: "sandbox-exec: unbound variable: " + op + " at <input string>, line 9"}
					return
				}
			}
		})
		r.compile = func(in seatbelt.Input) (seatbelt.Text, error) { without = in.Without; return noText(in) }
		got := run(t, r)
		fatal := slices.ContainsFunc(got.Rows, func(r Row) bool { return r.ID == "S1" && r.Bad() && strings.Contains(r.Got, "unbound variable") })
		if !slices.Equal(got.Proof.Without, c.without) || fatal != c.fatal || c.fatal != (got.Proof.Failed != nil) {
			t.Errorf("%v: without %v, fatal %v", c.unknown, got.Proof.Without, got.Proof.Failed)
		}
	}
}

// TestStartItself tests the two tests that are not in the table.
func TestStartItself(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(j job, a *answer)
		want   string
	}{
		{"no jail starts", func(j job, a *answer) {
			if j.inside && j.group != "wrong" {
				*a = answer{status: 71, end: "exit status 71", said: "sandbox-exec: sandbox_apply: Operation not permitted"}
			}
		}, "S1"},
		{"a wrong text runs", func(j job, a *answer) {
			if j.group == "wrong" {
				*a = answer{got: map[int]string{0: works}}
			}
		}, "S4"},
		{"a wrong text runs and fails", func(j job, a *answer) {
			if j.group == "wrong" {
				*a = answer{got: map[int]string{0: works}, status: 65, end: "exit status 65"}
			}
		}, "S4"},
		{"a wrong text ends well", func(j job, a *answer) {
			if j.group == "wrong" {
				*a = answer{}
			}
		}, "S4"},
		{"a wrong text is refused for another reason", func(j job, a *answer) {
			if j.group == "wrong" {
				*a = answer{status: 1, end: "exit status 1"}
			}
		}, "S4"},
		{"a wrong text hangs", func(j job, a *answer) {
			if j.group == "wrong" {
				*a = answer{status: -1, end: "it did not end in time"}
			}
		}, "S4"},
	} {
		got := run(t, scriptedRunner(t, c.change))
		if len(got.Proof.Failed) == 0 || got.Proof.Failed[0].ID != c.want || !got.Proof.Failed[0].Fatal {
			t.Errorf("%s: %+v", c.name, got.Proof.Failed)
		}
		if f := got.Proof.Failed[0]; f.ID == "S1" && (!strings.Contains(f.Got, "another sandbox") || !strings.Contains(f.Fix, "outside of that sandbox")) {
			t.Errorf("%s: the reason and the remedy are %q and %q", c.name, f.Got, f.Fix)
		}
	}
}

// TestBadProcess tests what counts of a process that does not answer as it should.
func TestBadProcess(t *testing.T) {
	tries := []attempt.Try{{N: 1, Do: "stat", Args: []string{"/"}}, {N: 2, Do: "stat", Args: []string{"/"}}}
	for _, c := range []struct {
		name, script string
		want         map[int]string
		ends         bool // with a reason
	}{
		{"as it should", `echo '{"n":1,"got":"works"}' >&3; echo '{"n":2,"got":"EPERM"}' >&3`, map[int]string{1: works, 2: eperm}, false},
		{"one answer", `echo '{"n":1,"got":"works"}' >&3`, map[int]string{1: works}, false},
		{"crash", `echo '{"n":1,"got":"works"}' >&3; kill -SEGV $$`, map[int]string{1: works}, true},
		{"garbage", `echo '{"n":1,"got":"works"}' >&3; echo hello >&3; echo '{"n":2,"got":"EPERM"}' >&3`, nil, true},
		{"two values in a line", `echo '{"n":1,"got":"works"}{"n":2,"got":"EPERM"}' >&3`, nil, true},
		{"an attempt that was not asked for", `echo '{"n":3,"got":"EPERM"}' >&3`, nil, true},
		{"no outcome", `echo '{"n":1}' >&3`, nil, true},
		{"more fields", `echo '{"n":1,"got":"EPERM","x":1}' >&3`, nil, true},
		{"two outcomes", `echo '{"n":1,"got":"works"}' >&3; echo '{"n":1,"got":"EPERM"}' >&3`, map[int]string{1: "two outcomes: works and EPERM"}, false},
		{"a long line", `head -c 200000 /dev/zero | tr '\0' x >&3; echo '{"n":1,"got":"works"}' >&3`, nil, true},
	} {
		a := perform(context.Background(), job{program: "/bin/sh", args: []string{"-c", c.script}, tries: tries})
		if !maps.Equal(a.got, c.want) || (a.end != "") != c.ends {
			t.Errorf("%s: %v, %q", c.name, a.got, a.end)
		}
	}
}

// TestHang tests that a process is ended that does not answer, with what it has started.
func TestHang(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan answer)
	pids := filepath.Join(dir, "pids")
	go func() {
		done <- perform(ctx, job{program: "/bin/sh", args: []string{"-c", `sleep 1000 & echo $! > "$1"; mv "$1" "$1.done"; echo '{"n":1,"got":"works"}' >&3; sleep 1000`, "sh", pids}, tries: []attempt.Try{{N: 1}, {N: 2}}})
	}()
	w.Close()
	for {
		if _, err := os.Stat(pids + ".done"); err == nil {
			break
		}
	}
	cancel()
	a := <-done
	if a.outcome(2) != "no answer: it did not end in time" {
		t.Errorf("the second attempt: %q", a.outcome(2))
	}
	text, _ := os.ReadFile(pids + ".done")
	var pid int
	fmt.Sscan(string(text), &pid)
	for pid > 0 {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z") || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			break
		}
	}
}

// TestEvidence tests the row about the log of the system: it has no consequence.
func TestEvidence(t *testing.T) {
	for found, want := range map[bool]Verdict{true: Passed, false: Failed} {
		if row := Evidence(found); row.ID != "E1" || row.Verdict != want || row.Bad() || (row.Got == row.Want) != found {
			t.Errorf("%v: %+v", found, row)
		}
	}
}
