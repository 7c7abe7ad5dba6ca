//go:build !linux && !darwin

package gateway

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/policy"
)

// FindTLS finds nothing: no connection of a server passes through mcp-jail on this system.
func FindTLS(*kernel.Facts, *policy.Profile) {}
