package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// aMac changes a profile and the facts of a Mac on which the self-test has passed.
type aMac struct {
	name   string
	change func(*policy.Profile, *features.Facts)
}

var macs = []aMac{
	{"workspace", func(*policy.Profile, *features.Facts) {}},
	{"network", func(p *policy.Profile, f *features.Facts) {
		p.Net = []policy.NetRule{{Host: "api.example.org", Allow: true}, {Host: "bad.example.org"}}
	}},
	{"network_tcp_and_own_proxy", func(p *policy.Profile, f *features.Facts) {
		p.Net = []policy.NetRule{{Host: "db.example.org", Allow: true, Scheme: "tcp", Port: 5432}}
		p.Env = append(p.Env, policy.Variable{Name: "HTTPS_PROXY", Value: "http://10.0.0.1", Rule: "mcp-jail.toml:9: name = HTTPS_PROXY"})
	}},
	{"network_requests", requests},
	{"network_requests_seen", func(p *policy.Profile, f *features.Facts) {
		requests(p, f)
		f.TLSProgram = features.Available("/usr/local/bin/mcp-jail-tls")
	}},
	{"inbound", func(p *policy.Profile, f *features.Facts) {
		p.Inbound, p.OptionalInbound = []int{3000, 4000}, []int{4000}
	}},
	{"inbound_of_a_preset", func(p *policy.Profile, f *features.Facts) {
		p.Inbound, p.OptionalInbound = []int{4000}, []int{4000}
	}},
	{"commands", func(p *policy.Profile, f *features.Facts) {
		p.Programs, p.CommandArgs, p.Commands = []string{"/usr/bin/git"}, []string{"git"}, aCommand
	}},
	{"one_process", func(p *policy.Profile, f *features.Facts) { p.Limits.Processes = 1 }},
	{"odd_rights", func(p *policy.Profile, f *features.Facts) {
		p.Entries[0].Rights = policy.Read | policy.Create
		p.Entries[2].Rights = policy.Delete
		p.Unprotected = []string{"/home/u/work/.envrc"}
	}},
	{"undo", func(p *policy.Profile, f *features.Facts) {
		p.Undo = policy.Undo{Mode: policy.UndoSession, TotalMB: policy.DefaultUndoTotalMB}
	}},
	{"call", func(p *policy.Profile, f *features.Facts) { aCall(p, f) }},
	{"bun", func(p *policy.Profile, f *features.Facts) { p.ListOnly = []string{"/home", "/home/u"} }},
	{"other_volume", func(p *policy.Profile, f *features.Facts) {
		f.Proof.Volume = 7
		for i := range p.Entries {
			p.Entries[i].ID.Dev = 7
		}
		p.Entries[0].ID.Dev, p.Entries[1].ID.Dev, p.Entries[3].ID.Dev, p.Entries[3].Origin = 8, 8, 9, policy.OriginBaseline
	}},
	{"no_directory", func(p *policy.Profile, f *features.Facts) { p.Dir = "/" }},
	{"read_only", func(p *policy.Profile, f *features.Facts) { p.Entries[0].Rights = policy.Read }},
	{"probes_failed", func(p *policy.Profile, f *features.Facts) {
		for _, axis := range policy.Axes() {
			f.Proof.Failed = append(f.Proof.Failed, features.ProbeResult{ID: "P" + string(axis), Axis: axis, What: "what the probe is about", Got: "it worked"})
		}
	}},
	{"probe_failed_fatally", func(p *policy.Profile, f *features.Facts) {
		f.Proof.Failed = []features.ProbeResult{{ID: "S4", Axis: policy.AxisProcess, Fatal: true, What: "a profile is applied", Got: "another sandbox is around mcp-jail"}}
	}},
	{"probes_of_other_profiles_failed", func(p *policy.Profile, f *features.Facts) { failProbes(f, "F5", "X2", "N2") }},
	{"no_self_test", func(p *policy.Profile, f *features.Facts) { f.Proof = features.Proof{} }},
	{"self_test_broke_off", func(p *policy.Profile, f *features.Facts) { f.Proof = features.Proof{Why: "no space left on device"} }},
	{"no_sandbox_exec", func(p *policy.Profile, f *features.Facts) {
		f.Seatbelt = features.Unavailable("this macOS has no /usr/bin/sandbox-exec", "use another")
	}},
	{"not_looked_at", func(p *policy.Profile, f *features.Facts) { f.Seatbelt, f.Proof = features.Feature{}, features.Proof{} }},
}

func failProbes(f *features.Facts, ids ...string) {
	for _, id := range ids {
		f.Proof.Failed = append(f.Proof.Failed, features.ProbeResult{ID: id, Axis: policy.AxisFs, What: "what " + id + " is about", Got: "it worked"})
	}
}

func TestPlanOfAMacGolden(t *testing.T) {
	for _, m := range macs {
		t.Run(m.name, func(t *testing.T) {
			p, f := plantest.Profile(), plantest.Mac()
			m.change(p, &f)
			plan := Compile(p, f, Watching{})
			got := planText(plan)
			for _, g := range plan.Gaps {
				if g.Platform != "" {
					got += string(g.Platform) + ": " + g.What + "\n"
				}
			}
			in := *plan.Seatbelt
			var entries []string
			for _, e := range in.Profile.Entries {
				entries = append(entries, e.Path)
			}
			in.Profile = nil
			got += fmt.Sprintf("seatbelt %+v of %s\nwaive %q\n", in, strings.Join(entries, ", "), plan.Axes())
			testkit.Golden(t, "plan_mac_"+m.name+".golden", strings.ReplaceAll(got, "geheim", "SECRET"))
		})
	}
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

// TestMacWithoutProof: without a result of the self-test no waiver lets a server start.
func TestMacWithoutProof(t *testing.T) {
	for name, take := range map[string]func(*features.Facts){
		"the self-test": func(f *features.Facts) { f.Proof.Made = false },
		"sandbox-exec":  func(f *features.Facts) { f.Seatbelt = features.Unavailable("", "") },
		"certainty":     func(f *features.Facts) { f.Seatbelt = features.Undetermined("") },
		"the backend":   func(f *features.Facts) { f.Supported = false },
	} {
		f := plantest.Mac()
		take(&f)
		plan := Compile(plantest.Profile(), f, Watching{})
		if !slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return g.Fatal && g.Why != "" }) || plan.Axes() != nil {
			t.Errorf("without %s: %+v", name, plan.Gaps)
		}
	}
	if plan := Compile(plantest.Profile(), plantest.Mac(), Watching{}); !slices.Equal(plan.Axes(), []policy.Axis{policy.WaiveMacOS}) {
		t.Errorf("the control needs %q", plan.Axes())
	}
}
