package probetest

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// Needs skips a test where the host lacks one of the features, named as in
// Features.Has. What MCPJAIL_REQUIRE lists ("landlock:6,seccomp,userns") is a
// failure instead: there a skip has to be earned.
func Needs(t testing.TB, names ...string) {
	t.Helper()
	have := probe.Probe()
	for _, name := range names {
		f, err := have.Has(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Answer == probe.Yes {
			continue
		}
		testkit.Skip(t, name, "%s (%s)", f.Answer, f.Detail)
	}
}
