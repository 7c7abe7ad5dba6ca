package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// planText returns a plan and its spec as text. It leaves out the filter, which has golden files
// of its own.
func planText(p *Plan) string {
	var b strings.Builder
	for _, e := range p.Enforced {
		fmt.Fprintf(&b, "holds %s: %s (%s)\n", e.Axis, e.What, e.By)
	}
	for _, g := range p.Gaps {
		fmt.Fprintf(&b, "gap %s: %s\n  why: %s\n  fix: %s\n", g.Axis, g.What, g.Why, g.Fix)
		if g.Fatal {
			b.WriteString("  fatal\n")
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	o := p.Spec
	o.Seccomp, o.Network.Refused = nil, nil
	for _, m := range o.Mounts {
		fmt.Fprintf(&b, "mount %s\n", mountText(m))
	}
	for _, r := range o.Landlock.Rules {
		fmt.Fprintf(&b, "landlock %s: %s\n", r.Path, landlock.AccessNames(r.Access))
	}
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; (name != "HomeCopy" || o.HomeCopy != "") && name != "Mounts" && name != "Landlock" && name != "Seccomp" && name != "Hooks" && name != "Profile" {
			fmt.Fprintf(&b, "spec %s: %+v\n", name, v.Field(i))
		}
	}
	v = reflect.ValueOf(o.Profile)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			fmt.Fprintf(&b, "spec Profile.%s: %+v\n", v.Type().Field(i).Name, v.Field(i))
		}
	}
	return b.String()
}

// refuseNamespaces is a host that forbids user namespaces.
func refuseNamespaces(f *kernel.Facts) {
	f.UserNamespaces = kernel.Unavailable("kernel.unprivileged_userns_clone is 0", "sysctl")
	f.KernelFiles, f.HostNames, f.ReadsProc = []string{"/proc/meminfo"}, []string{"/etc/hosts", "/run/resolv.conf"}, true
	f.Resolver, f.TracesOwn, f.Sockets = []string{"/run/resolv.conf"}, kernel.Available(""), kernel.Available("")
	f.TempDir = "/tmp/mcp-jail-x"
}

// windowsProfile is a profile as it is made on Windows.
func windowsProfile() *policy.Profile {
	return &policy.Profile{
		Server: "notes", Program: `C:\node\node.exe`, Argv: []string{`C:\node\node.exe`, "x.js"}, Dir: `C:\work`, HomePrivate: true, Home: `C:\state\home`,
		Env: []policy.Variable{
			{Name: "Temp", Value: `C:\t`, Rule: policy.MinimalEnvironment}, {Name: "TMP", Value: `C:\t`, Rule: policy.MinimalEnvironment}, {Name: "TMPX", Value: "y", Rule: policy.MinimalEnvironment},
		},
		Limits: policy.Limits{Processes: 5, MemoryMB: 100},
	}
}

// TestPlanIsThatOfItsProfile: compiling changes nothing in the profile and gives
// the same plan twice.
func TestPlanIsThatOfItsProfile(t *testing.T) {
	p := plantest.Profile()
	first := planText(Compile(p, plantest.Kernel(), Watching{}))
	testkit.Equal(t, "compiling changed the profile", p, plantest.Profile())
	testkit.Equal(t, "is", planText(Compile(p, plantest.Kernel(), Watching{})), first)
}

func TestWaivedGaps(t *testing.T) {
	gaps := []Gap{{Axis: policy.AxisFs, What: "a"}, {Axis: policy.AxisNet, What: "b", Why: "c", Fix: "d"}}
	err := error(&GapError{Gaps: gaps})
	if !errors.Is(err, ErrGaps) || !strings.Contains(err.Error(), "b: c\n    d") {
		t.Errorf("%v", err)
	}
}
