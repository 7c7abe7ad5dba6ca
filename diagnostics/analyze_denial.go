package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/limits"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/starts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeDenial turns a denial of the jail into a finding. The finding is always refused.
// It has a grant if a rule can allow the access.
func analyzeDenial(c *facts.Case, d policy.Denial) facts.Finding {
	if d.Target == policy.DenialOthers {
		return analyzeOthersDenial(c, d)
	}
	d.Program = c.Evidence.Redactor.Redact(d.Program)
	target := c.Quote(d.Target)
	if d.Axis == policy.AxisFs && filepath.IsAbs(d.Target) {
		target = c.Show(filepath.Clean(d.Target))
	}
	cause := report.Blocked(d, target)
	switch d.Axis {
	case policy.AxisFs:
		return paths.AnalyzeDenial(c, d, cause)
	case policy.AxisIPC:
		if filepath.IsAbs(d.Target) { // a socket with a path
			return paths.AnalyzeDenial(c, d, cause)
		}
	case policy.AxisNet:
		return network.AnalyzeDenial(c, d, cause)
	case policy.AxisEnv:
		return names.AttributeVariable(c, Certain, d.Target, cause)
	case policy.AxisProcess:
		if said.RightsOf(d.Operation).Has(policy.Execute) {
			return starts.AnalyzeDenial(c, d, cause)
		}
	case policy.AxisLimits:
		return limits.AnalyzeDenial(c, d, cause)
	}
	return facts.Refused(Certain, d.Axis, d.Target, d.Operation, cause, grants.Grant{}).Unfixable("no line of a policy grants this")
}

func analyzeOthersDenial(c *facts.Case, d policy.Denial) facts.Finding {
	sure, cause := Certain, "the jail blocked more accesses than it records one by one: "
	if d.Reason == policy.DeniedAbsent {
		sure, cause = Possible, "the server tried more missing names than were looked up on the host, where they may be missing too: "
	}
	f := facts.Refused(sure, d.Axis, d.Target, d.Operation, cause+strings.TrimPrefix(report.Blocked(d, c.Quote(d.Target)), "the jail blocked "), grants.Grant{})
	f.Fix = "`mcp-jail why` shows the recorded denials; a new session starts with an empty record"
	return f
}
