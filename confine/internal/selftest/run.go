//go:build darwin || linux

package selftest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attempt"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/policy"
)

// longest is how long the attempts of one group may take.
const longest = 10 * time.Second

// runner makes one self-test. Tests replace what it does to the system.
type runner struct {
	self    string // this program
	sandbox string // sandbox-exec
	dir     string // a directory of its own, for the trees
	temp    string // a short one, for sockets
	folds   bool   // the volume of dir ignores case
	compile func(seatbelt.Input) (seatbelt.Text, error)
	build   func(*hosts, names) error
	perform func(context.Context, job) answer
	table   []Test
}

// run tests with the one form of the text, and with the other if that may help. It leaves out the
// optional operations that the system does not know.
func (r *runner) run(ctx context.Context) (Result, error) {
	h := listen()
	defer h.close()
	result, err := r.runForm(ctx, h, seatbelt.Conditional, nil)
	if err != nil || !result.wantsForm(r.table) {
		return result, err
	}
	other, err := r.runForm(ctx, h, seatbelt.Layered, result.Proof.Without)
	if err == nil && other.better(result) {
		other.Proof.Layered = true
		return other, nil
	}
	return result, err
}

// wantsForm reports whether a test failed that the other form may pass.
func (r Result) wantsForm(table []Test) bool {
	return slices.ContainsFunc(r.Proof.Failed, func(f features.FailedProbe) bool {
		return slices.ContainsFunc(table, func(t Test) bool { return t.ID == f.ID && t.Form })
	})
}

// better reports whether r has less that fails than o, and nothing that passes there.
func (r Result) better(o Result) bool {
	fewer := false
	for i := range r.Rows {
		if r.Rows[i].Bad() && !o.Rows[i].Bad() {
			return false
		}
		fewer = fewer || o.Rows[i].Bad() && !r.Rows[i].Bad()
	}
	return fewer
}

func (r *runner) runForm(ctx context.Context, h *hosts, form seatbelt.Form, without []string) (Result, error) {
	for round := 0; ; round++ {
		trial, err := r.prepare(h, fmt.Sprintf("%d-%d", form, round))
		if err != nil {
			return Result{}, err
		}
		trial.form, trial.without = form, slices.Clone(without)
		result, unknown, err := trial.run(ctx)
		if err != nil || unknown == "" || slices.Contains(without, unknown) {
			return result, err
		}
		without = append(without, unknown)
	}
}

// A trial is one round: two trees, and a process for each group.
type trial struct {
	*runner
	hosts           *hosts
	outside, inside names
	at              string
	form            seatbelt.Form
	without         []string
}

func (r *runner) prepare(h *hosts, name string) (*trial, error) {
	t := &trial{runner: r, hosts: h, at: filepath.Join(r.dir, name)}
	if err := os.Mkdir(t.at, 0o700); err != nil {
		return nil, err
	}
	for side, into := range map[string]*names{"o": &t.outside, "i": &t.inside} {
		n := treeNames(filepath.Join(t.at, side), filepath.Join(r.temp, name+side))
		if err := r.build(h, n); err != nil {
			return nil, fmt.Errorf("the files of the self-test could not be made: %w", err)
		}
		for key, value := range h.names {
			n[key] = value
		}
		*into = n
	}
	return t, nil
}

// run makes all attempts. unknown is an optional operation that the system does not know, without
// which the round must be made again.
func (t *trial) run(ctx context.Context) (result Result, unknown string, err error) {
	rows, probes := rows(t.table)
	jobs := []job{t.job("", false, probes)}
	for _, g := range []Group{Plain, Hosts, NoFork, Programs, Inbound} {
		jobs = append(jobs, t.job(g, true, probes))
	}
	for i := range jobs[1:] {
		if jobs[i+1].args, err = t.confined(jobs[i+1].group, attempt.Role); err != nil {
			return Result{}, "", err
		}
	}
	wrong, err := t.wrongText()
	if err != nil {
		return Result{}, "", err
	}
	jobs = append(jobs, wrong)
	answers := make([]answer, len(jobs))
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, longest)
			defer cancel()
			answers[i] = t.perform(ctx, j)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return Result{}, "", context.Cause(ctx)
	}
	for _, a := range answers[1 : len(answers)-1] {
		if a.status == statusRefused {
			if op := unknownOperation(a.said); slices.Contains(seatbelt.Optional, op) {
				return Result{Proof: features.Proof{Without: t.without}}, op, nil
			}
		}
	}
	got := map[Group]answer{"": answers[0]}
	for i, j := range jobs[1 : len(jobs)-1] {
		got[j.group] = answers[i+1]
	}
	for i, p := range probes {
		r := &rows[i]
		if !t.applies(p) {
			r.Verdict = NotHere
			continue
		}
		r.Control, r.Got = got[""].outcome(i), got[p.Group].outcome(i)
		r.Verdict = p.judge(r.Control, r.Got)
	}
	rows = append(startRows(got[Plain], answers[len(answers)-1]), rows...)
	return Result{Rows: rows, Proof: features.Proof{Made: true, Failed: failed(rows), Without: t.without}}, "", nil
}

// outcome returns what came of an attempt, and otherwise how the process ended that was to make it.
func (a answer) outcome(n int) string {
	if got, ok := a.got[n]; ok {
		return got
	}
	if a.end == "" {
		return noAnswer
	}
	return noAnswer + ": " + a.end
}

func (t *trial) applies(p Probe) bool {
	switch p.When {
	case Darwin:
		return runtime.GOOS == "darwin"
	case Folds:
		return t.folds
	}
	return true
}

// job returns the attempts of a group, or of all groups, outside of a jail or inside.
func (t *trial) job(g Group, inside bool, probes []Probe) job {
	j := job{group: g, inside: inside, program: t.self, args: []string{attempt.Role}}
	n := t.outside
	if inside {
		n, j.program = t.inside, t.sandbox
	}
	for i, p := range probes {
		if t.applies(p) && (!inside || p.Group == g) {
			j.tries = append(j.tries, attempt.Try{N: i, Do: p.Do, Args: n.all(p.Args)})
		}
	}
	return j
}

// confined writes the text of a group, and returns the arguments of sandbox-exec.
func (t *trial) confined(g Group, args ...string) ([]string, error) {
	text, err := t.compile(t.input(g))
	if err != nil {
		return nil, fmt.Errorf("the text of the self-test could not be made: %w", err)
	}
	file := filepath.Join(t.at, string(g)+".sb")
	if err := os.WriteFile(file, []byte(text.Profile), 0o600); err != nil {
		return nil, err
	}
	return sandboxexec.Arguments(file, text.Params, t.self, args...), nil
}

func (t *trial) input(g Group) seatbelt.Input {
	in := seatbelt.Input{Profile: t.inside.profile(g), Tag: Tag, Self: t.self, TempDir: t.inside.in("{s}/t"), NoFork: g == NoFork, Inbound: g == Inbound, Form: t.form, Without: t.without}
	if g == Hosts || g == Inbound {
		in.ProxyPort = t.hosts.proxy
	}
	return in
}

// Tag names the self-test in the log of the system.
const Tag = "mcpj-00000000"

// statusRefused is the status of sandbox-exec if it cannot read the text.
const statusRefused = 65

var unbound = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unbound variable: ([a-z0-9*-]+)`) })

func unknownOperation(said string) string {
	if m := unbound().FindStringSubmatch(said); m != nil {
		return m[1]
	}
	return ""
}

// wrongText is a start that must not happen.
func (t *trial) wrongText() (job, error) {
	file := filepath.Join(t.at, "wrong.sb")
	err := os.WriteFile(file, []byte("(version 1)\n(deny default)\n(allow no-such-operation)\n(allow process-exec*)\n(allow file-read*)\n"), 0o600)
	return job{group: "wrong", inside: true, program: t.sandbox, args: sandboxexec.Arguments(file, nil, t.self, attempt.Role), tries: []attempt.Try{{N: 0, Do: "stat", Args: []string{"/"}}}}, err
}

// startRows are the tests of the start itself.
func startRows(plain, wrong answer) []Row {
	s1 := Row{ID: "S1", Axis: policy.AxisProcess, Fatal: true, What: "a program starts in a jail", Try: "start", Want: works, Got: works, Control: works, Verdict: Passed}
	if len(plain.got) == 0 {
		s1.Got, s1.Verdict = strings.Join(strings.Fields(plain.end+": "+plain.said), " "), Failed
		if plain.status > 0 {
			why := sandboxexec.Classify(sandboxexec.Ended{Code: plain.status, Said: plain.said})
			s1.Got, s1.Fix = why.Detail, why.Fix
		}
	}
	s4 := Row{ID: "S4", Axis: policy.AxisProcess, Fatal: true, What: "a text that the system does not understand starts nothing", Try: "start with a wrong text", Want: "exit 65", Got: fmt.Sprintf("exit %d", wrong.status), Control: works, Verdict: Passed}
	switch {
	case len(wrong.got) > 0:
		s4.Got, s4.Verdict = "the program ran", Failed
	case wrong.status != statusRefused:
		s4.Verdict = Failed
		if wrong.status <= 0 {
			s4.Got = or(wrong.end, "it ended without a status")
		}
	}
	return []Row{s1, s4}
}
