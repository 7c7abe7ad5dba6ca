package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
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
	for name, c := range map[string]struct {
		change func(*policy.Profile)
		axes   []policy.Axis // of the gaps, in their order
		words  []policy.Axis // that accept them all
	}{
		"every policy":  {func(*policy.Profile) {}, []policy.Axis{fs, net, ipc}, []policy.Axis{windows}},
		"another word":  {func(p *policy.Profile) { p.Waive = []policy.Axis{fs, net} }, []policy.Axis{fs, net, ipc}, []policy.Axis{fs, net, windows}},
		"file limits":   {func(p *policy.Profile) { p.Limits.OpenFiles = 1 }, []policy.Axis{fs, net, ipc, limits}, []policy.Axis{windows}},
		"command rules": {func(p *policy.Profile) { p.Programs = []string{"x"} }, []policy.Axis{fs, net, ipc, process}, []policy.Axis{process, windows}},
		"rules of paths": {func(p *policy.Profile) {
			p.Net = []policy.NetRule{{Host: "a", Allow: true, PathPrefix: "/x"}}
		}, []policy.Axis{fs, net, ipc, net}, []policy.Axis{net, windows}},
		"undo": {func(p *policy.Profile) { p.Undo.Mode = policy.UndoCall }, []policy.Axis{fs, net, ipc, fs}, []policy.Axis{fs, windows}},
		"a HOME of a call": {func(p *policy.Profile) {
			p.Entries = []policy.Entry{{Path: p.Home, Origin: policy.OriginHome, Ephemeral: true}}
		}, []policy.Axis{fs, net, ipc, fs}, []policy.Axis{windows}},
	} {
		p := windowsProfile()
		c.change(p)
		plan := Compile(p, plantest.Windows(), Watching{})
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

// TestWindowsSpec: the start gets the program, the limits and a TEMP of the session.
func TestWindowsSpec(t *testing.T) {
	p, f := windowsProfile(), plantest.Windows()
	o := Compile(p, f, Watching{}).Spec
	if env := strings.Join(o.Env, " "); env != "Temp="+f.TempDir+" TMP="+f.TempDir+" TMPX=y" || o.Program != p.Program || o.Dir != p.Dir || o.TempDir != f.TempDir || o.Limits != p.Limits {
		t.Errorf("%s, %+v", env, o)
	}
}

// TestWindowsWatched: what is watched elsewhere cannot be here, and nothing starts in its place.
func TestWindowsWatched(t *testing.T) {
	if plan := Compile(windowsProfile(), plantest.Windows(), Watching{Reads: true}); plan.Axes() != nil {
		t.Errorf("%+v", plan.Gaps)
	}
}
