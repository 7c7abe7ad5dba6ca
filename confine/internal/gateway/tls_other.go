//go:build !linux

package gateway

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/policy"
)

func FindTLS(*probe.Host, *policy.Profile) {}
