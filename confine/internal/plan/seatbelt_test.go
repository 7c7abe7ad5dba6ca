package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func failProbes(f *kernel.Facts, ids ...string) {
	for _, id := range ids {
		f.Proof.Failed = append(f.Proof.Failed, kernel.ProbeResult{ID: id, Axis: policy.AxisFs, What: "what " + id + " is about", Got: "it worked"})
	}
}

// TestPlanOfAnotherVolume: the self-test speaks for the volume that it was made on.
func TestPlanOfAnotherVolume(t *testing.T) {
	c := planCase{t: t, name: "mac_other_volume", p: plantest.Profile(), f: plantest.Mac()}
	c.f.Proof.Volume = 7
	for i, volume := range []uint64{8, 8, 7, 9} {
		c.p.Entries[i].ID.Dev = volume
	}
	c.p.Entries[3].Origin = policy.OriginBaseline
	c.show([]string{"all"})
}

// TestMacPlanForReports writes what reports print of a plan, for the test of the command plan.
func TestMacPlanForReports(t *testing.T) {
	p, f := plantest.Profile(), plantest.Mac()
	p.Net = []policy.NetRule{{Host: "api.example.org", Allow: true}}
	plan := Compile(p, f, Watching{})
	text, err := json.MarshalIndent(struct {
		Enforced []Enforcement
		Gaps     []Gap
		Notes    []string
	}{plan.Enforced, plan.Gaps, plan.Notes}, "", "  ")
	testkit.Must(t, err)
	testkit.Golden(t, "mac_plan.json", append(text, '\n'))
	seatbelt, err := plan.SeatbeltText("/opt/homebrew/bin/mcp-jail")
	if err != nil || !strings.Contains(seatbelt.Profile, `"/opt/homebrew/bin/mcp-jail"`) || !strings.Contains(seatbelt.Profile, "/home/u/work") || !strings.Contains(seatbelt.Profile, "localhost:65535") {
		t.Errorf("%v\n%s", err, seatbelt.Profile)
	}
	seatbelt, err = Compile(plantest.Profile(), f, Watching{}).SeatbeltText("/opt/homebrew/bin/mcp-jail")
	if err != nil || strings.Contains(seatbelt.Profile, "65535") {
		t.Errorf("without a host: %v\n%s", err, seatbelt.Profile)
	}
}

// TestFailedProbesAreGaps: a probe that fails is a gap of its axis for each profile that it is about, and
// never one of the platform, which the word of the system would waive.
func TestFailedProbesAreGaps(t *testing.T) {
	about := map[string]func(*policy.Profile){
		"F5":  func(p *policy.Profile) { p.Entries[0].Rights = policy.Read | policy.Update },
		"X2":  func(p *policy.Profile) { p.Limits.Processes = 1 },
		"N2":  func(p *policy.Profile) { p.Net = []policy.NetRule{{Host: "a.example", Allow: true}} },
		"N1":  func(*policy.Profile) {},
		"R1":  func(*policy.Profile) {},
		"new": func(*policy.Profile) {},
	}
	for id := range probeNeeds {
		if about[id] == nil {
			t.Errorf("no profile is tested that %s is about", id)
		}
	}
	for id, change := range about {
		p, f := plantest.Profile(), plantest.Mac()
		change(p)
		failProbes(&f, id)
		at := slices.IndexFunc(Compile(p, f, Watching{}).Gaps, func(g Gap) bool { return g.What == "what "+id+" is about" })
		if at < 0 {
			t.Errorf("probe %s failed, and there is no gap", id)
		} else if g := Compile(p, f, Watching{}).Gaps[at]; g.Platform != "" || g.Fatal || g.Axis != policy.AxisFs {
			t.Errorf("%s: %+v", id, g)
		}
	}
}
