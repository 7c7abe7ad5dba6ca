package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
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

// notes says on what machine the table was made, and what its rows do not show.
func (t table) notes() string {
	lines := []string{fmt.Sprintf("Medians of %d rounds.\n%s", t.Runs, t.Machine)}
	for _, r := range t.Rows {
		if r.Note != "" {
			lines = append(lines, r.Measure+": "+r.Note)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// markdown returns the table with aligned columns: with the least and the greatest value of each cell, or without.
func (t table) markdown(spread bool) string {
	lines := [][]string{heads}
	for _, r := range t.Rows {
		lines = append(lines, r.cells(spread))
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
	return b.String()
}

func (r row) cells(spread bool) []string {
	const nothing = "–"
	cells := []string{r.Measure, nothing, nothing, nothing, nothing, nothing}
	if r.Bare != nil {
		cells[1] = r.Bare.in(r.Unit, r.Tail, spread)
	}
	if r.Jailed != nil {
		cells[2] = r.Jailed.in(r.Unit, r.Tail, spread)
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

func (s summary) in(unit string, tail, spread bool) string {
	switch {
	case s.Min == s.Max || !spread:
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

// summary is a series of values in four numbers.
type summary struct {
	Median float64
	P90    float64 // nine of ten values are not above it
	Min    float64
	Max    float64
}

// summarize returns NaNs if there are no values.
func summarize(values []float64) summary {
	if len(values) == 0 {
		return summary{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	return summary{median(values), sorted[(9*len(sorted)+9)/10-1], sorted[0], sorted[len(sorted)-1]}
}

// median returns NaN for no values, and the mean of the two middle ones for an even number
// of values.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1] + (sorted[n/2]-sorted[n/2-1])/2
}

// pairs are the values of the two sides of a measure: the i-th of both come from
// the same round.
type pairs struct{ bare, jailed []float64 }

func (p *pairs) add(bare, jailed float64) {
	p.bare, p.jailed = append(p.bare, bare), append(p.jailed, jailed)
}

// added returns the median of the differences within a round.
func (p pairs) added() float64 {
	return p.each(func(bare, jailed float64) float64 { return jailed - bare })
}

// ratio returns the median of the quotients within a round.
func (p pairs) ratio() float64 {
	return p.each(func(bare, jailed float64) float64 { return jailed / bare })
}

func (p pairs) each(f func(bare, jailed float64) float64) float64 {
	values := make([]float64, len(p.bare))
	for i := range values {
		values[i] = f(p.bare[i], p.jailed[i])
	}
	return median(values)
}

// row puts the pairs into a row of the table.
func (p pairs) row(measure, unit, budget string) row {
	bare, jailed, added, ratio := summarize(p.bare), summarize(p.jailed), p.added(), p.ratio()
	return row{Measure: measure, Unit: unit, Bare: &bare, Jailed: &jailed, Added: &added, Ratio: &ratio, Budget: budget}
}

// machine describes the host that the figures were measured on.
type machine struct {
	Kernel    string
	Cores     int
	CPU       string
	Go        string
	Node      string
	Autogroup bool   // sched(7): processor time is shared by session where no cgroup shares it
	Load      string // of the last minute, before the first measure
	LoadAfter string
}

func machineOf(ctx context.Context) machine {
	m := machine{Kernel: runtime.GOOS, Cores: runtime.NumCPU(), CPU: runtime.GOARCH, Go: runtime.Version(), Load: load()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.Split(strings.TrimSpace(string(b)), "-")[0]
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if name := processorName(string(b)); name != "" {
			m.CPU = name
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled"); err == nil {
		m.Autogroup = strings.TrimSpace(string(b)) == "1"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if b, err := exec.CommandContext(ctx, "node", "--version").Output(); err == nil {
		m.Node = strings.TrimSpace(string(b))
	}
	return m
}

// processorName is the first "model name" of proc(5) cpuinfo; arm64 has none.
func processorName(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// load returns the load average of the last minute.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

func (m machine) String() string {
	s := fmt.Sprintf("%s, %d cores, %s, %s", m.Kernel, m.Cores, m.CPU, m.Go)
	if m.Node != "" {
		s += ", node " + m.Node
	}
	if m.Autogroup {
		s += ", autogroup on"
	}
	if m.Load != "" {
		s += ", load " + m.Load + " before and " + m.LoadAfter + " after"
	}
	return s
}
