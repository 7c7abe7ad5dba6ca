//go:build !linux && !darwin

package gateway

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// FindTLS finds nothing: no connection of a server passes through mcp-jail on this system.
func FindTLS(*features.Facts, *policy.Profile) {}
