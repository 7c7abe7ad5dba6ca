package confine

import "github.com/mcp-jail/mcp-jail/policy"

// userNamespaceGap is the refusal where the first wall is missing.
func userNamespaceGap(f Feature) *GapError {
	return &GapError{Gaps: []Gap{{
		Axis: policy.AxisProcess, What: "user namespaces", Why: f.Detail, Fix: f.Fix, Fatal: true,
	}}}
}
