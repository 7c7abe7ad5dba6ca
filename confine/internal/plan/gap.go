package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Gap is something that the profile asks for and this host (or this version)
// cannot enforce. A gap refuses the start unless its axis is waived by name.
type Gap struct {
	Axis   policy.Axis `json:"axis"`
	What   string      `json:"what"`   // what does not hold: "host allow-list (api.github.com)"
	Why    string      `json:"why"`    // the missing kernel feature, setting, or conflicting rules
	Fix    string      `json:"fix"`    // what the user can do about it
	Fatal  bool        `json:"fatal"`  // true: cannot be waived, there is nothing to start with
	Waived bool        `json:"waived"` // set by the launcher
	// Platform is the word of the operating system whose gap it is under every policy
	// (policy.WaiveMacOS), or "". The word waives all of these gaps, and no other.
	Platform policy.Axis `json:"platform,omitempty"`
	// Paths are all paths of the gap, where What names only the first of them.
	Paths []string `json:"paths,omitempty"`
}

// Enforcement is one promise that the jail keeps, and the mechanism that keeps it.
type Enforcement struct {
	Axis policy.Axis `json:"axis"`
	What string      `json:"what"` // "only the listed paths exist"
	By   string      `json:"by"`   // "mount namespace, Landlock ABI 7"
}

// ErrGaps is in the chain of every refusal because of a gap.
var ErrGaps = errors.New("this machine cannot enforce the policy")

// GapError refuses a start. It lists the gaps that are not waived.
type GapError struct {
	Gaps []Gap
	// HostNamespaces is the field of the Plan. With the answer No, most gaps have one cause: user
	// namespaces are refused.
	HostNamespaces kernel.Feature
	// Waive lists the axes that must be waived for a start, including those that are waived
	// already. It is nil if a gap cannot be waived.
	Waive []policy.Axis
}

func (e *GapError) Error() string {
	var b strings.Builder
	b.WriteString(ErrGaps.Error())
	if e.HostNamespaces.Answer == kernel.No {
		fmt.Fprintf(&b, ": it does not allow user namespaces: %s\n  %s\nwithout them, this does not hold:", e.HostNamespaces.Detail, e.HostNamespaces.Fix)
	}
	for _, g := range e.Gaps {
		fmt.Fprintf(&b, "\n  %s: %s", g.What, g.Why)
		if g.Fix != "" && g.Fix != FixNamespaces && (g.Platform == "" || e.Waive == nil) {
			fmt.Fprintf(&b, "\n    %s", g.Fix)
		}
	}
	if e.Waive != nil && (e.OfPlatform() || e.HostNamespaces.Answer == kernel.No) {
		fmt.Fprintf(&b, "\n%s", e.WaiveLine())
	}
	return b.String()
}

// OfPlatform reports whether the operating system has one of the gaps under every policy.
func (e *GapError) OfPlatform() bool {
	return slices.ContainsFunc(e.Gaps, func(g Gap) bool { return g.Platform != "" })
}

// FixNamespaces is the Fix of gaps that user namespaces would close. Plan.HostNamespaces and
// GapError.HostNamespaces tell how to allow them.
const FixNamespaces = "allow user namespaces (mcp-jail doctor says how)"

// WaivedBy reports whether one of some words waives the gap: its axis, or the word of its system.
func (g Gap) WaivedBy(words []policy.Axis) bool {
	return !g.Fatal && (slices.Contains(words, g.Axis) || g.Platform != "" && slices.Contains(words, g.Platform))
}

// Waive notes which gaps of the plan some words waive.
func (p *Plan) Waive(words []policy.Axis) {
	for i := range p.Gaps {
		p.Gaps[i].Waived = p.Gaps[i].WaivedBy(words)
	}
}

// fixMacOS is the Fix of the gaps that macOS has under every policy.
const fixMacOS = `accept what macOS cannot enforce with waive = ["macos"] (--waive macos)`

// WaiveLine returns the line of a policy, and the flags, that accept all gaps. It says which axes are
// accepted already, and gives flags for the others. It is "" if a gap cannot be waived.
func (e *GapError) WaiveLine() string {
	if e.Waive == nil {
		return ""
	}
	missing, names, accepted := e.Missing(), []string(nil), []string(nil)
	for _, a := range e.Waive {
		if names = append(names, strconv.Quote(string(a))); !slices.Contains(missing, a) {
			accepted = append(accepted, string(a))
		}
	}
	text, flags := "to start it all the same, and accept all of this, run mcp-jail wrap, or write ", WaiveFlags(missing)
	if accepted != nil {
		text, flags = "accepted already: "+strings.Join(accepted, ", ")+". To start it all the same, and accept the rest too: ", "add "+flags
	}
	return text + "waive = [" + strings.Join(names, ", ") + "]  (" + flags + ")"
}

// Missing returns the words of Waive for the gaps that are not waived, in the same order.
func (e *GapError) Missing() []policy.Axis {
	return slices.DeleteFunc(slices.Clone(e.Waive), func(a policy.Axis) bool {
		return !slices.ContainsFunc(e.Gaps, func(g Gap) bool { return g.Axis == a || g.Platform == a })
	})
}

// WaiveFlags returns the flags that accept the gaps of some axes.
func WaiveFlags(axes []policy.Axis) string {
	var flags []string
	for _, a := range axes {
		flags = append(flags, "--waive "+string(a))
	}
	return strings.Join(flags, " ")
}

func (e *GapError) Unwrap() error { return ErrGaps }

// UserNamespaceGap returns the error for a host that has no user namespaces at the moment but
// does not forbid them. Then no jail with host namespaces is started instead.
func UserNamespaceGap(f kernel.Feature) *GapError {
	return &GapError{Gaps: []Gap{{
		Axis: policy.AxisProcess, What: "user namespaces", Why: f.Detail, Fix: f.Fix, Fatal: true,
	}}}
}

// fixWindows is the Fix of the gaps that Windows has under every policy.
const fixWindows = `run the server in WSL 2, or accept what Windows cannot enforce with waive = ["windows"] (--waive windows)`

// byJob and byToken name the mechanisms of Windows.
const (
	byJob   = "a job object"
	byToken = "a restricted token at low integrity"
)

// compileWindows compiles for Windows. A job object and a restricted token hold what is about processes,
// their privileges and their limits. Nothing holds what is about files that are read, and about hosts.
func compileWindows(c *compiler) {
	c.canMediate = kernel.Unavailable("Windows lets no ordinary program decide about the calls of another", "")
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
		c.addGap(Gap{Axis: axis, What: what, Why: why, Fix: fixWindows, Platform: policy.WaiveWindows})
	}
	gap(policy.AxisFs, "which files the server reads and changes", "no rule about files holds on Windows: the server can read all that you can, and at low integrity it can write in its own HOME and TEMP and where else Windows lets programs of low integrity write")
	gap(policy.AxisNet, "which hosts the server reaches", "mcp-jail restricts no connections on Windows: the server can reach every host, and listen on every port")
	gap(policy.AxisIPC, "what your other programs offer", "the server can use the clipboard, and talk to services and to your other programs where these let programs of low integrity do so; by them it can start programs that are in no jail")
	if Ephemeral(c.plan.Profile) != "" {
		gap(policy.AxisFs, "a HOME for each call", "all calls share one HOME, and what one writes there the next one finds")
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
	c.addEnforced(policy.AxisEnv, "an environment made anew", "%d variables, %d of yours withheld", len(c.p.Env), len(c.p.Withheld))
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
