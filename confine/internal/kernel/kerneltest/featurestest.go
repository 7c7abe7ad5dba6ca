// Package kerneltest skips tests on hosts that lack a feature.
package kerneltest

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// Needs skips a test if the host lacks one of the features, named as in Features.Has. The test
// fails instead if MCPJAIL_REQUIRE ("landlock:6,seccomp,userns") lists that feature.
func Needs(t testing.TB, names ...string) {
	t.Helper()
	have := kernel.Probe()
	for _, name := range names {
		f, err := have.Has(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Answer == kernel.Yes {
			continue
		}
		testkit.Skip(t, name, "%s (%s)", f.Answer, f.Detail)
	}
}
