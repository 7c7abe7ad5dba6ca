package diagnostics

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// pasted returns the policy of a configuration after a grant, with the real code.
func pasted(t *testing.T, base string, grant []string, profile *policy.Profile) *policy.Policy {
	t.Helper()
	if len(grant) == 0 {
		t.Fatal("nothing to grant")
	}
	file := "version = 1\n\n" + base + "\n"
	c, err := config.Decode([]byte(file), "mcp-jail.toml")
	if err == nil {
		err = granting(c.Servers[profile.Server], profile.Tool, grant)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	p, err := c.Policy(profile.Server, profile.Tool)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return p
}
