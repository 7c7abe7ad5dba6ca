//go:build !darwin

package confine

import (
	"context"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
)

// Prove returns the result of the self-test that must pass on a Mac before a server starts there. This
// system has none, and the result is empty.
func Prove(context.Context, bool, func(string)) SelfTest { return SelfTest{} }

func proof() features.Proof { return features.Proof{} }

func proved(_ context.Context, have features.Proof, _ func(string)) features.Proof { return have }
