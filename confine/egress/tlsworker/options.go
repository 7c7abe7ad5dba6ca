package tlsworker

import (
	"context"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Name is the file name of the program.
const Name = "mcp-jail-tls"

// Options configure a Worker.
type Options struct {
	Setup
	// Run starts the program in its jail, with these two files as its standard input and output.
	Run   func(ctx context.Context, in, out *os.File) (Process, error)
	Ended func(error) // is called when the process ends before Close. Optional
}

// Process is a running program.
type Process interface {
	Kill() error
	Wait() (how string) // returns when it has ended
}

// Setup is what the process gets to know.
type Setup struct {
	Rules   []policy.NetRule
	Secrets map[string]string // values by variable
	Leaks   egress.Leaks      // the secrets to find in requests
	Roots   []byte            // the authorities (PEM) that verify upstreams
}

// Handler is the work of the process.
type Handler interface {
	CA() []byte // the certificate of its authority, in PEM
	egress.Interceptor
	Close()
}
