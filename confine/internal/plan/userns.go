package plan

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/policy"
)

// userNamespaceGap is the refusal where there are no user namespaces at the
// moment, for a reason that is no prohibition: nothing weaker is started then.
func UserNamespaceGap(f probe.Feature) *GapError {
	return &GapError{Gaps: []Gap{{
		Axis: policy.AxisProcess, What: "user namespaces", Why: f.Detail, Fix: f.Fix, Fatal: true,
	}}}
}
