package main

import (
	"context"
	"fmt"
	"time"
)

const (
	frameBytes = 2_000_000 // an answer
	frames     = 32        // for one value
)

// measureThroughput asks for many large answers at once and reads them all.
func measureThroughput(ctx context.Context, s *site) ([]row, error) {
	name := fmt.Sprintf("throughput, answers of %d MB", frameBytes/1_000_000)
	p, err := s.bothSides(ctx, (*session).throughput)
	if err != nil {
		return nil, err
	}
	r := p.row(name, "GB/s", "≥ × 0.8")
	r.Added = nil // the ratio of two rates is enough
	return []row{r}, nil
}

// throughput returns GB/s.
func (c *session) throughput() (float64, error) {
	began := time.Now()
	for range frames { // all requests fit into the pipe
		if err := c.write("tools/call", echoCall(fmt.Sprintf(`"bytes":%d`, frameBytes))); err != nil {
			return 0, c.explain(err)
		}
	}
	total, err := c.answers(frames)
	if err != nil {
		return 0, c.explain(err)
	}
	return float64(total) / float64(time.Since(began).Nanoseconds()), nil
}
