//go:build !linux && !darwin

package confine

import "github.com/mcp-jail/mcp-jail/policy"

// SessionSecrets returns nil: there are no secrets without an interceptor.
func SessionSecrets() []policy.Variable { return nil }

// Undumpable does nothing here: Windows lets every program of the user read this one's memory.
func Undumpable() error { return nil }
