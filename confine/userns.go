package confine

import "github.com/mcp-jail/mcp-jail/policy"

// userNamespaceGap is the refusal where there are no user namespaces at the
// moment, for a reason that is no prohibition: nothing weaker is started then.
func userNamespaceGap(f Feature) *GapError {
	return &GapError{Gaps: []Gap{{
		Axis: policy.AxisProcess, What: "user namespaces", Why: f.Detail, Fix: f.Fix, Fatal: true,
	}}}
}

// with is what holds for a host that was asked about user namespaces.
func (f facts) with(userns Feature) facts {
	f.UserNamespaces = userns
	if userns.Answer == No {
		f.lookAround()
	}
	return f
}
