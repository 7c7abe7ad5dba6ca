package plan

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
	"github.com/mcp-jail/mcp-jail/policy"
)

// FixWindows is the Fix of the gaps that Windows has under every policy.
const FixWindows = `run the server in WSL 2, or accept what Windows cannot enforce with waive = ["windows"] (--waive windows)`

// byJob and byToken name the mechanisms of Windows, and what has shown that they hold.
const (
	byJob   = "a job object, by self-test"
	byToken = "a restricted token, by self-test"
)

// compileWindows compiles for Windows. A job object and a restricted token hold what is about processes,
// their privileges and their limits. Nothing holds what is about files and hosts.
func compileWindows(c *compiler) {
	c.canMediate = features.Unavailable("Windows lets no ordinary program decide about the calls of another", "")
	windowsUsable(c)
	l := c.p.Limits
	o := &c.plan.Spec
	*o = spec.Spec{TempDir: c.f.TempDir, HostPID: c.f.PID, Limits: l, Program: c.p.Program, Argv: c.p.Argv, Dir: c.p.Dir}
	c.plan.Windows = &winjail.Input{Processes: l.Processes, MemoryMB: l.MemoryMB, NoChildren: l.Processes == 1, Temp: o.TempDir, Desktop: c.f.Proof.Lacks(winjail.StepDesktop)}
	if c.p.HomePrivate {
		c.plan.Windows.Home = c.p.Home
	}
	for _, v := range c.p.Env {
		value := v.Value
		if name := strings.ToUpper(v.Name); v.Rule == policy.MinimalEnvironment && (name == "TEMP" || name == "TMP") {
			value = o.TempDir
		}
		o.Env = append(o.Env, v.Name+"="+value)
	}
	windowsGaps(c)
	windowsHolds(c)
	c.keep(o)
	failedProbes(c)
	if !c.f.Proof.Made {
		// Nothing has shown that any of it holds, and to accept the other gaps would start nothing.
		c.plan.Enforced, c.plan.Gaps = nil, onlyFatal(c.plan.Gaps)
	}
}

func windowsUsable(c *compiler) {
	if c.f.Proof.Made {
		return
	}
	gap := Gap{
		Axis: policy.AxisProcess, What: "anything", Fatal: true, Fix: "report this with the output of mcp-jail doctor, which makes the self-test again",
		Why: "the self-test, which shows on this machine what its job objects and tokens hold, has no result",
	}
	if c.f.Proof.Why != "" {
		gap.Why += ": " + c.f.Proof.Why
	}
	c.addGap(gap)
}

func windowsGaps(c *compiler) {
	gap := func(axis policy.Axis, what, why string) {
		c.addGap(Gap{Axis: axis, What: what, Why: why, Fix: FixWindows, Platform: policy.WaiveWindows})
	}
	gap(policy.AxisFs, "which files the server reads and changes", "mcp-jail restricts no files on Windows: the server can read, change and remove all that you can, mcp-jail's own files among them")
	gap(policy.AxisNet, "which hosts the server reaches", "mcp-jail restricts no connections on Windows: the server can reach every host, and listen on every port")
	shared := "the server can talk to your other programs by pipes, COM and messages, and read and change the memory of programs that run as you, mcp-jail's too; by these and by services it can start programs that are in no jail"
	if c.plan.Windows.Desktop {
		shared += "; it can use the clipboard and the windows of other programs too, since this mcp-jail runs in a job itself"
	}
	gap(policy.AxisIPC, "what your other programs offer", shared)
	if Ephemeral(c.plan.Profile) != "" {
		gap(policy.AxisFs, "a HOME for each call", "all calls share one private HOME, and what one writes there the next one finds")
	}
	if c.p.Programs != nil {
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "only the programs of the command rules", Why: "mcp-jail does not decide on Windows which programs are started",
			Fix: `drop the command rules, or accept it for this server with waive = ["process"] (--waive process)`,
		})
	}
	if c.p.Limits.FileSizeMB > 0 || c.p.Limits.OpenFiles > 0 {
		gap(policy.AxisLimits, "the size of a file, and how many files are open", "Windows has no such limits for a process")
	}
	if NeedsInterception(c.p.Net) {
		c.addGap(Gap{
			Axis: policy.AxisNet, What: requestsOf(c.p.Net), Why: "mcp-jail inspects no requests on Windows",
			Fix: `remove these keys, or accept with waive = ["net"] (--waive net) that every request passes, with the placeholder of a secret instead of its value`,
		})
	}
}

// windowsHolds says what holds: each sentence that a probe of the self-test has shown.
func windowsHolds(c *compiler) {
	shown := func(probe string) bool {
		return !slices.ContainsFunc(c.f.Proof.Failed, func(f features.FailedProbe) bool { return f.ID == probe })
	}
	if shown("W2") && shown("W8") {
		c.addEnforced(policy.AxisProcess, byJob, "every process that the server starts ends with the session, also when mcp-jail is killed, but for those that a service or another program starts on its behalf")
	}
	if shown("W3") {
		c.addEnforced(policy.AxisProcess, byToken, "no privileges, and nothing that only administrators may do")
	}
	if shown("W4") {
		c.addEnforced(policy.AxisProcess, "a list of handles, by self-test", "the server inherits its three standard files and no other handle")
	}
	if shown("W9") {
		c.addEnforced(policy.AxisProcess, "mitigation policies, by self-test", "the server loads no extensions, and no program or library from another machine: files of a mapped drive count as such")
	}
	c.addEnforced(policy.AxisEnv, "an environment made anew", "%d variables, %d of the host's withheld", len(c.p.Env), len(c.p.Withheld))
	l := c.p.Limits
	if l.Processes > 0 && shown("W5") {
		c.addEnforced(policy.AxisLimits, byJob, "%d processes: more cannot be started", l.Processes)
	}
	if l.Processes == 1 && shown("W7") {
		c.addEnforced(policy.AxisLimits, "a refusal of child processes, by self-test", "no process but the server's first, which has no console either")
	}
	if l.MemoryMB > 0 && shown("W6") {
		c.addEnforced(policy.AxisLimits, byJob, "%d MB of memory: more cannot be had", l.MemoryMB)
	}
	if l.MessageMB > 0 {
		c.addEnforced(policy.AxisLimits, "the relay", "%d MB a message", l.MessageMB)
	}
	c.plan.Notes = append(c.plan.Notes,
		"HOME, APPDATA, LOCALAPPDATA and USERPROFILE are a directory of the server's own, and TEMP one of the session: so programs find no settings of yours by accident, and nothing keeps them from looking for these elsewhere")
	if !c.plan.Windows.Desktop {
		c.plan.Notes = append(c.plan.Notes, "the job asks Windows to keep the server from the clipboard, the windows of other programs and the settings of the desktop; the self-test does not show that, since it would have to touch yours")
	}
}

func onlyFatal(gaps []Gap) (fatal []Gap) {
	for _, g := range gaps {
		if g.Fatal {
			fatal = append(fatal, g)
		}
	}
	return fatal
}
