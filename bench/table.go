package main

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// table is the result of a run.
type table struct {
	Machine machine
	Runs    int
	Rows    []row
}

// row is one measure. A measure that failed has a note in place of figures.
type row struct {
	Measure string
	Unit    string
	Bare    *summary
	Jailed  *summary
	Added   *float64 // median over the pairs
	Ratio   *float64 // the same
	Budget  string
	Note    string
	Tail    bool // the table shows P90 too
}

var heads = []string{"measure", "bare", "in the jail", "added", "ratio", "goal"}

// markdown returns the table with aligned columns.
func (t table) markdown() string {
	lines := [][]string{heads}
	var notes []string
	for _, r := range t.Rows {
		lines = append(lines, r.cells())
		if r.Note != "" {
			notes = append(notes, "- "+r.Measure+": "+r.Note)
		}
	}
	width := make([]int, len(heads))
	for _, cells := range lines {
		for i, c := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for n, cells := range lines {
		for i, c := range cells {
			b.WriteString("| " + c + strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)) + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			for i, w := range width {
				rule := strings.Repeat("-", w+2)
				if i > 0 && i < len(width)-1 {
					rule = rule[1:] + ":" // figures are aligned to the right
				}
				b.WriteString("|" + rule)
			}
			b.WriteString("|\n")
		}
	}
	fmt.Fprintf(&b, "\nMedians of %d rounds (least to greatest); added and ratio: medians over the pairs of a round.  \n%s\n", t.Runs, t.Machine)
	if notes != nil {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	return b.String()
}

func (r row) cells() []string {
	const nothing = "–"
	cells := []string{r.Measure, nothing, nothing, nothing, nothing, nothing}
	if r.Bare != nil {
		cells[1] = r.Bare.in(r.Unit, r.Tail)
	}
	if r.Jailed != nil {
		cells[2] = r.Jailed.in(r.Unit, r.Tail)
	}
	if r.Added != nil {
		cells[3] = signed(*r.Added) + " " + r.Unit
	}
	if r.Ratio != nil {
		cells[4] = "× " + figure(*r.Ratio)
	}
	if r.Budget != "" {
		cells[5] = r.Budget
	}
	return cells
}

func (s summary) in(unit string, tail bool) string {
	switch {
	case s.Min == s.Max:
		return figure(s.Median) + " " + unit
	case tail:
		return fmt.Sprintf("%s %s (%s–%s, p90 %s)", figure(s.Median), unit, figure(s.Min), figure(s.Max), figure(s.P90))
	}
	return fmt.Sprintf("%s %s (%s–%s)", figure(s.Median), unit, figure(s.Min), figure(s.Max))
}

// figure prints three significant digits, and no more than two after the point.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "?"
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func signed(v float64) string {
	s := figure(v)
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return "−" + rest
	}
	return "+" + s
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
