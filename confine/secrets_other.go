//go:build !linux && !darwin

package confine

import "github.com/mcp-jail/mcp-jail/policy"

// SessionSecrets returns nil: there are no secrets without an interceptor.
func SessionSecrets() []policy.Variable { return nil }

// CheckStart returns nil: a start makes no directory and reads no secret here.
func CheckStart(*Plan) error { return nil }

// Undumpable does nothing here: Windows lets every program of the user read this one's memory.
func Undumpable() error { return nil }
