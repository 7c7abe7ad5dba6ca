package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// bwrapArgs ask bubblewrap for little: the whole disk read-only, without Landlock or
// seccomp.
var bwrapArgs = []string{"--unshare-all", "--ro-bind", "/", "/"}

// launch is one way to run a program to its end.
type launch struct {
	name, budget string
	run          func(context.Context) error
	note         string // why it cannot be measured
	pairs        pairs
}

// measureLaunch times true from its spawn to its end. All ways take turns: every round
// has one bare spawn, and the others are compared with it.
func measureLaunch(ctx context.Context, s *site) ([]row, error) {
	program, err := exec.LookPath("true")
	if err != nil {
		return []row{{Measure: "launch of `true`", Note: "there is no program true"}}, nil
	}
	profile, err := s.profile([]string{program})
	if err != nil {
		return nil, err
	}
	ways := []*launch{
		{name: "`true`, the launcher alone", budget: "≤ +4 ms", run: func(ctx context.Context) error { return runJailed(ctx, confine.Launcher{}, profile) }},
		{name: "`true`, all of `mcp-jail run`", budget: "≤ 2 × what bwrap adds", run: func(ctx context.Context) error { return s.spawn(ctx, s.jailed(program).argv) }},
		{name: "`true`, `bwrap --unshare-all`", budget: "(+3.4 to +4.2 ms)"},
	}
	if bwrap, err := exec.LookPath("bwrap"); err != nil {
		ways[2].note = "bwrap is not installed"
	} else {
		argv := append(append([]string{bwrap}, bwrapArgs...), program)
		ways[2].run = func(ctx context.Context) error { return s.spawn(ctx, argv) }
	}
	bare := func(ctx context.Context) error { return s.spawn(ctx, []string{program}) }
	const warmUp = 2
	for i := range s.runs + warmUp {
		spawned, err := timed(ctx, bare)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		for _, w := range ways {
			if w.note != "" {
				continue
			}
			took, err := timed(ctx, w.run)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				w.note = "failed: " + firstLine(err.Error()) // the others still count
				continue
			}
			if i >= warmUp {
				w.pairs.add(ms(spawned), ms(took))
			}
		}
	}
	var rows []row
	for _, w := range ways {
		r := row{Measure: w.name, Budget: w.budget, Note: w.note}
		if w.note == "" {
			r = w.pairs.row(w.name, "ms", w.budget)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// runJailed runs the profile with the launcher alone, without a proxy.
func runJailed(ctx context.Context, l confine.Launcher, profile *policy.Profile) error {
	p, err := l.Start(ctx, profile, confine.Stdio{})
	if err != nil {
		return err
	}
	exit, err := p.Wait()
	if err == nil && exit != (confine.Exit{}) {
		err = fmt.Errorf("exit status %d", exit.Code)
	}
	return err
}

// spawn runs a program to its end with an empty stdin. It does not use os/exec, whose
// goroutines would be part of the time.
func (s *site) spawn(ctx context.Context, argv []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: s.workspace, Files: []*os.File{null, null, s.stderr}})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { p.Kill() })
	defer stop()
	state, err := p.Wait()
	if err != nil {
		return err
	}
	if !state.Success() {
		return errors.New(state.String() + ": " + s.complaint())
	}
	return nil
}

func timed(ctx context.Context, run func(context.Context) error) (time.Duration, error) {
	began := time.Now()
	err := run(ctx)
	return time.Since(began), err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
