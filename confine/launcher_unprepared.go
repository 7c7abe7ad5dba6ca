//go:build !linux && !darwin

package confine

import "github.com/mcp-jail/mcp-jail/policy"

// Prepared is nothing: no process is started ahead.
type Prepared struct{}

// Prepare does nothing here.
func (l Launcher) Prepare() *Prepared { return nil }

// Close does nothing here.
func (*Prepared) Close() {}

func (l Launcher) claim(bool) *Prepared { return nil }

func (*Prepared) cancel() {}

// SessionSecrets returns nil: there are no secrets without an interceptor.
func SessionSecrets() []policy.Variable { return nil }

// Undumpable does nothing here: Windows lets every program of the user read this one's memory.
func Undumpable() error { return nil }
