package inspect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A Report says what a server may use, and what of its policy this machine does not enforce. Its JSON is that of plan, and
// its text is that of plan and of trust.
type Report struct {
	Profile        *policy.Profile       `json:"profile"`
	Preset         string                `json:"preset,omitempty"`
	Enforced       []confine.Enforcement `json:"enforced"`
	Gaps           []confine.Gap         `json:"gaps"`
	Notes          []string              `json:"notes"`
	Warnings       []string              `json:"warnings"`
	HostNamespaces *confine.Feature      `json:"without_namespaces,omitempty"` // why user namespaces are refused
	Tools          []toolReport          `json:"tools,omitempty"`              // of a per-call server
	Switches       policy.Switches       `json:"switches,omitempty"`           // of tools that are off, or on where others are not
	Settings       []policy.Setting      `json:"settings,omitempty"`

	policy  *policy.Policy
	missing []policy.FsRule // of files that are not there now
	pkg     string          // what becomes of the package
	os      string
	home    string
	open    *confine.GapError // nil if no gap is open
	plan    *confine.Plan
	hasRest bool // a per-call server has tools that its table does not name
	status  int  // of the tools
}

// newReport returns the report of a target that is resolved.
func newReport(t *session.Target) (*Report, error) {
	plan, err := t.Compile()
	var open *confine.GapError
	if err != nil && !errors.As(err, &open) {
		return nil, err
	}
	return reportOf(t, plan, open), nil
}

func reportOf(t *session.Target, plan *confine.Plan, open *confine.GapError) *Report {
	r := &Report{policy: t.Policy, pkg: t.Package.Text(), os: t.Host.OS, home: t.Host.Home, plan: plan, open: open}
	profile := *t.Profile
	profile.Argv = terminal.ShownWords(profile.Argv)
	r.Profile, r.Preset, r.Settings = &profile, t.Preset(), t.Policy.Settings
	r.Enforced, r.Gaps = cli.NonNil(plan.Enforced), cli.NonNil(plan.Gaps)
	r.Notes = cli.NonNil(slices.Concat(plan.Notes, undoNote(t.Policy), remarkTexts(t.Policy)))
	r.Warnings, r.Switches = t.WarningTexts(), t.Policy.Tools
	r.missing = missingRules(t)
	if plan.HostNamespaces.Answer == confine.No {
		r.HostNamespaces = &plan.HostNamespaces
	}
	if !t.Policy.Stateful && t.Policy.Tool == "" {
		r.Tools, r.status = reportTools(t, r)
		r.hasRest = !t.Config.HasAnyTool(t.Policy.Server)
	}
	return r
}

// missingRules returns the rules that grant nothing now, and will when what they name is there.
func missingRules(t *session.Target) []policy.FsRule {
	placed, _, err := resolve.CheckFiles(t.Policy, t.Host)
	return slices.DeleteFunc(slices.Clone(t.Policy.Fs), func(r policy.FsRule) bool {
		return err != nil || r.Rights() == 0 || r.Workspace || slices.ContainsFunc(placed, func(p resolve.PlacedRule) bool { return p.Where == r.Where && p.Path == r.Path })
	})
}

// ReportOf resolves a server of a configuration and returns its report.
func ReportOf(t *session.Target) (*Report, error) {
	p, err := t.PolicyOf("")
	if err != nil {
		return nil, err
	}
	t.Policy = p
	if err := t.Resolve(); err != nil {
		return nil, err
	}
	return newReport(t)
}

// Err returns the exit status of a report that was printed, as an error.
func (r *Report) Err() error {
	switch {
	case r.open != nil:
		return terminal.ReportedStatus(terminal.Host)
	case r.status != terminal.OK:
		return terminal.ReportedStatus(r.status)
	}
	return nil
}

func undoNote(p *policy.Policy) []string {
	if !p.Undo.On() {
		return nil
	}
	return []string{"Before it changes one of your files, mcp-jail stores that file. So the server cannot rename a directory that is not empty: programs such as mv copy it. To restore your files:\n" + show.Typed("mcp-jail undo", p.Server)}
}

// remarkTexts returns what is probably not meant in a policy.
func remarkTexts(p *policy.Policy) []string {
	remarks := p.UnusedKeys
	for _, r := range p.Fs {
		if r.Rights()&policy.Write != 0 && !r.Rights().Has(policy.Read) {
			remarks = append(remarks, policy.Warning{Code: "write-only", Message: fmt.Sprintf("path = %s lets the server write without reading: add read = true, unless that is meant", show.TOML(r.Path)), Where: r.Where})
		}
	}
	return session.WarningTexts(remarks)
}
