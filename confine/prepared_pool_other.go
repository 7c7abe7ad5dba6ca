//go:build !linux

package confine

import (
	"context"

	"github.com/mcp-jail/mcp-jail/policy"
)

// PreparedPool has jails that are built ahead for later starts. There are none here.
type PreparedPool struct{}

// NewPool returns nil here.
func (l Launcher) NewPool() *PreparedPool { return nil }

// Keep does nothing here.
func (*PreparedPool) Keep([]*policy.Profile) {}

// Close does nothing here.
func (*PreparedPool) Close() {}

func (l Launcher) startBuilt(context.Context, *policy.Profile, Stdio) *Process { return nil }
