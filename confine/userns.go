package confine

import "github.com/mcp-jail/mcp-jail/policy"

// userNamespaceGap is the refusal where the first wall is missing.
func userNamespaceGap() Gap {
	return Gap{
		Axis: policy.AxisProcess, What: "user namespaces", Fatal: true,
		Why: "this host does not let this user make a user namespace",
		Fix: "mcp-jail doctor says which setting forbids it and how to allow it",
	}
}
