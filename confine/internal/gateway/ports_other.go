//go:build !linux

package gateway

import "os"

// Ports are the ports that lead into the jails of a session. mcp-jail takes none on this system: a server binds
// those of this machine itself, or none at all.
type Ports struct{}

// NewPorts returns the ports of a session.
func NewPorts(func() (*os.File, error)) *Ports { return &Ports{} }

// Elsewhere reports whether a port leads to another session of this server. It is never known here.
func (*Ports) Elsewhere(int) bool { return false }
