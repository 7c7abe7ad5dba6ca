package main

import (
	"math"
	"testing"
)

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0.00"}, {0.184, "0.18"}, {9.994, "9.99"}, {9.996, "10.0"}, {45.66, "45.7"},
		{99.94, "99.9"}, {99.96, "100"}, {1234.5, "1234"}, {-3.14159, "-3.14"}, {math.NaN(), "?"}, {math.Inf(1), "?"},
	} {
		if got := figure(c.v); got != c.want {
			t.Errorf("figure(%v) = %q, want %q", c.v, got, c.want)
		}
	}
	for v, want := range map[float64]string{1.5: "+1.50", -1.5: "−1.50", 0: "+0.00"} {
		if got := signed(v); got != want {
			t.Errorf("signed(%v) = %q, want %q", v, got, want)
		}
	}
}

func testTable() table {
	var p pairs
	p.add(1, 3)
	p.add(2, 4)
	p.add(1.5, 3.5)
	return table{
		Machine: machine{Kernel: "Linux 6.18", Cores: 2, CPU: "a processor", Go: "go1.26", Load: "0.10", LoadAfter: "1.20"},
		Runs:    3,
		Rows:    []row{p.row("launch of `true`", "ms", "≤ +4 ms"), {Measure: "under bwrap", Note: "not installed"}},
	}
}

func TestMarkdown(t *testing.T) {
	const want = "" +
		"| measure          | bare                | in the jail         | added    | ratio  | budget  |\n" +
		"|------------------|--------------------:|--------------------:|---------:|-------:|---------|\n" +
		"| launch of `true` | 1.50 ms (1.00–2.00) | 3.50 ms (3.00–4.00) | +2.00 ms | × 2.33 | ≤ +4 ms |\n" +
		"| under bwrap      | –                   | –                   | –        | –      | –       |\n" +
		"\n" +
		"Medians of 3 rounds (least to greatest); added and ratio: medians over the pairs of a round.  \n" +
		"Linux 6.18, 2 cores, a processor, go1.26, load 0.10 before and 1.20 after\n" +
		"\n" +
		"- under bwrap: not installed\n"
	if got := testTable().markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
