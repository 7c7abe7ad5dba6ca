package inspect

import (
	"errors"
	"fmt"
	"os"
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
	Settings       []policy.Setting      `json:"settings,omitempty"`
	Seatbelt       *seatbeltText         `json:"seatbelt,omitempty"`

	policy  *policy.Policy
	missing []policy.FsRule // of files that are not there now
	pkg     string          // what becomes of the package
	os      string
	home    string
	open    *confine.GapError // nil if no gap is open
	hasRest bool              // a per-call server has tools that its table does not name
	status  int               // of the tools
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
	r := &Report{policy: t.Policy, pkg: t.Package.Text(), os: t.Host.OS, home: t.Host.Home, open: open}
	profile := *t.Profile
	profile.Argv = terminal.ShownWords(profile.Argv)
	r.Profile, r.Preset, r.Settings, r.Seatbelt = &profile, t.Preset(), t.Policy.Settings, seatbeltOf(plan)
	r.Enforced, r.Gaps = cli.NonNil(plan.Enforced), cli.NonNil(plan.Gaps)
	r.Notes = cli.NonNil(slices.Concat(plan.Notes, undoNote(t.Policy), remarkTexts(t.Policy, t.Host.OS)))
	r.Warnings = t.WarningTexts()
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
		return err != nil || r.Rights() == 0 || slices.ContainsFunc(placed, func(p resolve.PlacedRule) bool { return p.Where == r.Where && p.Path == r.Path })
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

// seatbeltText is the profile that a start on macOS hands to sandbox-exec, and its parameters, as
// NAME=value. The tag of the session and the port of its proxy are others at each start.
type seatbeltText struct {
	Profile string   `json:"profile"`
	Params  []string `json:"params"`
}

// seatbeltOf returns the text of a plan for macOS, or nil. If there is none, a gap of the plan says why.
func seatbeltOf(plan *confine.Plan) *seatbeltText {
	self, err := os.Executable()
	if err != nil || plan.Seatbelt == nil {
		return nil
	}
	text, err := plan.SeatbeltText(self)
	if err != nil {
		return nil
	}
	return &seatbeltText{text.Profile, cli.NonNil(text.Params)}
}

func undoNote(p *policy.Policy) []string {
	if !p.Undo.On() {
		return nil
	}
	return []string{"Before it changes one of your files, mcp-jail stores that file. So the server cannot rename a directory that is not empty: programs such as mv copy it. To restore your files:\n" + show.Typed("mcp-jail undo", p.Server)}
}

// remarkTexts returns what is probably not meant in a policy.
func remarkTexts(p *policy.Policy, goos string) []string {
	remarks := p.UnusedKeys
	for _, r := range p.Fs {
		if r.Rights()&policy.Write != 0 && !r.Rights().Has(policy.Read) {
			remarks = append(remarks, policy.Warning{Code: "write-only", Message: fmt.Sprintf("path = %s lets the server write without reading: add read = true, unless that is meant", show.TOML(r.Path)), Where: r.Where})
		}
	}
	systems := map[policy.Axis][2]string{policy.WaiveMacOS: {"darwin", "macOS"}, policy.WaiveWindows: {"windows", "Windows"}}
	for _, word := range p.Waive {
		if of, ok := systems[word]; ok && of[0] != goos {
			remarks = append(remarks, policy.Warning{Code: "waive-elsewhere", Message: fmt.Sprintf("waive = [%q] accepts what %s cannot enforce, and nothing here", string(word), of[1]), Where: p.Where})
		}
	}
	return session.WarningTexts(remarks)
}
