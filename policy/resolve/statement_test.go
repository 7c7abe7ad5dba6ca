package resolve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStatementIsBounded: what a server is told of a large policy is cut, and says so. See TestProfilesOfHosts for a
// small one.
func TestStatementIsBounded(t *testing.T) {
	var rules, lines strings.Builder
	rules.WriteString("[servers.s]\ncommand = \"server\"\nwaive = [\"net\"]\n")
	for i := range 300 {
		fmt.Fprintf(&lines, "d /data/a-directory-with-a-longer-name-%d\n", i)
		fmt.Fprintf(&rules, "[[servers.s.access.fs]]\npath = \"/data/a-directory-with-a-longer-name-%d\"\nread = true\n", i)
	}
	for i := range 64 {
		fmt.Fprintf(&rules, "[[servers.s.access.inbound]]\nport = %d\n", 60000+i)
	}
	for i := range 100 {
		fmt.Fprintf(&rules, "[[servers.s.access.net]]\nhost = \"a%d\"\nallow = true\nsecret = { env = \"A_VARIABLE_WITH_A_LONG_NAME_%d\", command = [\"op\"] }\n", i, i)
	}
	p, _ := mustResolve(t, newFake(aSystem, lines.String()), rules.String())
	text := policy.NewStatement(p).Encode()
	var s policy.Statement
	testkit.Must(t, json.Unmarshal(text, &s))
	if len(text) > policy.MaxBytes || !s.Truncated || len(s.Fs)+len(s.Net.Hosts) < 40 || len(s.Net.Inbound) != 64 || s.Net.Access != "hosts" {
		t.Errorf("%d bytes, truncated %v, %d paths, net %s", len(text), s.Truncated, len(s.Fs), s.Net.Access)
	}
}
