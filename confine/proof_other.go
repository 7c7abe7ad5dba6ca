//go:build !darwin && !(linux && seatbelt)

package confine

import "github.com/mcp-jail/mcp-jail/confine/internal/features"

// proof returns nothing: this system has no self-test.
func proof() features.Proof { return features.Proof{} }
