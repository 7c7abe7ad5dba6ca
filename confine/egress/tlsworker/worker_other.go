//go:build !linux

package tlsworker

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Run returns an error: mcp-jail-tls serves jails, and there are none on this system.
func Run(func([]policy.NetRule, []byte) (Handler, error)) error {
	return errors.New("mcp-jail-tls runs on Linux only")
}
