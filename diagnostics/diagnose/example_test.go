package diagnose_test

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The text of a failed call names a file that the policy refuses.
func ExampleFailure() {
	ev := diagnostics.Evidence{
		Stage: diagnostics.StageCall, Server: "notes", Tool: "read", Text: "EACCES: permission denied, open '/srv/list.txt'",
		Profile: &policy.Profile{Server: "notes", Home: "/home/me"},
	}
	diagnostest.Of(&ev).Exists = func(string) bool { return true }
	d := diagnose.Failure(ev)
	fmt.Println(d.Attribution, d.Hints[0].Target, d.Hints[0].Proposal.Object.Words())
	// Output: likely /srv/list.txt [--read /srv/list.txt]
}
