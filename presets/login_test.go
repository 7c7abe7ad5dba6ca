package presets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLogin checks the port that leads to mcp-remote with what mcp-remote 0.15.1 has done for the same lines.
func TestLogin(t *testing.T) {
	p := testkit.Get(Find("mcp-remote"))(t)
	const url = "http://127.0.0.1:9981/mcp"
	for _, row := range testkit.Rows(t, "logins.txt", 3) {
		e := Entry{Args: listed(row[0])}
		if row[1] != "" {
			e.Env = variables(row[1])
		}
		var ports []int
		if a := p.For(e).Server.Access; a != nil {
			for _, r := range a.Inbound {
				if ports = append(ports, r.Port); !r.Preset {
					t.Errorf("%q: the rule is not the preset's", e.Args)
				}
			}
		}
		testkit.Equal(t, fmt.Sprintf("%q: ports", e.Args), strings.Trim(fmt.Sprint(ports), "[]"), row[2])
	}
	for _, name := range Names() { // the rules of no other preset change
		other := testkit.Get(Find(name))(t)
		if a := other.For(Entry{Args: []string{url, "19880"}}).Server.Access; name != "mcp-remote" && a != nil && a.Inbound != nil {
			t.Errorf("%s: %v", name, a.Inbound)
		}
	}
}
