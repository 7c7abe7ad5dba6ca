package diagnostics

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRuleInTmp: a rule for a place in /tmp is of the host, not of the jail.
func TestRuleInTmp(t *testing.T) {
	ev := evidence("EROFS: read-only file system, open '/tmp/data/x'")
	ev.Profile = fixture(func(p *policy.Profile) {
		p.Entries = append(p.Entries, policy.Entry{Path: "/tmp/data", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
	})
	if d := Diagnose(ev); d.Attribution != Likely || d.Hints[0].Missing != "write" {
		t.Errorf("%s", d.Text())
	}
}
