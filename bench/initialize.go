package main

import (
	"context"
	"fmt"
)

// measureInitialize times servers from their spawn to the answer to initialize.
func measureInitialize(ctx context.Context, s *site) ([]row, error) {
	var rows []row
	for _, m := range []struct {
		name, budget string
		argv         []string
		note         string
	}{
		{name: "`initialize`, a server in Go", argv: []string{s.echo}},
		{name: "`initialize`, server-filesystem (node)", budget: "≤ +6 ms, towards +4", argv: []string{s.node, s.files, s.workspace}, note: s.noNode},
	} {
		if m.note != "" {
			rows = append(rows, row{Measure: m.name, Budget: m.budget, Note: m.note})
			continue
		}
		without, err := s.bare(m.argv...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
		var p pairs
		const warmUp = 1
		for i := range s.runs + warmUp {
			bare, err := s.initialize(ctx, without)
			if err != nil {
				return rows, fmt.Errorf("%s: bare: %w", m.name, err)
			}
			jailed, err := s.initialize(ctx, s.jailed(m.argv...))
			if err != nil {
				return rows, fmt.Errorf("%s: %w", m.name, err)
			}
			if i >= warmUp {
				p.add(bare, jailed)
			}
		}
		rows = append(rows, p.row(m.name, "ms", m.budget))
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
