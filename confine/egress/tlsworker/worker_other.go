//go:build !linux

package tlsworker

import (
	"context"
	"errors"
	"net"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

var errSystem = errors.New("mcp-jail-tls runs on Linux only")

// Worker is a running mcp-jail-tls. It exists on Linux only.
type Worker struct{}

// Start returns an error.
func Start(Options) (*Worker, error) { return nil, errSystem }

// CA is nil.
func (*Worker) CA() []byte { return nil }

// Ready returns an error.
func (*Worker) Ready() error { return errSystem }

// Pid is 0.
func (*Worker) Pid() int { return 0 }

// Serve closes the connection.
func (*Worker) Serve(c *net.TCPConn, _ []byte, _ egress.Target, _ func(context.Context) (*net.TCPConn, error)) {
	c.Close()
}

// FlushDenials does nothing.
func (*Worker) FlushDenials() {}

// Kill does nothing.
func (*Worker) Kill() {}

// Close does nothing.
func (*Worker) Close() {}

// Run returns an error.
func Run(func([]policy.NetRule, []byte) (Handler, error)) error { return errSystem }
