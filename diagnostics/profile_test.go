package diagnostics

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRuleInTmp checks that a rule for a path in /tmp concerns the host's /tmp and not the
// jail's.
func TestRuleInTmp(t *testing.T) {
	ev := evidence("EROFS: read-only file system, open '/tmp/data/x'")
	ev.Profile = fixture(func(p *policy.Profile) {
		p.Entries = append(p.Entries, policy.Entry{Path: "/tmp/data", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
	})
	if d := Diagnose(ev); d.Attribution != Likely || d.Hints[0].Missing != "write" {
		t.Errorf("%s", d.Text())
	}
}
