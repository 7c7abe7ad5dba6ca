package confine

import (
	"context"
	"errors"
	"testing"
)

// TestAwait tests that Await returns a report that has come, also if the context has ended. One select
// would choose between the two at random.
func TestAwait(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	failed := errors.New("failed")
	for range 64 {
		for _, ctx := range []context.Context{t.Context(), ended} {
			for _, report := range []error{failed, nil} {
				reports := make(chan error, 1)
				reports <- report
				if came, err := awaitReport(ctx, reports); !came || err != report {
					t.Fatalf("%v, with %v: %v, %v", report, ctx.Err(), came, err)
				}
			}
		}
		if came, err := awaitReport(ended, make(chan error, 1)); came || err != nil {
			t.Fatalf("no report: %v, %v", came, err)
		}
	}
}
