package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Guest is a program that runs in the jail of a server in its place, such as a shell.
type Guest struct {
	Program string   // the file
	Argv    []string // with its own name
	Term    string   // the kind of its terminal, if it gets one: the variable TERM
}

// in returns a profile with the program of g in place of the server. The program gets the rights, the
// environment and the directory of the server, and nothing more.
func (g Guest) in(p *policy.Profile) *policy.Profile {
	q := *p
	q.Program, q.Argv = g.Program, g.Argv
	if g.Term != "" && !slices.ContainsFunc(p.Env, func(v policy.Variable) bool { return v.Name == "TERM" }) {
		q.Env = append(slices.Clone(p.Env), policy.Variable{Name: "TERM", Value: g.Term, Rule: policy.OwnVariable + "the terminal"})
	}
	return &q
}

// StartGuest starts a program in the jail of the server, beside the server's own processes. It keeps
// what the program changes as it does for the server.
func (f *Followed) StartGuest(ctx context.Context, launcher confine.Launcher, g Guest, stdio confine.Stdio) (lifecycle.Process, error) {
	return f.start(ctx, launcher, f.Target().Profile, func(l confine.Launcher, p *policy.Profile) (*confine.Process, error) {
		return l.Start(ctx, g.in(p), stdio)
	})
}

// GuestRecord returns the record of a session with a guest. process is nil if it was not started.
func (f *Followed) GuestRecord(began time.Time, process lifecycle.Process, failed []diagnostics.Diagnosis) diagnostics.Record {
	t := f.Target()
	r := diagnostics.Record{
		Time: began, Server: t.Profile.Server, Tool: t.Profile.Tool, Profile: diagnostics.Digest(t.Profile),
		Guest: true, Warnings: warningLines(t), Diagnoses: failed,
	}
	if process == nil {
		return r
	}
	ev := f.GuestEvidence(process)
	r.Denials, r.Remedies = ev.Redactor.RedactDenials(ev.Denials), diagnostics.AllRemedies(ev)
	r.Waived, r.Changes = lifecycle.WaivedWarnings(process.Plan()), f.keeping.Changes()
	return r
}

// GuestEvidence returns what is known of what a guest was refused.
func (f *Followed) GuestEvidence(process lifecycle.Process) diagnostics.Evidence {
	ev := f.Target().evidence()
	ev.Redactor = diagnostics.NewRedactor(slices.Concat(ev.Profile.Env, confine.SessionSecrets()))
	ev.Stage, ev.Denials, ev.HostFailures = diagnostics.StageCall, process.Denials(), process.HostFailures()
	for i := range ev.Denials {
		ev.Denials[i].Tool = ev.Profile.Tool
	}
	slices.SortStableFunc(ev.Denials, func(a, b policy.Denial) int { return a.Latest().Compare(b.Latest()) })
	return ev
}

// GuestFailure returns why a guest was not started in the jail of a target, and the exit status: that of
// run.
func GuestFailure(t *Target, err error) (diagnostics.Diagnosis, int) {
	var known *lifecycle.DiagnosedError
	var start *confine.StartError
	var gaps *confine.GapError
	switch {
	case errors.As(err, &known):
		return known.Diagnosis, known.ExitStatus
	case errors.As(err, &gaps):
		return t.diagnosisOf(t.Policy.Server, err), exit.Host
	case !errors.As(err, &start):
		d := diagnostics.JailFailure(t.Policy.Server, err.Error(), nil)
		if fix := diagnostics.BuildFix(err, runtime.GOOS); fix != "" {
			d.Fix = fix
		}
		return d, exit.Host
	}
	ev := t.evidence()
	ev.Stage, ev.Redactor = diagnostics.StageExec, diagnostics.NewRedactor(t.Profile.Env)
	ev.Start = &diagnostics.Start{Step: start.Step, Errno: start.Errno, Detail: start.Detail, Fix: start.Fix}
	if start.Step == confine.StepExec {
		return diagnostics.Diagnose(ev), exit.Failure
	}
	return diagnostics.Diagnose(ev), exit.Host
}

// LookUp returns the file that a word names in the jail of a server: a path, or the name of a program in
// the PATH of the server. It returns "" if there is none that the server may execute.
func LookUp(p *policy.Profile, word string) string {
	if strings.Contains(word, "/") {
		if !filepath.IsAbs(word) {
			word = filepath.Join(p.Dir, word)
		}
		return executable(p, word)
	}
	for _, v := range p.Env {
		if v.Name != "PATH" {
			continue
		}
		for _, dir := range filepath.SplitList(v.Value) {
			if file := executable(p, filepath.Join(dir, word)); filepath.IsAbs(dir) && file != "" {
				return file
			}
		}
	}
	return ""
}

func executable(p *policy.Profile, name string) string {
	file, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || !p.Allows(policy.OpExec, file) {
		return ""
	}
	return file
}
