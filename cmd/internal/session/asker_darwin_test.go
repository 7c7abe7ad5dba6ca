package session

import (
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
)

// A session asks processes for what the system has logged.
var _ lifecycle.DenialAsker = (*confine.Process)(nil)
