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

// measureCalls times calls of a tool, one after the other. A value is the median of a
// block of calls.
func measureCalls(ctx context.Context, s *site) ([]row, error) {
	var rows []row
	for _, m := range []struct {
		name, budget string
		block        int
		text         string
	}{
		{"`tools/call`, 200 B", "≤ +30 µs", 100, `"bytes":200`},
		{"`tools/call`, 10 kB", "≤ +30 µs", 100, `"bytes":10000`},
		{"`tools/call`, 1 MB", "≤ +720 µs", 10, `"bytes":1000000`},
		{"`tools/call`, 1 MB of base64", "≤ +520 µs", 10, `"bytes":1000000,"base64":true`},
	} {
		p, err := s.bothSides(ctx, func(c *session) (float64, error) { return c.block(echoCall(m.text), m.block) })
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
		rows = append(rows, p.row(m.name, "µs", m.budget))
	}
	return rows, nil
}

// echoCall returns the params of a call of the server in Go.
func echoCall(text string) string { return `{"name":"echo","arguments":{` + text + `}}` }

// block makes calls and returns the median of their times, in µs.
func (c *session) block(params string, calls int) (float64, error) {
	took := make([]float64, calls)
	for i := range took {
		d, err := c.call(params)
		if err != nil {
			return 0, err
		}
		took[i] = float64(d) / float64(time.Microsecond)
	}
	return median(took), nil
}

// bothSides measures the server in Go, bare and jailed in turns. Every value comes from a
// new server: a small call depends most on whether the client and the server share a core,
// and the scheduler decides that once for their lifetime.
func (s *site) bothSides(ctx context.Context, measure func(*session) (float64, error)) (p pairs, err error) {
	without, err := s.bare(s.echo)
	if err != nil {
		return p, err
	}
	return s.rounds(func() (float64, error) { return s.fresh(ctx, without, measure) },
		func() (float64, error) { return s.fresh(ctx, s.jailed(s.echo), measure) })
}

// fresh measures once with a new server, after one turn to warm it up.
func (s *site) fresh(ctx context.Context, how start, measure func(*session) (float64, error)) (float64, error) {
	c, err := s.open(ctx, how)
	if err != nil {
		return 0, err
	}
	defer c.close()
	if _, err := measure(c); err != nil {
		return 0, err
	}
	return measure(c)
}

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
		&way{name: "`true`, all of `mcp-jail run`", budget: "≤ 3 × bwrap", run: spawn(s.jailed(program).argv...)},
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

// measureInitialize times servers from their spawn to the answer to initialize.
func measureInitialize(ctx context.Context, s *site) ([]row, error) {
	const budget = "≤ 3 × bwrap"
	var rows []row
	for _, server := range s.tooled() {
		name := "`initialize`, " + server.name
		if server.note != "" {
			rows = append(rows, row{Measure: name, Budget: budget, Note: server.note})
			continue
		}
		without, err := s.bare(server.argv...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", name, err)
		}
		opening := func(how start) func(context.Context) (float64, error) {
			return func(ctx context.Context) (float64, error) { return s.initialize(ctx, how) }
		}
		more, err := s.compare(ctx, opening(without),
			&way{name: name, budget: budget, run: opening(s.jailed(server.argv...))},
			byBwrap(name+", `bwrap --unshare-all`", "", func(ctx context.Context, words []string) (float64, error) {
				return s.initialize(ctx, start{append(words, server.argv...), without.env})
			}))
		if rows = append(rows, more...); err != nil {
			return rows, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rows, nil
}

func (s *site) initialize(ctx context.Context, how start) (float64, error) {
	c, err := s.open(ctx, how)
	if err != nil {
		return 0, err
	}
	c.close()
	return ms(c.started), nil
}

const (
	frameBytes = 2_000_000 // an answer
	frames     = 32        // for one value
)

// measureThroughput asks for many large answers at once and reads them all.
func measureThroughput(ctx context.Context, s *site) ([]row, error) {
	name := fmt.Sprintf("throughput, answers of %d MB", frameBytes/1_000_000)
	p, err := s.bothSides(ctx, (*session).throughput)
	if err != nil {
		return nil, err
	}
	r := p.row(name, "GB/s", "≥ × 0.5")
	r.Added = nil // the ratio of two rates is enough
	return []row{r}, nil
}

// throughput returns GB/s.
func (c *session) throughput() (float64, error) {
	began := time.Now()
	for range frames { // all requests fit into the pipe
		if err := c.write("tools/call", echoCall(fmt.Sprintf(`"bytes":%d`, frameBytes))); err != nil {
			return 0, c.explain(err)
		}
	}
	total, err := c.answers(frames)
	if err != nil {
		return 0, c.explain(err)
	}
	return float64(total) / float64(time.Since(began).Nanoseconds()), nil
}
