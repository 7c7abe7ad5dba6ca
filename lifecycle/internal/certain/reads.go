// Package certain has what certain reads need: which start of a session records refused reads
// (confine.Launcher.CertainReads), and what these records mean. Package stateless asks for such
// starts. The package has no lock and no state.
package certain

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

type readsKey struct{}

// WithReads returns a context for a start whose jail is to record refused reads.
func WithReads(ctx context.Context) context.Context {
	return context.WithValue(ctx, readsKey{}, true)
}

// Reads reports whether WithReads made the context of a start.
func Reads(ctx context.Context) bool { return ctx.Value(readsKey{}) != nil }

func isRead(d policy.Denial) bool {
	return d.Axis == policy.AxisFs && (d.Operation == policy.OpRead.String() || d.Operation == policy.OpList.String())
}

// Classify sets Background in the refused reads of before the first call, whose time is nil until it
// comes. Programs look for many files at their start, and do without. certain says whether the jail
// recorded them because a session asked for it; otherwise they stay as they are.
func Classify(certain bool, denials []policy.Denial, first *time.Time) {
	for i, d := range denials {
		denials[i].Background = d.Background || certain && first != nil && isRead(d) && d.Latest().Before(*first)
	}
}

// Without returns the denials without refused reads, if the jail recorded them because a session
// asked for it. A call that goes well does without them, and nothing is said of them.
func Without(certain bool, denials []policy.Denial) []policy.Denial {
	if !certain {
		return denials
	}
	return slices.DeleteFunc(slices.Clone(denials), isRead)
}
