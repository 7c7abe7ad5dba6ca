package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// unseenCalls says why mcp-jail cannot decide about single calls of a server on macOS.
var unseenCalls = kernel.Unavailable("macOS lets no ordinary program decide about the calls of another", "")

// compileSeatbelt compiles for macOS. Seatbelt decides by a text that the start hands to sandbox-exec.
// There are no mounts and no namespaces.
func compileSeatbelt(c *compiler) {
	seatbeltUsable(c)
	c.canMediate = unseenCalls
	home := Ephemeral(c.plan.Profile)
	o := &c.plan.Spec
	*o = spec.Spec{
		HostNS: true, TempDir: c.f.TempDir, HostPID: c.f.PID, Limits: c.p.Limits,
		Program: c.p.Program, Argv: c.p.Argv, Dir: c.p.Dir,
	}
	if o.Dir == "/" { // no directory of the policy's
		o.Dir = o.TempDir
	}
	if home != "" {
		o.Home, o.HomeCopy = path.Join(o.TempDir, "home"), home
		o.Links = homeLinks(c.p.HomeLinks, o.Home)
		if policy.Within(o.Dir, home) {
			o.Dir = path.Join(o.Home, strings.TrimPrefix(o.Dir, home))
		}
	}
	c.plan.Seatbelt = &seatbelt.Input{
		Profile: c.p, TempDir: o.TempDir, NoFork: c.p.Limits.Processes == 1, Inbound: len(requiredInbound(c.p)) > 0,
		Without: c.f.Proof.Without,
	}
	c.ownPlaces(o, home, false)
	seatbeltFiles(c, home)
	seatbeltNetwork(c, o)
	seatbeltProcesses(c)
	seatbeltLimits(c)
	c.keep(o)
	failedProbes(c)
	seatbeltNotes(c)
	fatal := func(p kernel.ProbeResult) bool { return p.Fatal }
	if c.f.Seatbelt.Answer != kernel.Yes || !c.f.Proof.Made || slices.ContainsFunc(c.f.Proof.Failed, fatal) {
		// Nothing has shown that any of it holds, and to accept the other gaps would start nothing.
		c.plan.Enforced = nil
		c.plan.Gaps = slices.DeleteFunc(c.plan.Gaps, func(g Gap) bool { return !g.Fatal })
	}
}

// SeatbeltText returns the text that a start by the program self hands to sandbox-exec, but for the
// port of the session's proxy. The plan must be one of macOS.
func (plan *Plan) SeatbeltText(self string) (seatbelt.Text, error) {
	in := *plan.Seatbelt
	in.Self = self
	if grantedHosts(plan.Profile.Net) != nil {
		in.ProxyPort = 65535
	}
	return seatbelt.Compile(in)
}

// seatbeltUsable adds a gap that nothing can waive if Seatbelt cannot be used here, or if no self-test
// has shown what it holds.
func seatbeltUsable(c *compiler) {
	gap := Gap{Axis: policy.AxisProcess, What: "anything", Fatal: true}
	switch s, proof := c.f.Seatbelt, c.f.Proof; {
	case s.Answer != kernel.Yes:
		gap.Why, gap.Fix = s.Detail, s.Fix
		if gap.Why == "" {
			gap.Why = "it is not known whether sandbox-exec can be used here"
		}
	case !proof.Made:
		gap.Why = "the self-test, which shows on this Mac what its sandbox holds, has no result"
		if proof.Why != "" {
			gap.Why += ": " + proof.Why
		}
		gap.Fix = "run mcp-jail doctor, which makes the self-test"
	default:
		return
	}
	c.addGap(gap)
}

// bySeatbelt names the mechanism, and what has shown that it holds. unproven is for what no probe shows.
const (
	bySeatbelt = "Seatbelt, by self-test"
	unproven   = "Seatbelt, unproven"
)

// platformGap adds a gap that macOS has under every policy.
func (c *compiler) platformGap(axis policy.Axis, what, why string) {
	c.addGap(Gap{Axis: axis, What: what, Why: why, Fix: fixMacOS, Platform: policy.WaiveMacOS})
}

// otherVolumes says which rules are about another volume than the one of the self-test. What a volume
// takes for the same name is a matter of its filesystem.
func (c *compiler) otherVolumes() {
	var rules []string
	for _, e := range c.p.Entries {
		if e.Origin == policy.OriginRule && e.Rights != 0 && e.ID.Dev != 0 && c.f.Proof.Volume != 0 && e.ID.Dev != c.f.Proof.Volume {
			rules = append(rules, e.Path)
		}
	}
	if rules != nil {
		c.plan.Notes = append(c.plan.Notes, "the self-test was made on another volume than that of "+strings.Join(rules, ", ")+": it has not shown there that rules hold for other spellings of names")
	}
}

func seatbeltFiles(c *compiler, home string) {
	c.otherVolumes()
	c.addEnforced(policy.AxisFs, bySeatbelt, "nothing but the listed paths can be read, listed, written, made, removed or executed; narrower rules and protected files hold inside wider grants")
	c.platformGap(policy.AxisFs, "what is not granted is hidden",
		"the server cannot open a file that is not granted, but it can find out whether a name that it guesses exists")
	c.platformGap(policy.AxisFs, "sockets and links that other programs make in a grant during the session",
		"Seatbelt decides by names and not by objects: the server can connect to such a socket, and a hard link in a grant leads to its file wherever else that is")
	if where := createsProtected(c.p); where != "" {
		c.platformGap(policy.AxisFs, "protected files inside a directory that is moved to "+where,
			"the server can make such names in HOME, TMPDIR or node_modules, and move the directory around them: Seatbelt decides a move by its two names")
	}
	for _, e := range c.p.Entries {
		if fillsOnly(e) {
			c.createsEmpty(e, "Seatbelt would only let the server make empty files, and mcp-jail cannot open them for it: "+c.canMediate.Detail)
		}
		if e.Rights.Has(policy.Delete) && !e.Rights.Has(policy.Read) {
			c.addGap(Gap{
				Axis: policy.AxisFs, What: e.Rule + ": delete without read",
				Why: "the server can move a file from there to its TMPDIR, and read it there: Seatbelt decides a move by its two names",
				Fix: `add read = true to the rule, or grant no delete, or accept it for this server with waive = ["fs"] (--waive fs)`,
			})
		}
	}
	if home != "" {
		c.addEnforced(policy.AxisFs, "a directory made for it", "what is written to HOME is the process's own, and removed when it ends")
		c.plan.Notes = append(c.plan.Notes, "HOME is a copy of "+home+" at the start of every call; where its filesystem makes no copies (APFS does), it is empty")
	}
}

// createsProtected returns the first directory, other than a HOME of the server's own, in which it may
// make names; or "".
func createsProtected(p *policy.Profile) string {
	for _, e := range p.Entries {
		if e.Kind == policy.KindDir && e.Rights.Has(policy.Create) && e.Origin != policy.OriginHome {
			return e.Path
		}
	}
	return ""
}

func seatbeltNetwork(c *compiler, o *spec.Spec) {
	if len(c.p.OptionalInbound) > 0 {
		c.plan.Notes = append(c.plan.Notes, "the inbound ports "+ports(c.p.OptionalInbound)+" of the preset do not lead in, so no browser can finish a login: Seatbelt opens all ports or none")
	}
	if required := requiredInbound(c.p); len(required) > 0 {
		c.addGap(Gap{
			Axis: policy.AxisNet, What: "only the inbound ports " + ports(required),
			Why: "Seatbelt lets the server listen on every port or on none, and other machines can reach a server that listens on all addresses of this one",
			Fix: `remove the inbound rules, or accept it for this server with waive = ["net"] (--waive net)`,
		})
	}
	granted := grantedHosts(c.p.Net)
	if granted == nil {
		by, what := bySeatbelt, "no network, not even a loopback: no socket of the internet can be made"
		if c.plan.Seatbelt.Inbound {
			by, what = unproven, "no connection to any host, not even to this one"
		}
		c.addEnforced(policy.AxisNet, by, "%s", what)
		return
	}
	onlyHosts(c, bySeatbelt+"; the session's own proxy", granted)
	// Other sandboxes leave trustd out for this reason, and then no program in Go can use TLS.
	c.platformGap(policy.AxisNet, "no data goes to other hosts by way of the system's own programs",
		"programs in Go and Swift have certificates verified by a service of macOS (trustd), which fetches what a certificate names: a hostile program can make a certificate for that, and so send data to any host")
	c.interceptTLS(o)
	proxyNotes(c)
}

// proxyNotes says which programs reach the granted hosts.
func proxyNotes(c *compiler) {
	notes := []string{
		"hosts are reached only by programs that use a proxy: curl, git, npm, pip, uv, Go, Python's requests and httpx, Node from 22.21 or 24 on; not by ssh, older Node, or clients of Postgres, Redis and gRPC",
	}
	if slices.ContainsFunc(c.p.Net, func(r policy.NetRule) bool { return r.Allow && r.Scheme == "tcp" }) {
		notes = append(notes, `hosts with scheme = "tcp" are reached only by programs that speak SOCKS5`)
	}
	if c.plan.TLS.Program != "" {
		notes = append(notes, "programs in Go and Swift take certificate authorities only from the system, so they cannot reach hosts whose requests are inspected")
	}
	var own []string
	proxied := egress.ProxyVariables(0, "", c.p.Program)
	for _, v := range c.p.Env {
		if slices.ContainsFunc(proxied, func(p policy.Variable) bool { return p.Name == v.Name }) {
			own = append(own, v.Name+" ("+v.Rule+")")
		}
	}
	if own != nil {
		notes = append(notes, "warning: a rule sets "+strings.Join(own, ", ")+": the value stays, and a program that reads it does not find the session's proxy, the only way to the granted hosts")
	}
	c.plan.Notes = append(c.plan.Notes, notes...)
}

func seatbeltProcesses(c *compiler) {
	c.addEnforced(policy.AxisIPC, bySeatbelt, "no keychain, and no socket of another program outside the grants")
	c.addEnforced(policy.AxisIPC, unproven, "no clipboard, window, Apple event or service of the system but the few that every program needs, and no shared memory; semaphores with a name are those of all your programs")
	c.addEnforced(policy.AxisProcess, bySeatbelt, "no signal to other processes, and no look at their arguments or variables")
	c.addEnforced(policy.AxisProcess, unproven, "no look at the memory of other processes; every process that the server starts has the same sandbox and cannot leave it")
	c.platformGap(policy.AxisProcess, "no process survives",
		"a program that makes a process group or a session of its own can go on after the session; its sandbox stays, and its network ends with the session")
	c.programs(unproven, "Seatbelt", c.canMediate)
	c.addEnforced(policy.AxisEnv, "an environment made anew", "%d variables, %d of yours withheld", len(c.p.Env), len(c.p.Withheld))
}

func seatbeltLimits(c *compiler) {
	l := c.p.Limits
	var unlimited []string
	if l.MemoryMB > 0 {
		unlimited = append(unlimited, "memory_mb")
	}
	if l.Processes > 1 {
		unlimited = append(unlimited, "processes")
	}
	c.platformGap(policy.AxisLimits, strings.Join(append(unlimited, "space in TMPDIR"), ", "),
		"macOS has no such limits for a program and all that it starts, and no disk of a limited size for its temporary files")
	if l.Processes == 1 {
		c.addEnforced(policy.AxisLimits, bySeatbelt, "one process, which cannot start another")
	}
	c.fileAndMessageLimits()
}

// failedProbes adds a gap for each probe of the self-test that failed and that this profile depends on.
func failedProbes(c *compiler) {
	if !c.f.Proof.Made {
		return
	}
	for _, p := range c.f.Proof.Failed {
		if needs, known := probeNeeds[p.ID]; known && !p.Fatal && !needs(c.p) {
			continue
		}
		gap := Gap{
			Axis: p.Axis, What: p.What, Fatal: p.Fatal, Why: fmt.Sprintf("probe %s of the self-test failed on this Mac: %s", p.ID, p.Got),
			Fix: "report this with the output of mcp-jail doctor, which makes the self-test again",
		}
		if !p.Fatal {
			gap.Fix += fmt.Sprintf(", or accept it for this server with waive = [%q] (--waive %[1]s)", string(p.Axis))
		}
		c.addGap(gap)
	}
}

// probeNeeds says which profiles a probe is about. A probe that is not listed is about every profile.
var probeNeeds = map[string]func(*policy.Profile) bool{
	"F5": anyEntry(func(r policy.Rights) bool { return r&policy.Write != 0 && !r.Has(policy.Read|policy.Write) }),
	"X2": func(p *policy.Profile) bool { return p.Limits.Processes == 1 },
	"N1": func(p *policy.Profile) bool { return grantedHosts(p.Net) == nil },
	"N2": func(p *policy.Profile) bool { return grantedHosts(p.Net) != nil },
}

func anyEntry(has func(policy.Rights) bool) func(*policy.Profile) bool {
	return func(p *policy.Profile) bool {
		return slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return has(e.Rights) })
	}
}

func seatbeltNotes(c *compiler) {
	c.plan.Notes = append(c.plan.Notes,
		"TMPDIR is a directory of the server's own; terminals and the rest of /private/tmp are not there for it",
		"no hard links can be made, so git, pnpm and cargo copy or rename; setuid programs such as ps and sudo do not start; a program that sandboxes its own children (codex, claude) fails",
		"macOS may ask you about Desktop, Documents and Downloads, in the name of the client")
	if len(c.p.ListOnly) > 0 {
		c.plan.Notes = append(c.plan.Notes, "bun lists each directory above its working directory when it starts, so the server sees the names in "+strings.Join(c.p.ListOnly, ", "))
	}
	if len(c.p.Unprotected) > 0 {
		c.plan.Notes = append(c.plan.Notes, "directories on the way to protected files that do not exist yet cannot be made either")
	}
}
