package tlsworker

import (
	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Name is the file name of the program.
const Name = "mcp-jail-tls"

// Options configure the process.
type Options struct {
	Program string // its path, as returned by Find
	Rules   []policy.NetRule
	// Secrets are values by variable. The process receives them after it has entered its
	// sandbox.
	Secrets map[string]string
	Leaks   egress.Leaks // the secrets to find in requests; the process receives them with Secrets
	// Roots are certificates (PEM) that verify upstreams, in addition to the host's roots.
	Roots       []byte
	Connections int // at once; 0 means policy.MaxConnections
}

// Handler is the work of the process. Its methods are called in this order.
type Handler interface {
	CA() []byte     // the certificate of its authority, in PEM
	Prepare() error // reads the files that it needs; later it cannot open any
	SetSecrets(secrets map[string]string) error
	SetLeaks(egress.Leaks)
	egress.Interceptor
	Close()
}
