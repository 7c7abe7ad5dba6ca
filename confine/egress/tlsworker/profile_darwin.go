package tlsworker

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// compileText returns the rules under which sandbox-exec starts the program.
func compileText(program string) (seatbelt.Text, error) {
	return seatbelt.CompileTLS(program, unknownOperations())
}

// unknownOperations returns the optional operations that this system does not know, by its self-test.
func unknownOperations() []string {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil
	}
	known, _ := selftest.Cached(host.CacheDir)
	return known.Without
}
