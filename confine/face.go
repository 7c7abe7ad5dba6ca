package confine

import (
	"os"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The types that callers see and that the packages below this one work with.
type (
	// Plan is a profile compiled for one kernel: what will hold and by which mechanism
	// (Enforced), what will not (Gaps), and remarks for the user (Notes). HostNamespaces
	// answers No if the jail can have no namespaces, and tells why.
	Plan = plan.Plan
	// Gap is something that the profile asks for and that this host cannot enforce: its
	// Axis, What does not hold, Why, and the Fix. Waived tells that the user accepts it; a
	// Fatal gap cannot be waived.
	Gap = plan.Gap
	// GapError refuses a start. It lists the gaps that are not waived.
	GapError = plan.GapError
	// Enforcement is one thing that holds: its Axis, What holds, and By which mechanism.
	Enforcement = plan.Enforcement
	// Features are what this host offers.
	Features = kernel.Features
	// Feature is the Answer to one question about this host, with a Detail and a Fix.
	Feature = kernel.Feature
	// Answer is yes, no or unknown.
	Answer = kernel.Answer
	// StartError says which Step of a start failed, with the Errno and a Detail.
	StartError = sys.Error
	// SelfTest is what the self-test of a Mac found out. Without Made nothing starts.
	SelfTest = kernel.Proof
	// Ports are the ports of this machine that lead into the jails of one session.
	Ports = gateway.Ports
	// Traffic counts what the jails of one session exchange with hosts.
	Traffic = egress.Traffic
	// Stdio is the server's first three descriptors: In, Out and Err. nil is a /dev/null.
	Stdio = jail.Stdio
)

// The answers about a feature.
const (
	Yes     = kernel.Yes
	No      = kernel.No
	Unknown = kernel.Unknown
)

// StepExec is the only step of a StartError that concerns the program rather than the
// jail.
const StepExec = sys.Exec

// FixNamespaces is the Fix of the gaps that user namespaces would close.
const FixNamespaces = plan.FixNamespaces

// NewPorts returns the ports of a session that has none yet. locks opens a file in which the sessions of one server
// tell each other which ports they have; no jail may have it. With nil, this session knows of no other.
func NewPorts(locks func() (*os.File, error)) *Ports { return gateway.NewPorts(locks) }

// NotHeld says what no jail of an operating system holds, as in runtime.GOOS. It is "" where that depends on
// the policy.
func NotHeld(system string) string {
	if system == "windows" {
		return "on Windows no jail holds which files a server reads and which hosts it reaches; for a whole jail, run the server in WSL 2"
	}
	return ""
}

// ErrGaps is in the chain of every refusal because of a gap.
var ErrGaps = plan.ErrGaps

// Probe asks the kernel what it offers.
func Probe() Features {
	f := kernel.Probe()
	if f.OS == "darwin" {
		f.SelfTest = proof().Feature()
	}
	return f
}

// detect asks the host what compiling the plan of a profile needs.
func detect(p *policy.Profile) kernel.Facts {
	f := hostFacts()
	gateway.FindTLS(&f, p)
	return f
}

// WaiversFor returns the words that waive gaps: their axes, and for those of the operating system the word
// of that system, unless their axis is among the waivers that are there already.
func WaiversFor(gaps []Gap, waived []policy.Axis) []policy.Axis { return plan.WordsFor(gaps, waived) }

// WaiveFlags returns the flags that accept the gaps of some axes.
func WaiveFlags(axes []policy.Axis) string { return plan.WaiveFlags(axes) }

// IsShortage reports whether a jail could not be built because the host is short of memory, processes or room for
// filters, and may be built later.
func IsShortage(err error) bool { return sys.IsShortage(err) }

// hostFacts asks this host what a plan needs.
func hostFacts() kernel.Facts {
	f := kernel.Detect()
	f.Proof = proof()
	return f
}
