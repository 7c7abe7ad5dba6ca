// Package plan compiles a policy.Profile for one host.
//
// [Compile] takes the profile and what the host offers ([kernel.Facts]). It returns a [Plan]: the
// spec that a jail is built by, what holds ([Enforcement]), what does not ([Gap]), and notes.
// Compile is pure. It does not change the profile. The spec of a plan is not changed afterwards:
// the launcher copies it to fill in values that exist only at the start, such as certificates.
//
// There are two kinds of plan. One uses new namespaces, with mounts, Landlock and seccomp. The
// other uses the host's namespaces, for hosts that refuse user namespaces; hostns.go compiles it. It
// has more gaps.
//
// The launcher, and not this package, decides whether a gap is accepted. A gap that cannot be
// waived is Fatal.
package plan

import (
	"fmt"
	"path"
	"slices"

	"golang.org/x/net/bpf"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Watching is what a launcher wants to know of a server, beyond what a session needs.
type Watching struct {
	Reads bool // each open that only reads and that the policy refuses is recorded
	Once  bool // no program is started after the profile's own, and the kernel alone decides about files
}

// Compile turns a profile into a plan for one host. It lists the gaps; the launcher decides
// whether they are accepted. If the calls of a server cannot be watched as asked, or later starts
// cannot be refused, that is a gap.
// Compile is pure: it asks nothing of the host itself.
func Compile(p *policy.Profile, f kernel.Facts, watching Watching) *Plan {
	c := compiler{p: ownProfile(p, f), f: f, watch: watching.Reads, once: watching.Once, plan: &Plan{Profile: p, Enforced: make([]Enforcement, 0, 16)}}
	if !f.Supported {
		for _, axis := range policy.Axes() {
			c.addGap(Gap{
				Axis: axis, What: "anything", Fatal: true,
				Why: "confinement on " + f.OS + " is not implemented",
				Fix: "run the server on Linux 5.13 or newer, for instance in WSL 2 or a virtual machine",
			})
		}
		return c.plan
	}
	if compile := elsewhere[f.OS]; compile != nil {
		compile(&c)
		c.watched()
		return c.plan
	}
	if f.ProcFault != "" {
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "anything", Fatal: true, Why: f.ProcFault,
			Fix: "let the sandbox or chroot around mcp-jail have a /proc of its own (bwrap: --proc /proc)",
		})
		return c.plan
	}
	if f.UserNamespaces.Answer == kernel.No {
		compileHostNS(&c)
		c.watched()
		c.startsOnce()
		return c.plan
	}
	compileNamespaces(&c)
	return c.plan
}

// elsewhere has the compilers of the other systems with jails.
var elsewhere = map[string]func(*compiler){"darwin": compileSeatbelt, "windows": compileWindows}

// compileNamespaces compiles for a Linux with user namespaces.
func compileNamespaces(c *compiler) {
	p, f := c.plan.Profile, c.f
	o := &c.plan.Spec
	*o = spec.Spec{
		HostPID: f.PID, Links: append(c.p.Links[:len(c.p.Links):len(c.p.Links)], c.linksOfEmptyHome()...), FreshProc: f.FreshProc.Answer == kernel.Yes,
		Devices: f.Devices, Limits: p.Limits, Program: p.Program, Argv: p.Argv, Dir: p.Dir,
	}
	o.Env = make([]string, 0, len(p.Env))
	for _, v := range p.Env {
		o.Env = append(o.Env, v.Name+"="+v.Value)
	}
	// The order matters: each part reads what the parts before it have put into o and c.
	c.network(o)
	c.decideMediation(o)
	c.filesystem(o)
	c.mediation(o)
	c.keep(o)
	c.otherSpellings()
	c.processes(o)
	c.watched()
	c.startsOnce()
	c.limits(o)
	if c.traced {
		c.ownEnv(o)
	}
	o.MustFail = mustFail(p)
}

// ownProfile returns the profile without the entries and links that a jail on this host
// replaces by files and directories of its own. p is not changed.
func ownProfile(p *policy.Profile, f kernel.Facts) *policy.Profile {
	hostNS := f.OS == "darwin" || f.OS == "windows" || f.UserNamespaces.Answer == kernel.No
	replaced := func(name string) bool {
		return !hostNS && slices.ContainsFunc(gatewayFiles(), func(f spec.MadeFile) bool { return f.Path == name })
	}
	own := *p
	own.Entries = slices.DeleteFunc(slices.Clone(p.Entries), func(e policy.Entry) bool {
		return hostNS && e.Ephemeral || e.Origin == policy.OriginBaseline && replaced(e.Path)
	})
	own.Links = slices.DeleteFunc(slices.Clone(p.Links), func(l policy.Link) bool { return replaced(l.Path) })
	return &own
}

type compiler struct {
	p    *policy.Profile // from ownProfile; the plan's is the caller's
	f    kernel.Facts
	plan *Plan

	watch         bool // refused reads are recorded
	once          bool // see Watching.Once
	mediated      bool
	mediatesReads bool           // opens for reading are mediated too
	traced        bool           // the starts of programs are traced
	canMediate    kernel.Feature // whether calls can be mediated, and why not
}

func (c *compiler) addGap(g Gap) { c.plan.Gaps = append(c.plan.Gaps, g) }

func (c *compiler) addEnforced(axis policy.Axis, by, format string, args ...any) {
	c.plan.Enforced = append(c.plan.Enforced, Enforcement{Axis: axis, What: fmt.Sprintf(format, args...), By: by})
}

func (c *compiler) filesystem(o *spec.Spec) {
	var gaps []Gap
	o.Mounts, gaps = CompileMounts(c.p.MinimalEntries(), !c.emptyHome())
	c.plan.Gaps = append(c.plan.Gaps, gaps...)
	if c.withoutLandlock("the second layer of the file rules (Landlock)", "") {
		return
	}
	c.ruleset(o)
	by := fmt.Sprintf("a root built from nothing in a mount namespace, Landlock ABI %d", c.f.LandlockABI)
	c.addEnforced(policy.AxisFs, by, "nothing exists but the listed paths, each with exactly its rights")
	c.overlays()
	if !o.FreshProc {
		c.plan.Notes = append(c.plan.Notes, "the server runs without /proc: "+c.f.FreshProc.Detail)
	}
}

// emptyHome reports whether the private HOME is an empty directory because it cannot be copied.
func (c *compiler) emptyHome() bool {
	e := ephemeralHome(c.p)
	return e.Ephemeral && canCopy(c.f).Answer == kernel.No
}

// linksOfEmptyHome returns the links that a HOME needs which is an empty directory. A HOME that stays
// between sessions, or a copy of it, has them already.
func (c *compiler) linksOfEmptyHome() []policy.Link {
	if !c.emptyHome() {
		return nil
	}
	return homeLinks(c.p.HomeLinks, Ephemeral(c.p))
}

// homeLinks returns the links of a HOME. One inside another leads to the same file through that.
func homeLinks(in []policy.HomeLink, home string) (links []policy.Link) {
	for _, l := range in { // sorted: what is around comes first
		at := path.Join(home, l.Path)
		if !slices.ContainsFunc(links, func(around policy.Link) bool { return policy.Within(at, around.Path) }) {
			links = append(links, policy.Link{Path: at, Target: l.Target})
		}
	}
	return links
}

// overlays says what becomes of the HOME of which the server gets a copy.
func (c *compiler) overlays() {
	const what = "what is written to HOME is the process's own, and gone when it ends"
	switch {
	case c.emptyHome():
		c.plan.Notes = append(c.plan.Notes, "HOME is empty at the start of every call, and not a copy of what the server keeps there: "+canCopy(c.f).Detail)
		c.addEnforced(policy.AxisFs, "a tmpfs", what)
	case Ephemeral(c.p) != "":
		c.addEnforced(policy.AxisFs, "overlayfs on a tmpfs", what)
		if c.f.FullCopies.Answer != kernel.Yes {
			c.plan.Notes = append(c.plan.Notes, "before Linux 6.6 a call cannot remove a directory of HOME that was not empty at its start (EIO)")
		}
	}
}

func shorten(s []string, n int) []string {
	if len(s) <= n {
		return s
	}
	return append(slices.Clone(s[:n]), fmt.Sprintf("and %d more", len(s)-n))
}

func (c *compiler) network(o *spec.Spec) {
	o.Files = []spec.MadeFile{
		{Path: "/etc/hosts", Content: "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 mcp-jail\n"},
		{Path: "/etc/hostname", Content: "mcp-jail\n"},
	}
	if c.p.Inbound != nil {
		o.Network.Inbound = true
		c.addEnforced(policy.AxisNet, "sockets handed out of the jail's network namespace", "only port %s of this machine's loopback leads to the server", ports(c.p.Inbound))
	}
	c.compileNetwork(o)
	c.interceptTLS(o)
	c.gitIdentity(o)
	o.Files = slices.DeleteFunc(o.Files, func(f spec.MadeFile) bool {
		_, decided := c.p.Find(f.Path)
		return decided && !f.Over && f.Path != gitInDev
	})
}

func (c *compiler) processes(o *spec.Spec) {
	calls := seccomp.NotifyRules(c.p.LinksAstray || c.watch, grantedHosts(c.p.Net) != nil)
	if c.once {
		calls = seccomp.NotifyStarts()
	}
	if o.Network.Inbound {
		calls = append(calls, seccomp.NotifyBinds()...)
	}
	if c.watch {
		calls = append(calls, seccomp.NotifyLooks()...)
	}
	if o.Keep.On || len(c.p.IgnoreCase) > 0 {
		calls = append(calls, seccomp.NotifyAttributes()...)
	}
	if !c.filters(o, calls, seccomp.Options{
		Unix: true, Inet: true, RouteNetlink: true, OwnPIDs: true, Guarded: true, OwnIPC: true, Truncate: true, Attributes: true,
		Programs: c.p.Programs != nil, Supervised: c.mediated || c.once && c.f.SeccompNotify.Answer == kernel.Yes, Traced: c.traced, Devices: deviceTypes(c.p.Entries),
	}) {
		return
	}
	if o.Network.Inbound && !c.plan.CanWatch() {
		c.plan.Notes = append(c.plan.Notes, "the inbound ports are taken at the start, and not when the server binds them: "+c.canMediate.Detail)
	}
	c.ipc()
	c.addEnforced(policy.AxisProcess, "pid and user namespaces, seccomp, no_new_privs, no capability", "no privilege, no tracing, no new namespace; all processes end with the session")
	c.programs("Landlock", "the kernel", c.canMediate)
	c.addEnforced(policy.AxisEnv, "an environment made anew", "%d variables, %d of yours withheld", len(c.p.Env), len(c.p.Withheld))
}

// filters compiles the server's filter, and the second one with the mediated calls. It returns false
// if there is no filter, which is a gap.
func (c *compiler) filters(o *spec.Spec, calls []seccomp.Notify, options seccomp.Options) bool {
	gap := Gap{
		Axis: policy.AxisProcess, What: "the filter of system calls", Fatal: true,
		Why: c.f.Seccomp.Detail, Fix: c.f.Seccomp.Fix,
	}
	if c.f.Seccomp.Answer != kernel.Yes {
		c.addGap(gap)
		return false
	}
	filter, err := seccomp.Compile(c.f.Machine, options)
	if err == nil && options.Supervised {
		var second []bpf.RawInstruction
		second, err = seccomp.CompileListener(c.f.Machine, options, calls)
		o.ListenerFilter = seccomp.Records(second)
	}
	if err != nil {
		gap.Why, gap.Fix = err.Error(), "report this"
		c.addGap(gap)
		return false
	}
	o.Seccomp = seccomp.Records(filter)
	return true
}

// ipc records how the jail hides the host's IPC objects. Namespaces hide objects without a path.
// A UNIX socket can be a file: before Landlock ABI 9 a server can connect to each socket that it
// can name. The policy masks the sockets that exist at the start.
func (c *compiler) ipc() {
	what := "no process, queue, shared memory or socket of this machine can be reached"
	if c.f.LandlockABI < 9 {
		what += ", but for sockets that a rule names or that another process makes in a granted directory after the start"
	}
	c.addEnforced(policy.AxisIPC, "ipc, pid, network and mount namespaces, Landlock scopes", "%s", what)
}

// mustFail picks up to four directories. The self-test tries to list each, with a system call,
// and must fail.
func mustFail(p *policy.Profile) []string {
	var dirs []string
	for _, d := range []string{"/", "/run", "/var", "/home", "/root", "/boot"} {
		if p.RightsAt(d)&policy.Read == 0 && len(dirs) < 4 {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// Plan is a profile compiled for one host: what will hold, by which mechanism, and what will not.
type Plan struct {
	Profile  *policy.Profile
	Enforced []Enforcement
	Gaps     []Gap
	Notes    []string // other differences that the server sees
	// WatchesReads: each refused open that only reads is on record.
	WatchesReads bool
	// HostNamespaces has the answer No, and the reason, if this jail has host namespaces.
	HostNamespaces kernel.Feature

	Spec spec.Spec
	TLS  tlsPlan
	// Seatbelt is what the text of a start on macOS is made of; the start itself adds its
	// own program and the port of its proxy. nil on other systems.
	Seatbelt *seatbelt.Input
	Cgroup   kernel.CgroupLocation // where the jail's cgroup is; none if the plan does not count on one
}

// Axes returns the words that waive the gaps, or nil if a gap cannot be waived: their axes, and the word
// of the operating system for its own gaps. The profile may waive some of these by their axis instead.
func (plan *Plan) Axes() (axes []policy.Axis) {
	for _, g := range plan.Gaps {
		if g.Fatal {
			return nil
		}
	}
	return WordsFor(plan.Gaps, plan.Profile.Waive)
}

// WordsFor returns the words that waive some gaps, but for fatal ones, in the order of policy.Waivers. A
// gap of the operating system takes the word of that system, unless its axis is among those that are
// waived already.
func WordsFor(gaps []Gap, waived []policy.Axis) []policy.Axis {
	var words []policy.Axis
	for _, g := range gaps {
		switch {
		case g.Fatal:
		case g.Platform != "" && !slices.Contains(waived, g.Axis):
			words = append(words, g.Platform)
		default:
			words = append(words, g.Axis)
		}
	}
	return policy.OrderWaivers(words)
}

// Ephemeral returns the private HOME of which the server gets a copy, or "".
func Ephemeral(p *policy.Profile) string { return ephemeralHome(p).Path }

func ephemeralHome(p *policy.Profile) policy.Entry {
	for _, e := range p.Entries {
		if e.Ephemeral && e.Origin == policy.OriginHome {
			return e
		}
	}
	return policy.Entry{}
}

// canCopy reports whether the server can have a copy of its private HOME.
func canCopy(f kernel.Facts) kernel.Feature {
	switch {
	case f.OS != "linux":
		return kernel.Unavailable("only Linux has overlays", "")
	case f.UserNamespaces.Answer == kernel.No:
		return kernel.Unavailable("without namespaces there are no mounts, and so no copy", FixNamespaces)
	case f.HomeCopy != nil:
		return *f.HomeCopy
	}
	return f.Overlay
}

// gitSystem names the system's configuration to git, which may have been built with another place for it
// than /etc.
const gitSystem = "GIT_CONFIG_SYSTEM"

// gitInDev is where the system's configuration of git is in a jail whose /etc is the host's.
const gitInDev = "/dev/gitconfig"

// gitIdentity gives git a system's configuration with settings of the user. Repositories and the
// server's own configuration in HOME win over that. It returns false if git gets none.
func (c *compiler) gitIdentity(o *spec.Spec) bool {
	file := spec.MadeFile{Path: "/etc/gitconfig", Content: c.p.GitConfig}
	e, decided := c.p.Find(file.Path)
	switch {
	case file.Content == "" || hasEnv(o, gitSystem) || hasEnv(o, gitNoSystem):
		return false
	case o.HostNS:
		file.Path = path.Join(o.TempDir, "gitconfig")
	case decided && e.Path == "/": // nothing can be made in /etc, and the rule means no one file there
		file.Path = gitInDev
	case decided:
		return false
	}
	o.Files = append(o.Files, file)
	ensureEnv(o, gitSystem, file.Path)
	return true
}
