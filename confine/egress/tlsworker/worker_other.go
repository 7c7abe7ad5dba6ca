//go:build !linux && !darwin

package tlsworker

import (
	"context"
	"errors"
	"net"

	"github.com/mcp-jail/mcp-jail/policy"
)

var errSystem = errors.New("mcp-jail-tls runs on Linux and macOS only")

// Run returns an error: mcp-jail-tls serves jails, and there are none on this system.
func Run(func([]policy.NetRule, []byte) (Handler, error)) error { return errSystem }

// GivenRootsOnly is not set.
const GivenRootsOnly = false

// Proxy carries nothing here.
type Proxy struct {
	Find        func() (program string, err error)
	Connections int
}

// StartTLS returns an error, as Run does.
func (*Proxy) StartTLS(_ context.Context, conn *net.TCPConn, _ string) (*net.TCPConn, error) {
	conn.Close()
	return nil, errSystem
}

// Close does nothing here.
func (*Proxy) Close() error { return nil }
