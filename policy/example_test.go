package policy_test

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The entry with the longest matching path decides.
func ExampleProfile_Allows() {
	p := policy.Profile{Entries: []policy.Entry{{Path: "/home/me/notes", Rights: policy.Read}, {Path: "/home/me/notes/.env"}}}
	fmt.Println(p.Allows(policy.OpRead, "/home/me/notes/today.md"), p.Allows(policy.OpRead, "/home/me/notes/.env"))
	// Output: true false
}
