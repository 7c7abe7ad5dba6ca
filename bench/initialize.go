package main

import (
	"context"
	"fmt"
	"os/exec"
)

// opening is one way to start a server, up to its answer to initialize.
type opening struct {
	row   row
	start start
	pairs pairs
}

// measureInitialize times servers from their spawn to the answer to initialize. All ways
// take turns: every round has one bare start, and the others are compared with it.
func measureInitialize(ctx context.Context, s *site) ([]row, error) {
	var rows []row
	for _, m := range []struct {
		name, budget string
		argv         []string
		note         string
	}{
		{name: "`initialize`, a server in Go", budget: "≤ bwrap + 2 ms", argv: []string{s.echo}},
		{name: "`initialize`, server-filesystem (node)", budget: "≤ bwrap + 2 ms", argv: []string{s.node, s.files, s.workspace}, note: s.noNode},
	} {
		if m.note != "" {
			rows = append(rows, row{Measure: m.name, Budget: m.budget, Note: m.note})
			continue
		}
		without, err := s.bare(m.argv...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
		ways := []*opening{
			{row: row{Measure: m.name, Budget: m.budget}, start: s.jailed(m.argv...)},
			{row: row{Measure: m.name + ", `bwrap --unshare-all`"}},
		}
		if bwrap, err := exec.LookPath("bwrap"); err != nil {
			ways[1].row.Note = "bwrap is not installed"
		} else {
			ways[1].start = start{append(append([]string{bwrap}, bwrapArgs...), m.argv...), without.env}
		}
		if err := s.openings(ctx, without, ways); err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
		for _, w := range ways {
			if w.row.Note == "" {
				w.row = w.pairs.row(w.row.Measure, "ms", w.row.Budget)
			}
			rows = append(rows, w.row)
		}
	}
	return rows, nil
}

// openings fills in the pairs. Only the last way, another sandbox, may fail.
func (s *site) openings(ctx context.Context, without start, ways []*opening) error {
	const warmUp = 1
	for i := range s.runs + warmUp {
		bare, err := s.initialize(ctx, without)
		if err != nil {
			return fmt.Errorf("bare: %w", err)
		}
		for n, w := range ways {
			if w.row.Note != "" {
				continue
			}
			took, err := s.initialize(ctx, w.start)
			switch {
			case err != nil && (n == 0 || ctx.Err() != nil):
				return err
			case err != nil:
				w.row.Note = "failed: " + firstLine(err.Error())
			case i >= warmUp:
				w.pairs.add(bare, took)
			}
		}
	}
	return nil
}

func (s *site) initialize(ctx context.Context, how start) (float64, error) {
	c, err := s.open(ctx, how)
	if err != nil {
		return 0, err
	}
	c.close()
	return ms(c.started), nil
}
