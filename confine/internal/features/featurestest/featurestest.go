package featurestest

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// Needs skips a test if the host lacks one of the features, named as in Features.Has. The test
// fails instead if MCPJAIL_REQUIRE ("landlock:6,seccomp,userns") lists that feature.
func Needs(t testing.TB, names ...string) {
	t.Helper()
	have := features.Probe()
	for _, name := range names {
		f, err := have.Has(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Answer == features.Yes {
			continue
		}
		testkit.Skip(t, name, "%s (%s)", f.Answer, f.Detail)
	}
}
