//go:build !linux

package confine

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The systems of this file have one kind of jail: a first start finds out nothing about it.

// refusedNamespaces returns the error.
func refusedNamespaces(err error) (kernel.Feature, error) { return kernel.Feature{}, err }

// knownHomeCopy returns nil.
func knownHomeCopy(*policy.Profile) *kernel.Feature { return nil }

// isCopyRefused returns false.
func isCopyRefused(*policy.Profile, error) bool { return false }
