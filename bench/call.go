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
		bytes, block int
		base64       bool
	}{
		{name: "`tools/call`, 200 B", budget: "≤ +30 µs", bytes: 200, block: 100},
		{name: "`tools/call`, 10 kB", budget: "≤ +30 µs", bytes: 10_000, block: 100},
		{name: "`tools/call`, 1 MB", budget: "≤ +250 µs", bytes: 1_000_000, block: 10},
		{name: "`tools/call`, 1 MB of base64", budget: "≤ +250 µs", bytes: 1_000_000, block: 10, base64: true},
	} {
		p, err := s.bothSides(ctx, func(c *session) (float64, error) {
			c.base64 = m.base64
			return c.block(m.bytes, m.block)
		})
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
		rows = append(rows, p.row(m.name, "µs", m.budget))
	}
	return rows, nil
}

// block makes calls and returns the median of their times, in µs.
func (c *session) block(bytes, calls int) (float64, error) {
	took := make([]float64, calls)
	for i := range took {
		d, err := c.call(bytes)
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
	for range s.runs {
		bare, err := s.fresh(ctx, without, measure)
		if err != nil {
			return p, fmt.Errorf("bare: %w", err)
		}
		jailed, err := s.fresh(ctx, s.jailed(s.echo), measure)
		if err != nil {
			return p, err
		}
		p.add(bare, jailed)
	}
	return p, nil
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
