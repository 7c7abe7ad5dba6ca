package confine

import (
	"context"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/winproof"
)

// Prove makes the self-test that must pass on Windows before a server starts there. Nothing of its result
// is kept: a server on Windows could change it.
func Prove(ctx context.Context, _ bool, _ func(string)) SelfTest {
	result, err := winproof.Prove(ctx)
	if err != nil {
		return SelfTest{Proof: features.Proof{Why: err.Error()}}
	}
	return result
}

// CanAskDenials returns nil: this system has no log to ask.
func CanAskDenials() error { return nil }

// proof makes the self-test, once in this process.
var proof = sync.OnceValue(func() features.Proof { return Prove(context.Background(), false, nil).Proof })

func proved(_ context.Context, have features.Proof, _ func(string)) features.Proof { return have }
