package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock/landlocktest"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/statement"
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
func refuseNamespaces(f *features.Facts) {
	f.UserNamespaces = features.Unavailable("kernel.unprivileged_userns_clone is 0", "sysctl")
	f.KernelFiles, f.HostNames, f.ReadsProc = []string{"/proc/meminfo"}, []string{"/etc/hosts", "/run/resolv.conf"}, true
	f.Resolver, f.TracesOwn, f.Sockets = []string{"/run/resolv.conf"}, features.Available(""), features.Available("")
	f.TempDir = "/tmp/mcp-jail-x"
}

// aCall makes it the profile of a tool, whose HOME nothing stays in.
func aCall(p *policy.Profile, f *features.Facts) {
	p.Tool, p.Home, p.HomePrivate, p.Dir = "search", "/home/u/state/home", true, "/home/u/state/home"
	p.Entries = append(p.Entries, policy.Entry{
		Path: p.Home, Named: p.Home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Rule: "the private HOME", Make: true, Ephemeral: true,
	})
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	f.FullCopies = features.Available("")
}

func TestPlanGolden(t *testing.T) {
	type row struct {
		name   string
		change func(*policy.Profile, *features.Facts)
	}
	rows := []row{
		{"workspace", func(*policy.Profile, *features.Facts) {}},
		{"root_user", func(p *policy.Profile, f *features.Facts) { f.UID = 0 }},
		{"old_kernel", func(p *policy.Profile, f *features.Facts) {
			f.UID, f.LandlockABI, f.PidMax = 0, 1, features.Unavailable("old", "newer")
			p.Entries[0].Rights = policy.Read | policy.Create | policy.Delete
		}},
		{"network", func(p *policy.Profile, f *features.Facts) {
			p.Net = []policy.NetRule{{Host: "api.example.org", Allow: true}, {Host: "bad.example.org"}}
		}},
		{"network_without_scopes", func(p *policy.Profile, f *features.Facts) {
			p.Net = []policy.NetRule{{Host: "*", Allow: true}}
			f.LandlockABI = 5
		}},
		{"network_requests", requests},
		{"network_requests_seen", func(p *policy.Profile, f *features.Facts) {
			requests(p, f)
			f.TLSProgram, f.Bundles = features.Available("/usr/bin/mcp-jail-tls"), []string{"/etc/ssl/certs/ca-certificates.crt"}
		}},
		{"hostns_network_requests_seen", func(p *policy.Profile, f *features.Facts) {
			requests(p, f)
			refuseNamespaces(f)
			f.TLSProgram = features.Available("/usr/bin/mcp-jail-tls")
		}},
		{"hostns_network_without_getfd", func(p *policy.Profile, f *features.Facts) {
			refuseNamespaces(f)
			p.Net, f.Sockets = []policy.NetRule{{Host: "api.example.org", Allow: true}}, features.Unavailable("a filter refuses it", "allow it")
		}},
		{"hostns_network_requests", func(p *policy.Profile, f *features.Facts) { requests(p, f); refuseNamespaces(f) }},
		{"container", func(p *policy.Profile, f *features.Facts) { f.FreshProc = features.Unavailable("masked", "unmask") }},
		{"commands", func(p *policy.Profile, f *features.Facts) {
			p.Programs, p.CommandArgs = []string{"/usr/bin/git", "/usr/bin/node", "/usr/lib64/ld.so"}, []string{"git"}
			p.Loaders = []string{"/usr/lib64/ld.so"}
			p.Commands = aCommand
		}},
		{"commands_without_ptrace", func(p *policy.Profile, f *features.Facts) {
			p.Programs, p.CommandArgs, p.Commands = []string{"/usr/bin/git"}, []string{"git"}, aCommand
			f.Traces = features.Unavailable("a filter refuses it", "allow ptrace")
		}},
		{"commands_without_mediation", func(p *policy.Profile, f *features.Facts) {
			p.Programs, p.CommandArgs, p.Commands = []string{"/usr/bin/git"}, []string{"git"}, aCommand
			f.PtraceScope = features.Unavailable("the scope is 3", "set it to 2")
		}},
		{"whole_host", func(p *policy.Profile, f *features.Facts) {
			p.Entries = []policy.Entry{{Path: "/", Kind: policy.KindDir, Rights: policy.AllRights, Rule: "path = /"}}
		}},
		{"odd_rights", func(p *policy.Profile, f *features.Facts) {
			p.Entries[0].Rights = policy.Read | policy.Create
			p.Entries[2].Rights = policy.Execute
			p.Unprotected = []string{"/home/u/work/.envrc"}
		}},
		{"no_landlock_no_seccomp", func(p *policy.Profile, f *features.Facts) {
			f.LandlockABI, f.Landlock, f.Seccomp = 0, features.Unavailable("a", "b"), features.Unavailable("a", "b")
		}},
		{"no_backend", func(p *policy.Profile, f *features.Facts) {
			*f = features.Facts{Features: features.Features{OS: "freebsd"}}
		}},
		{"call", aCall},
		{"call_before_6_6", func(p *policy.Profile, f *features.Facts) {
			aCall(p, f)
			f.FullCopies = features.Unavailable("old", "newer")
		}},
		{"call_without_overlay", func(p *policy.Profile, f *features.Facts) {
			aCall(p, f)
			f.Overlay = features.Unavailable("EINVAL", "newer")
		}},
		{"hostns_call", func(p *policy.Profile, f *features.Facts) { aCall(p, f); refuseNamespaces(f) }},
		{"hostns_root_user", func(p *policy.Profile, f *features.Facts) {
			refuseNamespaces(f)
			f.UID, f.ReadsProc = 0, false
		}},
		{"hostns_network", func(p *policy.Profile, f *features.Facts) {
			refuseNamespaces(f)
			p.Net = []policy.NetRule{{Host: "api.example.org", Allow: true}}
		}},
		{"hostns_commands", func(p *policy.Profile, f *features.Facts) {
			refuseNamespaces(f)
			p.Programs, p.CommandArgs = []string{"/usr/bin/git", "/usr/bin/node", "/usr/lib64/ld.so"}, []string{"git"}
			p.Loaders = []string{"/usr/lib64/ld.so"}
			p.Commands = aCommand
		}},
		{"hostns_commands_scope_2", func(p *policy.Profile, f *features.Facts) {
			refuseNamespaces(f)
			p.Programs, p.CommandArgs, p.Commands = []string{"/usr/bin/git"}, []string{"git"}, aCommand
			f.TracesOwn = features.Unavailable("the scope is 2", "set it to 1")
		}},
		{"hostns_no_landlock_no_seccomp", func(p *policy.Profile, f *features.Facts) {
			refuseNamespaces(f)
			f.LandlockABI, f.Landlock, f.Seccomp = 0, features.Unavailable("a", "b"), features.Unavailable("a", "b")
		}},
	}
	for abi := 1; abi <= landlock.NewestABI; abi++ {
		rows = append(rows, row{fmt.Sprintf("hostns_abi%02d", abi), func(p *policy.Profile, f *features.Facts) {
			refuseNamespaces(f)
			f.LandlockABI, f.Landlock = abi, features.Available(fmt.Sprint("ABI ", abi))
		}})
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			p, f := plantest.Profile(), plantest.Kernel()
			c.change(p, &f)
			got := planText(Compile(p, f, Watching{}))
			if strings.Contains(got, "geheim") {
				got = strings.ReplaceAll(got, "geheim", "SECRET") // in the order only: golden files show where
			}
			testkit.Golden(t, "plan_"+c.name+".golden", got)
		})
	}
}

// TestPlanFailsClosed takes one thing away from the host after the other: what
// is missing must be a gap, never a silence.
func TestPlanFailsClosed(t *testing.T) {
	for _, c := range []struct {
		name string
		take func(*features.Facts)
		axis policy.Axis
	}{
		{"the system", func(f *features.Facts) { f.Supported = false }, policy.AxisFs},
		{"Landlock", func(f *features.Facts) { f.LandlockABI = 0 }, policy.AxisFs},
		{"seccomp", func(f *features.Facts) { f.Seccomp = features.Unavailable("", "") }, policy.AxisProcess},
		{"certainty about seccomp", func(f *features.Facts) { f.Seccomp = features.Undetermined("") }, policy.AxisProcess},
		{"the machine", func(f *features.Facts) { f.Machine = 0 }, policy.AxisProcess},
		{"the machine's table", func(f *features.Facts) { f.Machine = 77 }, policy.AxisProcess},
		{"proc", func(f *features.Facts) { f.FreshProc = features.Unavailable("", "") }, policy.AxisLimits},
		{"certainty about proc", func(f *features.Facts) { f.FreshProc = features.Undetermined("") }, policy.AxisLimits},
		{"a pid_max of its own, for root", func(f *features.Facts) { f.UID = 0; f.PidMax = features.Unavailable("", "") }, policy.AxisLimits},
		{"proc, for root", func(f *features.Facts) { f.UID = 0; f.FreshProc = features.Unavailable("", "") }, policy.AxisLimits},
		{"any proc", func(f *features.Facts) { f.ProcFault = "there is none" }, policy.AxisProcess},
		{"any proc, and user namespaces", func(f *features.Facts) { refuseNamespaces(f); f.ProcFault = "there is none" }, policy.AxisProcess},
		{"everything", func(f *features.Facts) { *f = features.Facts{} }, policy.AxisFs},
		{"user namespaces", refuseNamespaces, policy.AxisFs},
		{"user namespaces", refuseNamespaces, policy.AxisProcess},
		{"user namespaces", refuseNamespaces, policy.AxisLimits},
		{"a visible /proc, and user namespaces", func(f *features.Facts) { refuseNamespaces(f); f.ReadsProc = false }, policy.AxisLimits},
	} {
		f := plantest.Kernel()
		c.take(&f)
		found := false
		for _, g := range Compile(plantest.Profile(), f, Watching{}).Gaps {
			found = found || g.Axis == c.axis
		}
		if !found {
			t.Errorf("without %s there is no gap in %s", c.name, c.axis)
		}
	}
	if gaps := Compile(plantest.Profile(), plantest.Kernel(), Watching{}).Gaps; len(gaps) != 0 {
		t.Errorf("the control has gaps: %+v", gaps)
	}
	// Every axis of a system without a backend.
	if n := len(Compile(plantest.Profile(), features.Facts{}, Watching{}).Gaps); n != len(policy.Axes()) {
		t.Errorf("%d gaps of %d axes without a backend", n, len(policy.Axes()))
	}
}

// TestPlanIsThatOfItsProfile: compiling changes nothing in the profile and gives
// the same plan twice.
func TestPlanIsThatOfItsProfile(t *testing.T) {
	p := plantest.Profile()
	first := planText(Compile(p, plantest.Kernel(), Watching{}))
	if !reflect.DeepEqual(p, plantest.Profile()) {
		t.Error("compiling changed the profile")
	}
	if second := planText(Compile(p, plantest.Kernel(), Watching{})); second != first {
		t.Errorf("%s\nis not\n%s", second, first)
	}
}

// TestBarePlanFailsClosed: what is missing besides the namespaces leaves nothing to
// stand on, and no doubt about them makes a jail without.
func TestBarePlanFailsClosed(t *testing.T) {
	for name, take := range map[string]func(*features.Facts){
		"Landlock":                func(f *features.Facts) { f.LandlockABI = 0 },
		"seccomp":                 func(f *features.Facts) { f.Seccomp = features.Unavailable("", "") },
		"certainty about seccomp": func(f *features.Facts) { f.Seccomp = features.Undetermined("") },
		"the machine":             func(f *features.Facts) { f.Machine = 0 },
		"a system with a backend": func(f *features.Facts) { f.Supported = false },
		"everything but the doubt": func(f *features.Facts) {
			*f = features.Facts{Features: features.Features{UserNamespaces: f.UserNamespaces}, Supported: true}
		},
	} {
		f := plantest.Kernel()
		refuseNamespaces(&f)
		take(&f)
		if !slices.ContainsFunc(Compile(plantest.Profile(), f, Watching{}).Gaps, func(g Gap) bool { return g.Fatal }) {
			t.Errorf("without %s no gap is fatal", name)
		}
	}
	f := plantest.Kernel()
	for _, userns := range []features.Feature{{}, features.Undetermined("no memory"), features.Available("")} {
		f.UserNamespaces = userns
		if plan := Compile(plantest.Profile(), f, Watching{}); plan.Spec.HostNS || plan.HostNamespaces.Answer != features.Unknown {
			t.Errorf("%+v makes a jail without namespaces", userns)
		}
	}
}

// TestPlanHostProc: no rule is about the host's /proc, in no sort of jail. In one without
// namespaces a grant of everything leads there, which is a gap.
func TestPlanHostProc(t *testing.T) {
	granted := func(path string, change func(*features.Facts)) (gaps string) {
		p, f := plantest.Profile(), plantest.Kernel()
		e := landlocktest.DirEntry(path, policy.Read)
		e.Rule = "the rule of " + path
		p.Entries = append(p.Entries, e)
		slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		change(&f)
		for _, g := range Compile(p, f, Watching{}).Gaps {
			if strings.Contains(fmt.Sprint(g.What, g.Why), "/proc") {
				gaps += fmt.Sprintf("%s, fatal %t\n", g.What, g.Fatal)
			}
		}
		return gaps
	}
	unsupervised := func(f *features.Facts) { refuseNamespaces(f); f.SeccompNotify = features.Unavailable("", "") }
	rule := "the rule of /proc/1, fatal true\n"
	for name, change := range map[string]func(*features.Facts){"namespaces": func(*features.Facts) {}, "host namespaces": refuseNamespaces, "unsupervised": unsupervised} {
		if got := granted("/proc/1", change); got != rule {
			t.Errorf("%s: %q, want %q", name, got, rule)
		}
		want := ""
		if name != "namespaces" {
			want = "the host's /proc, fatal false\n"
		}
		if got := granted("/", change); got != want {
			t.Errorf("%s, everything granted: %q, want %q", name, got, want)
		}
	}
}

// TestHostNSSelfTest: without namespaces the self-test lists no directory that is hidden in a grant. The
// supervisor refuses that, and it decides nothing yet then. Where no supervisor does, that is a gap.
func TestHostNSSelfTest(t *testing.T) {
	p, f := plantest.Profile(), plantest.Kernel()
	for path, rights := range map[string]policy.Rights{"/": policy.Read, "/boot": 0, "/run": 0} {
		p.Entries = append(p.Entries, landlocktest.DirEntry(path, rights))
	}
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	if got := Compile(p, f, Watching{}).Spec.MustFail; !slices.Equal(got, []string{"/run", "/boot"}) {
		t.Errorf("with namespaces: %q", got)
	}
	refuseNamespaces(&f)
	if got := Compile(p, f, Watching{}).Spec.MustFail; len(got) > 0 {
		t.Errorf("without: %q", got)
	}
	f.SeccompNotify = features.Unavailable("", "")
	if !slices.ContainsFunc(Compile(p, f, Watching{}).Gaps, func(g Gap) bool { return slices.Contains(g.Paths, "/run") && strings.HasPrefix(g.What, "hidden") }) {
		t.Error("no gap says that /run is not hidden")
	}
}

// TestHostNSTempDir: the server has all rights in its TMPDIR but to start programs that the
// profile does not list, and is told of it.
func TestHostNSTempDir(t *testing.T) {
	f := plantest.Kernel()
	refuseNamespaces(&f)
	for _, programs := range [][]string{nil, {"/usr/bin/node"}} {
		p := plantest.Profile()
		p.Programs = programs
		p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"}, policy.Variable{Name: policy.StatementVar, Value: string(statement.New(p).Encode())})
		plan := Compile(p, f, Watching{})
		o := plan.Spec
		if o.TempDir != f.TempDir {
			t.Errorf("the directory is %s", o.TempDir)
		}
		want := landlock.EntryAccess(landlocktest.DirEntry(f.TempDir, policy.AllRights), programs != nil) & o.Landlock.FS
		if !slices.Contains(o.Landlock.Rules, landlock.Rule{Path: f.TempDir, Access: want}) {
			t.Errorf("with the programs %v: %+v", programs, o.Landlock.Rules)
		}
		if !slices.ContainsFunc(o.Profile.Entries, func(e policy.Entry) bool { return e.Path == f.TempDir && e.Rights == policy.AllRights }) {
			t.Errorf("the supervisor's entries: %+v", o.Profile.Entries)
		}
		if !slices.Contains(o.Env, "TMPDIR="+f.TempDir) || !strings.Contains(strings.Join(o.Env, " "), `"temporary":"`+f.TempDir+`"`) || slices.Contains(o.Env, "TMPDIR=/tmp") {
			t.Errorf("%q", o.Env)
		}
	}
}

func TestWaivedGaps(t *testing.T) {
	gaps := []Gap{{Axis: policy.AxisFs, What: "a"}, {Axis: policy.AxisNet, What: "b", Why: "c", Fix: "d"}}
	err := error(&GapError{Gaps: gaps})
	if !errors.Is(err, ErrGaps) || !strings.Contains(err.Error(), "net: b: c\n    d") {
		t.Errorf("%v", err)
	}
}

// aCommand is a command rule with arguments.
var aCommand = []policy.Command{{Name: "git", Args: [][]string{{"status", "**"}}, Starts: []policy.Start{{File: "/usr/bin/git", Name: "git"}}}}
