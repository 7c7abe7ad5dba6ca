package main

import (
	"math"
	"slices"
)

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
