package plan

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// FixWindows is the Fix of the gaps that Windows has under every policy.
const FixWindows = `run the server in WSL 2, or accept what Windows cannot enforce with waive = ["windows"] (--waive windows)`

// byJob and byToken name the mechanisms of Windows.
const (
	byJob   = "a job object"
	byToken = "a restricted token at low integrity"
)

// compileWindows compiles for Windows. A job object and a restricted token hold what is about processes,
// their privileges and their limits. Nothing holds what is about files that are read, and about hosts.
func compileWindows(c *compiler) {
	c.canMediate = features.Unavailable("Windows lets no ordinary program decide about the calls of another", "")
	o := &c.plan.Spec
	*o = spec.Spec{TempDir: c.f.TempDir, HostPID: c.f.PID, Limits: c.p.Limits, Program: c.p.Program, Argv: c.p.Argv, Dir: c.p.Dir}
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
}

func windowsGaps(c *compiler) {
	gap := func(axis policy.Axis, what, why string) {
		c.addGap(Gap{Axis: axis, What: what, Why: why, Fix: FixWindows, Platform: policy.WaiveWindows})
	}
	gap(policy.AxisFs, "which files the server reads and changes", "no rule about files holds on Windows: the server can read all that you can, and at low integrity it can write in its own HOME and TEMP and where else Windows lets programs of low integrity write")
	gap(policy.AxisNet, "which hosts the server reaches", "mcp-jail restricts no connections on Windows: the server can reach every host, and listen on every port")
	gap(policy.AxisIPC, "what your other programs offer", "the server can use the clipboard, and talk to services and to your other programs where these let programs of low integrity do so; by them it can start programs that are in no jail")
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

// windowsHolds says what the job and the token hold.
func windowsHolds(c *compiler) {
	c.addEnforced(policy.AxisProcess, byJob, "every process that the server starts ends with the session, also when mcp-jail is killed, but for those that a service or another program starts on its behalf")
	c.addEnforced(policy.AxisProcess, byToken, "no privileges, nothing that only administrators may do, and no changes of programs that run as you")
	c.addEnforced(policy.AxisEnv, "an environment made anew", "%d variables, %d of the host's withheld", len(c.p.Env), len(c.p.Withheld))
	l := c.p.Limits
	if l.Processes > 0 {
		c.addEnforced(policy.AxisLimits, byJob, "%d processes: more cannot be started", l.Processes)
	}
	if l.MemoryMB > 0 {
		c.addEnforced(policy.AxisLimits, byJob, "%d MB of memory: more cannot be had", l.MemoryMB)
	}
	if l.MessageMB > 0 {
		c.addEnforced(policy.AxisLimits, "the relay", "%d MB a message", l.MessageMB)
	}
	c.plan.Notes = append(c.plan.Notes,
		"none of this has been run on Windows yet, and no self-test shows it",
		"HOME, APPDATA, LOCALAPPDATA and USERPROFILE are a directory of the server's own, and TEMP one of the session: so programs find no settings of yours by accident, and nothing keeps them from looking for these elsewhere")
	if !c.p.HomePrivate {
		c.plan.Notes = append(c.plan.Notes, "warning: home = \"real\": the server cannot write in your home directory, since it runs at low integrity")
	}
}
