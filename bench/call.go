package main

import (
	"context"
	"fmt"
	"time"
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
		{"`tools/call`, 1 MB", "≤ +300 µs", 10, `"bytes":1000000`},
		{"`tools/call`, 1 MB of base64", "≤ +300 µs", 10, `"bytes":1000000,"base64":true`},
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
