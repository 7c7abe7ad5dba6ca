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

// measureLaunch times true from its spawn to its end.
func measureLaunch(ctx context.Context, s *site) ([]row, error) {
	program, err := exec.LookPath("true")
	if err != nil {
		return []row{{Measure: "launch of `true`", Note: "there is no program true"}}, nil
	}
	profile, err := s.profile([]string{program})
	if err != nil {
		return nil, err
	}
	spawn := func(argv ...string) func(context.Context) (float64, error) {
		return timed(func(ctx context.Context) error { return s.spawn(ctx, argv) })
	}
	return s.compare(ctx, spawn(program),
		&way{name: "`true`, the launcher alone", budget: "", run: timed(func(ctx context.Context) error { return runJailed(ctx, profile) })},
		&way{name: "`true`, all of `mcp-jail run`", budget: "≤ bwrap + 4 ms", run: spawn(s.jailed(program).argv...)},
		byBwrap("`true`, `bwrap --unshare-all`", "", func(ctx context.Context, words []string) (float64, error) {
			return spawn(append(words, program)...)(ctx)
		}))
}

func timed(run func(context.Context) error) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		began := time.Now()
		err := run(ctx)
		return ms(time.Since(began)), err
	}
}

// runJailed runs the profile with the launcher alone, without a proxy.
func runJailed(ctx context.Context, profile *policy.Profile) error {
	p, err := confine.Launcher{}.Start(ctx, profile, confine.Stdio{})
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

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
