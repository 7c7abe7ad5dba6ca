package main

import (
	"context"
	"fmt"
	"os/exec"
)

// way is one way to do the same work, which is compared with the bare way.
type way struct {
	name, budget string
	run          func(context.Context) (float64, error) // returns ms
	note         string                                 // why it cannot be measured
	pairs        pairs
}

// bwrapArgs ask bubblewrap for little: the whole disk read-only, without Landlock or
// seccomp.
var bwrapArgs = []string{"--unshare-all", "--ro-bind", "/", "/"}

// byBwrap returns the way of bubblewrap. run gets its words before those of the program.
func byBwrap(name, budget string, run func(ctx context.Context, words []string) (float64, error)) *way {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return &way{name: name, budget: budget, note: "bwrap is not installed"}
	}
	words := append([]string{bwrap}, bwrapArgs...)
	return &way{name: name, budget: budget, run: func(ctx context.Context) (float64, error) { return run(ctx, words) }}
}

// compare has all ways take turns: every round has one bare value, and the others are compared
// with it. If a way fails, the others still count.
func (s *site) compare(ctx context.Context, bare func(context.Context) (float64, error), ways ...*way) ([]row, error) {
	const warmUp = 2
	for i := range s.runs + warmUp {
		without, err := bare(ctx)
		if err != nil {
			return nil, fmt.Errorf("bare: %w", err)
		}
		for _, w := range ways {
			if w.note != "" {
				continue
			}
			took, err := w.run(ctx)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				w.note = "failed: " + firstLine(err.Error())
			case i >= warmUp:
				w.pairs.add(without, took)
			}
		}
	}
	var rows []row
	for _, w := range ways {
		if w.note != "" {
			rows = append(rows, row{Measure: w.name, Budget: w.budget, Note: w.note})
			continue
		}
		rows = append(rows, w.pairs.row(w.name, "ms", w.budget))
	}
	return rows, nil
}

// rounds pairs the values of two sides that take turns. The first round is left out.
func (s *site) rounds(bare, jailed func() (float64, error)) (p pairs, err error) {
	for i := range s.runs + 1 {
		a, err := bare()
		if err != nil {
			return p, fmt.Errorf("bare: %w", err)
		}
		b, err := jailed()
		if err != nil {
			return p, err
		}
		if i > 0 {
			p.add(a, b)
		}
	}
	return p, nil
}
