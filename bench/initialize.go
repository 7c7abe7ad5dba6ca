package main

import (
	"context"
	"fmt"
)

// measureInitialize times servers from their spawn to the answer to initialize.
func measureInitialize(ctx context.Context, s *site) ([]row, error) {
	const budget = "≤ bwrap + 2 ms"
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
