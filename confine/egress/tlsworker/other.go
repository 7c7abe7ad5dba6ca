//go:build !linux

package tlsworker

import (
	"context"
	"errors"
	"net"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

var errSystem = errors.New("connections can be handed over on Linux only")

// Program is a running mcp-jail-tls; here there is none.
type Program struct{}

// Start returns an error.
func Start(Options) (*Program, error) { return nil, errSystem }

// CA is nil.
func (*Program) CA() []byte { return nil }

// Ready returns an error.
func (*Program) Ready() error { return errSystem }

// Pid is 0.
func (*Program) Pid() int { return 0 }

// Serve closes the connection.
func (*Program) Serve(c *net.TCPConn, _ []byte, _ egress.Target, _ func(context.Context) (*net.TCPConn, error)) {
	c.Close()
}

// CatchUp does nothing.
func (*Program) CatchUp() {}

// Kill does nothing.
func (*Program) Kill() {}

// Close does nothing.
func (*Program) Close() {}

// Run returns an error.
func Run(func([]policy.NetRule, []byte) (Worker, error)) error { return errSystem }
