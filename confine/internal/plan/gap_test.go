package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWaivedBy: a word waives the gaps of its own axis or system, and no word waives a fatal one.
func TestWaivedBy(t *testing.T) {
	const fs, macos = policy.AxisFs, policy.WaiveMacOS
	for _, c := range []struct {
		name  string
		gap   Gap
		words []policy.Axis
		want  bool
	}{
		{"its axis", Gap{Axis: fs}, []policy.Axis{policy.AxisNet, fs}, true},
		{"another axis", Gap{Axis: fs}, []policy.Axis{policy.AxisNet}, false},
		{"no word", Gap{Axis: fs}, nil, false},
		{"an empty word", Gap{Axis: fs}, []policy.Axis{""}, false},
		{"a system that it does not come from", Gap{Axis: fs}, []policy.Axis{macos}, false},
		{"its system", Gap{Axis: fs, Platform: macos}, []policy.Axis{macos}, true},
		{"its axis, and it comes from a system", Gap{Axis: fs, Platform: macos}, []policy.Axis{fs}, true},
		{"another system", Gap{Axis: fs, Platform: macos}, []policy.Axis{policy.WaiveWindows, policy.AxisNet}, false},
		{"fatal", Gap{Axis: fs, Fatal: true}, policy.Waivers(), false},
		{"fatal, of a system", Gap{Axis: fs, Fatal: true, Platform: macos}, policy.Waivers(), false},
	} {
		testkit.Equal(t, c.name, c.gap.WaivedBy(c.words), c.want)
	}
	if g := UserNamespaceGap(kernel.Undetermined("no space")).Gaps; len(g) != 1 || g[0].WaivedBy(policy.Waivers()) {
		t.Errorf("user namespaces that are not there now can be waived: %+v", g)
	}
}

// TestGapErrorText: a refusal names each gap, and offers a line that accepts all of them only where that
// leads to a start.
func TestGapErrorText(t *testing.T) {
	const net, macos = policy.AxisNet, policy.WaiveMacOS
	platform := Gap{Axis: policy.AxisFs, What: "names are hidden", Why: "they can be guessed", Fix: fixMacOS, Platform: macos}
	ports := Gap{Axis: net, What: "only port 1", Why: "all or none", Fix: "remove the rule"}
	namespaces := Gap{Axis: net, What: "only these hosts", Why: "no namespace", Fix: FixNamespaces}
	const (
		head         = "this machine cannot enforce the policy"
		platformText = "\n  names are hidden: they can be guessed"
		portsText    = "\n  only port 1: all or none\n    remove the rule"
	)
	for _, c := range []struct {
		name string
		err  GapError
		line string
		want string
	}{
		{"all open", GapError{Gaps: []Gap{platform, ports}, Waive: []policy.Axis{net, macos}},
			`to start it all the same, and accept all of this, run mcp-jail wrap, or write waive = ["net", "macos"]  (--waive net --waive macos)`,
			head + platformText + portsText + "\n" + `to start it all the same, and accept all of this, run mcp-jail wrap, or write waive = ["net", "macos"]  (--waive net --waive macos)`},
		{"one accepted", GapError{Gaps: []Gap{platform}, Waive: []policy.Axis{net, macos}},
			`accepted already: net. To start it all the same, and accept the rest too: waive = ["net", "macos"]  (add --waive macos)`,
			head + platformText + "\n" + `accepted already: net. To start it all the same, and accept the rest too: waive = ["net", "macos"]  (add --waive macos)`},
		{"none of a system", GapError{Gaps: []Gap{ports}, Waive: []policy.Axis{net}},
			`to start it all the same, and accept all of this, run mcp-jail wrap, or write waive = ["net"]  (--waive net)`, head + portsText},
		{"nothing can be accepted", GapError{Gaps: []Gap{platform, ports}}, "", head + platformText + "\n    " + fixMacOS + portsText},
		{"no namespaces", GapError{Gaps: []Gap{namespaces}, Waive: []policy.Axis{net}, HostNamespaces: kernel.Unavailable("a setting", "change it")},
			`to start it all the same, and accept all of this, run mcp-jail wrap, or write waive = ["net"]  (--waive net)`,
			head + ": it does not allow user namespaces: a setting\n  change it\nwithout them, this does not hold:\n  only these hosts: no namespace\n" +
				`to start it all the same, and accept all of this, run mcp-jail wrap, or write waive = ["net"]  (--waive net)`},
	} {
		testkit.Equal(t, fmt.Sprintf("%s: the line is", c.name), c.err.WaiveLine(), c.line)
		testkit.Equal(t, c.name, c.err.Error(), c.want)
	}
}

// TestFatalProbes: a probe that must pass for any start refuses every profile, also one that it is not
// about.
func TestFatalProbes(t *testing.T) {
	tried := 0
	for id, needs := range probeNeeds {
		p, f := plantest.Profile(), plantest.Mac()
		if needs(p) {
			continue
		}
		tried++
		if failProbes(&f, id); slices.ContainsFunc(Compile(p, f, Watching{}).Gaps, func(g Gap) bool { return g.What == "what "+id+" is about" }) {
			t.Errorf("control: the profile is one that %s is about", id)
		}
		f.Proof.Failed[0].Fatal = true
		if plan := Compile(p, f, Watching{}); plan.Axes() != nil || !slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return g.Fatal }) {
			t.Errorf("%s failed, and a start is possible: %+v", id, plan.Gaps)
		}
	}
	if tried == 0 {
		t.Error("each probe is about the profile")
	}
}
