package main

import (
	"math"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1}, 2},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{2, 2, 2, 1000}, 2},
		{[]float64{-1, -3, -2}, -2},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		before := slices.Clone(c.values)
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
		if !slices.Equal(before, c.values) {
			t.Errorf("the values were reordered: %v, before %v", c.values, before)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing: %v", got)
	}
}

func TestSummarize(t *testing.T) {
	if got, want := summarize([]float64{5, 1, 9, 2}), (summary{3.5, 9, 1, 9}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := summarize([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}); got != (summary{5.5, 9, 1, 10}) {
		t.Errorf("of ten: %v", got)
	}
	if got := summarize(nil); !math.IsNaN(got.Median) || !math.IsNaN(got.Min) || !math.IsNaN(got.Max) {
		t.Errorf("of nothing: %v", got)
	}
}

// TestPairs shows that a machine that becomes slower during the run does not change the
// median of the differences.
func TestPairs(t *testing.T) {
	var p pairs
	for i, jail := range []float64{2, 2, 2, 30, 2} { // one round was disturbed
		bare := 10 * float64(i+1)
		p.add(bare, bare+jail)
	}
	if got := p.added(); got != 2 {
		t.Errorf("added %v, want 2", got)
	}
	var q pairs
	q.add(1, 2)
	q.add(10, 20)
	q.add(100, 900)
	if got := q.ratio(); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
	r := q.row("m", "ms", "b")
	if *r.Bare != (summary{10, 100, 1, 100}) || *r.Jailed != (summary{20, 900, 2, 900}) || *r.Added != 10 || *r.Ratio != 2 {
		t.Errorf("row %+v %+v %v %v", *r.Bare, *r.Jailed, *r.Added, *r.Ratio)
	}
}
