package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
	"github.com/mcp-jail/mcp-jail/policy"
)

func windowsProfile() *policy.Profile {
	return &policy.Profile{
		Server: "notes", Program: `C:\node\node.exe`, Argv: []string{`C:\node\node.exe`, "x.js"}, Dir: `C:\work`, HomePrivate: true, Home: `C:\state\home`,
		Env: []policy.Variable{
			{Name: "Temp", Value: `C:\t`, Rule: policy.MinimalEnvironment}, {Name: "TMP", Value: `C:\t`, Rule: policy.MinimalEnvironment}, {Name: "TMPX", Value: "y", Rule: policy.MinimalEnvironment},
		},
		Limits: policy.Limits{Processes: 5, MemoryMB: 100},
	}
}

// TestWindowsGaps: on Windows every policy has gaps of files, hosts and other programs, which the word
// windows accepts, and nothing else does but their axes.
func TestWindowsGaps(t *testing.T) {
	const fs, net, ipc, process, limits, windows = policy.AxisFs, policy.AxisNet, policy.AxisIPC, policy.AxisProcess, policy.AxisLimits, policy.WaiveWindows
	nothing := func(*policy.Profile, *features.Facts) {}
	for name, c := range map[string]struct {
		change func(*policy.Profile, *features.Facts)
		axes   []policy.Axis // of the gaps, in their order
		words  []policy.Axis // that accept them all; nil: nothing does
	}{
		"every policy":  {nothing, []policy.Axis{fs, net, ipc}, []policy.Axis{windows}},
		"another word":  {func(p *policy.Profile, _ *features.Facts) { p.Waive = []policy.Axis{fs, net} }, []policy.Axis{fs, net, ipc}, []policy.Axis{fs, net, windows}},
		"file limits":   {func(p *policy.Profile, _ *features.Facts) { p.Limits.OpenFiles = 1 }, []policy.Axis{fs, net, ipc, limits}, []policy.Axis{windows}},
		"command rules": {func(p *policy.Profile, _ *features.Facts) { p.Programs = []string{"x"} }, []policy.Axis{fs, net, ipc, process}, []policy.Axis{process, windows}},
		"rules of paths": {func(p *policy.Profile, _ *features.Facts) {
			p.Net = []policy.NetRule{{Host: "a", Allow: true, PathPrefix: "/x"}}
		}, []policy.Axis{fs, net, ipc, net}, []policy.Axis{net, windows}},
		"undo": {func(p *policy.Profile, _ *features.Facts) { p.Undo.Mode = policy.UndoCall }, []policy.Axis{fs, net, ipc, fs}, []policy.Axis{fs, windows}},
		"a HOME of a call": {func(p *policy.Profile, _ *features.Facts) {
			p.Entries = []policy.Entry{{Path: p.Home, Origin: policy.OriginHome, Ephemeral: true}}
		}, []policy.Axis{fs, net, ipc, fs}, []policy.Axis{windows}},
		"a failed probe": {func(_ *policy.Profile, f *features.Facts) {
			f.Proof.Failed = []features.FailedProbe{{ID: "W6", Axis: limits, What: "memory", Got: "works"}}
		}, []policy.Axis{fs, net, ipc, limits}, []policy.Axis{limits, windows}},
		"a fatal probe": {func(_ *policy.Profile, f *features.Facts) {
			f.Proof.Failed = []features.FailedProbe{{ID: "W1", Axis: process, What: "a start", Got: "no", Fatal: true}}
		}, []policy.Axis{fs, net, ipc, process}, nil},
		"no self-test": {func(_ *policy.Profile, f *features.Facts) { f.Proof = features.Proof{Why: "no time"} }, []policy.Axis{process}, nil},
	} {
		p, f := windowsProfile(), plantest.Windows()
		c.change(p, &f)
		plan := Compile(p, f, Watching{})
		var axes []policy.Axis
		for _, g := range plan.Gaps {
			axes = append(axes, g.Axis)
			if g.What == "" || g.Why == "" || g.Fix == "" || g.Platform != "" && g.Platform != windows {
				t.Errorf("%s: %+v", name, g)
			}
		}
		if !slices.Equal(axes, c.axes) || !slices.Equal(plan.Axes(), c.words) {
			t.Errorf("%s: gaps %v, accepted by %v, want %v, %v", name, axes, plan.Axes(), c.axes, c.words)
		}
	}
}

// TestWindowsInput: the start gets the limits, the private directories, and the desktop only where Windows
// refuses to close it.
func TestWindowsInput(t *testing.T) {
	p, f := windowsProfile(), plantest.Windows()
	want := winjail.Input{Processes: 5, MemoryMB: 100, Home: p.Home, Temp: f.TempDir}
	plan := Compile(p, f, Watching{})
	if *plan.Windows != want {
		t.Errorf("%+v, want %+v", *plan.Windows, want)
	}
	one := windowsProfile()
	one.Limits.Processes = 1
	if in := Compile(one, f, Watching{}).Windows; in.Processes != 1 || !in.NoChildren {
		t.Errorf("one process: %+v", *in)
	}
	if env := strings.Join(plan.Spec.Env, " "); env != "Temp="+f.TempDir+" TMP="+f.TempDir+" TMPX=y" || plan.Spec.Program != p.Program || plan.Spec.Dir != p.Dir {
		t.Errorf("%s, %+v", env, plan.Spec)
	}
	p.HomePrivate = false
	f.Proof.Without = []string{winjail.StepDesktop}
	plan = Compile(p, f, Watching{})
	if want.Home, want.Desktop = "", true; *plan.Windows != want {
		t.Errorf("%+v, want %+v", *plan.Windows, want)
	}
	if !slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return strings.Contains(g.Why, "clipboard") }) {
		t.Errorf("no gap says that the desktop is open: %+v", plan.Gaps)
	}
}

// TestWindowsUnproved: without a self-test nothing is said to hold.
func TestWindowsUnproved(t *testing.T) {
	f := plantest.Windows()
	if len(Compile(windowsProfile(), f, Watching{}).Enforced) < 6 {
		t.Error("control: with a self-test, things hold")
	}
	f.Proof.Made = false
	if held := Compile(windowsProfile(), f, Watching{}).Enforced; held != nil {
		t.Errorf("%+v", held)
	}
}

// TestWindowsHolds: nothing is said to hold whose probe has failed.
func TestWindowsHolds(t *testing.T) {
	f := plantest.Windows()
	p := windowsProfile()
	p.Limits.Processes = 1
	whole := len(Compile(p, f, Watching{}).Enforced)
	for _, id := range []string{"W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9"} {
		f.Proof.Failed = []features.FailedProbe{{ID: id, Axis: policy.AxisProcess, What: id, Got: "no"}}
		plan := Compile(p, f, Watching{})
		if len(plan.Enforced) != whole-1 || !slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return g.What == id && strings.Contains(g.Why, "this machine") }) {
			t.Errorf("%s failed: %+v, %+v", id, plan.Enforced, plan.Gaps)
		}
	}
}

// TestWindowsNeeds: a limit that does not hold is a gap of the policies that have it, and of no other.
func TestWindowsNeeds(t *testing.T) {
	for id, limits := range map[string][2]policy.Limits{ // with the limit, and without it
		"W5": {{Processes: 5}, {MemoryMB: 5}}, "W6": {{MemoryMB: 5}, {Processes: 5}}, "W7": {{Processes: 1}, {Processes: 2}},
	} {
		for i, l := range limits {
			p, f := windowsProfile(), plantest.Windows()
			p.Limits = l
			f.Proof.Failed = []features.FailedProbe{{ID: id, Axis: policy.AxisLimits, What: id, Got: "no"}}
			if has := slices.ContainsFunc(Compile(p, f, Watching{}).Gaps, func(g Gap) bool { return g.What == id }); has != (i == 0) {
				t.Errorf("%s with %+v: gap %t", id, l, has)
			}
		}
	}
}

// TestWindowsWatched: what is watched elsewhere cannot be here, and nothing starts in its place.
func TestWindowsWatched(t *testing.T) {
	if plan := Compile(windowsProfile(), plantest.Windows(), Watching{Reads: true}); plan.Axes() != nil {
		t.Errorf("%+v", plan.Gaps)
	}
}
