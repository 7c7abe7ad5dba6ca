//go:build !linux && !darwin

package tlsworker

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Run returns an error: mcp-jail-tls serves jails, and there are none on this system.
func Run(func([]policy.NetRule, []byte) (Handler, error)) error {
	return errors.New("mcp-jail-tls runs on Linux and macOS only")
}

// EnterSandbox returns an error, as Run does.
func EnterSandbox() error { return errors.New("mcp-jail-tls runs on Linux and macOS only") }

// GivenRootsOnly is not set.
const GivenRootsOnly = false

// AwaitConfinement returns an error, as Run does.
func AwaitConfinement(*os.File) (roots []byte, err error) { return nil, EnterSandbox() }

// StartTLS returns an error, as Run does.
func StartTLS(_ context.Context, _ string, conn *net.TCPConn, _ string) (*net.TCPConn, error) {
	conn.Close()
	return nil, EnterSandbox()
}
