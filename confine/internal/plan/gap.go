package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
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
var ErrGaps = errors.New("this host cannot enforce the policy")

// GapError refuses a start. It lists the gaps that are not waived.
type GapError struct {
	Gaps []Gap
	// HostNamespaces is the field of the Plan. With the answer No, most gaps have one cause: user
	// namespaces are refused.
	HostNamespaces features.Feature
	// Waive lists the axes that must be waived for a start, including those that are waived
	// already. It is nil if a gap cannot be waived.
	Waive []policy.Axis
}

func (e *GapError) Error() string {
	var b strings.Builder
	b.WriteString(ErrGaps.Error())
	if e.HostNamespaces.Answer == features.No {
		fmt.Fprintf(&b, ": user namespaces are refused: %s\n  %s\nwithout them this does not hold:", e.HostNamespaces.Detail, e.HostNamespaces.Fix)
	}
	for _, g := range e.Gaps {
		fmt.Fprintf(&b, "\n  %s: %s: %s", g.Axis, g.What, g.Why)
		if g.Fix != "" && g.Fix != FixNamespaces && (g.Platform == "" || e.Waive == nil) {
			fmt.Fprintf(&b, "\n    %s", g.Fix)
		}
	}
	if e.Waive != nil && (e.OfPlatform() || e.HostNamespaces.Answer == features.No) {
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

// FixMacOS is the Fix of the gaps that macOS has under every policy.
const FixMacOS = `accept what macOS cannot enforce with waive = ["macos"] (--waive macos)`

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
	text, flags := "to start it all the same, and accept all of this:  ", WaiveFlags(missing)
	if accepted != nil {
		text, flags = "accepted already: "+strings.Join(accepted, ", ")+"; to start it all the same, and accept the rest too:  ", "add "+flags
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
func UserNamespaceGap(f features.Feature) *GapError {
	return &GapError{Gaps: []Gap{{
		Axis: policy.AxisProcess, What: "user namespaces", Why: f.Detail, Fix: f.Fix, Fatal: true,
	}}}
}
