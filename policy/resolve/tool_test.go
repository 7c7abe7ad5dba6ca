package resolve

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func decoded(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Decode([]byte(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What one tool leaves in HOME is not there for another: its process has a copy.
func TestToolsHome(t *testing.T) {
	const stateless = aServer + "stateful = false\n"
	for _, c := range []struct {
		toml, tool string
		want       bool
	}{
		{stateless, "search", true}, // whether or not a table declares it
		{stateless + "[servers.s.tools.search.access]\n", "search", true},
		{stateless + "home = \"private\"\n", "search", true},
		{stateless, "", false}, // the process that lists the tools fills what they see
		{stateless + "home = \"real\"\n", "search", false},
		{aServer, "", false},
	} {
		p, _, err := resolveTool(t, newFake(aSystem), c.toml, c.tool)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return e.Ephemeral })
		if got != c.want {
			t.Errorf("%s, tool %q: %v", c.toml, c.tool, got)
		}
		if !got {
			continue
		}
		home, _ := p.Find(p.Home)
		if !home.Ephemeral || home.Path != p.Home || home.Rights != policy.AllRights || home.Origin != policy.OriginHome {
			t.Errorf("%+v", home)
		}
		kept := *p
		kept.Entries = slices.Clone(p.Entries)
		for i := range kept.Entries {
			kept.Entries[i].Ephemeral = false
		}
		if kept.Key() == p.Key() || kept.Equal(p) {
			t.Error("a profile whose HOME is kept counts as the same")
		}
	}
}
