package main

import (
	"context"
	"fmt"
	"time"
)

// measureCalls times tools/call, one after the other. The two servers are up for
// all of a size and work in turns of a block of calls; a value is the median of
// a block.
func measureCalls(ctx context.Context, s *site) ([]row, error) {
	var rows []row
	for _, m := range []struct {
		name, budget string
		bytes, block int
	}{
		{"`tools/call`, 200 B", "≤ +30 µs", 200, 50},
		{"`tools/call`, 10 kB", "≤ +30 µs", 10_000, 50},
		{"`tools/call`, 1 MB", "", 1_000_000, 10},
	} {
		p, err := s.bothSides(ctx, func(c *session) (float64, error) { return c.block(m.bytes, m.block) })
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
		rows = append(rows, p.row(m.name, "µs", m.budget))
	}
	return rows, nil
}

// block makes calls and returns the median of how long they took, in µs.
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

// bothSides measures with the server in Go, bare and jailed in turns.
func (s *site) bothSides(ctx context.Context, measure func(*session) (float64, error)) (p pairs, err error) {
	without, err := s.bare(s.echo)
	if err != nil {
		return p, err
	}
	bare, err := s.open(ctx, without)
	if err != nil {
		return p, err
	}
	defer bare.close()
	jailed, err := s.open(ctx, s.jailed(s.echo))
	if err != nil {
		return p, err
	}
	defer jailed.close()
	const warmUp = 2
	for i := range s.runs + warmUp {
		b, err := measure(bare)
		if err != nil {
			return p, fmt.Errorf("bare: %w", err)
		}
		j, err := measure(jailed)
		if err != nil {
			return p, err
		}
		if i >= warmUp {
			p.add(b, j)
		}
	}
	return p, nil
}
