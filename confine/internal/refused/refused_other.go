//go:build !linux

package refused

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The systems of this file have one kind of jail: a first start finds out nothing about it.

// Namespaces returns the error.
func Namespaces(err error) (features.Feature, error) { return features.Feature{}, err }

// KnownHomeCopy returns nil.
func KnownHomeCopy(*policy.Profile) *features.Feature { return nil }

// Copy returns false.
func Copy(*policy.Profile, error) bool { return false }
