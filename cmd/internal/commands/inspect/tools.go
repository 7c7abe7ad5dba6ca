package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// toolReport says what one tool of a per-call server may use. Gaps and warnings that the tool shares with the server are in
// the report of the server only.
type toolReport struct {
	Name     string        `json:"name"`
	Policy   string        `json:"policy,omitempty"` // as text
	Where    string        `json:"where,omitempty"`  // the place of its access table; "" under the default policy
	Warm     int           `json:"warm,omitempty"`
	Errors   []string      `json:"errors,omitempty"`
	Gaps     []confine.Gap `json:"gaps,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`

	refused string // what a start says with Errors
}

// reportTools reports the tools of a per-call server that have a table, and returns the exit status for their errors. Tools
// that only a preset has a table for share one table: the report of the first of them has its errors, gaps and warnings.
func reportTools(t *session.Target, server *Report) (tools []toolReport, status int) {
	declared, byPreset := t.Config.DeclaredTools(t.Policy.Server), false
	names := t.Config.ToolsWithTable(t.Policy.Server)
	if t.Config.HasAnyTool(t.Policy.Server) {
		names = append(names, config.AnyTool)
	}
	for _, name := range names {
		r, failed := reportTool(t, name, server)
		if name != config.AnyTool && !slices.Contains(declared, name) {
			if byPreset {
				r.Errors, r.Gaps, r.Warnings = nil, nil, nil
			}
			byPreset = true
		}
		tools, status = append(tools, r), max(status, failed)
	}
	return tools, status
}

func reportTool(t *session.Target, name string, server *Report) (r toolReport, status int) {
	tool, err := t.Tool(name)
	r = toolReport{Name: name}
	if p := tool.Policy; p != nil {
		r.Policy, r.Warm, r.Warnings = accessSummary(p), p.Warm, remarkTexts(p)
		if _, off := server.Switches.Off(name); off {
			r.Policy = "off"
		}
		if !p.Default {
			r.Where = p.Where
		}
	}
	if err != nil {
		r.Policy, r.Errors = "cannot be used", []string{err.Error()}
		r.refused = mistake(tool, t.Policy.Server, err)
		return r, terminal.Status(err)
	}
	r.Warnings = append(r.Warnings, tool.WarningTexts()...)
	plan, err := tool.Compile()
	if plan != nil {
		r.Gaps = plan.Gaps
	}
	if err == nil {
		err = tool.Check(context.Background(), plan)
	}
	if err != nil {
		r.Errors, status = []string{err.Error()}, terminal.Host
		r.refused = mistake(tool, t.Policy.Server, err)
	}
	r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(server.Warnings, w) })
	r.Gaps = slices.DeleteFunc(r.Gaps, func(g confine.Gap) bool {
		return slices.ContainsFunc(server.Gaps, func(s confine.Gap) bool { return s.Axis == g.Axis && s.What == g.What && s.Why == g.Why })
	})
	return r, status
}

func toolTable(tools []toolReport) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, t := range tools {
		summary := t.Policy
		if t.Warm > 0 {
			summary += fmt.Sprintf(" (%d warm)", t.Warm)
		}
		fmt.Fprintf(w, "  %s\t%s", show.Line(t.Name), show.Line(summary))
		if t.Where != "" {
			fmt.Fprintf(w, "\t%s", show.Line(t.Where))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// defaultAccess is the default policy, in words.
const defaultAccess = "the project folder and no network"

// accessSummary returns what a policy grants, in a line.
func accessSummary(p *policy.Policy) string {
	if p.Default {
		return defaultAccess
	}
	var grants []string
	for _, r := range p.Fs {
		if r.Rights() == 0 {
			grants = append(grants, "not "+r.Path)
			continue
		}
		grants = append(grants, r.Rights().String()+" "+r.Path)
	}
	for _, r := range p.Net {
		grants = append(grants, netRuleText(r))
	}
	for _, r := range p.Env {
		if r.Read {
			grants = append(grants, r.Name)
		}
	}
	if p.Commands != nil {
		var names []string
		for _, r := range p.Commands {
			names = append(names, r.Name)
		}
		grants = append(grants, strings.TrimSpace("start only "+strings.Join(names, " ")))
	}
	if len(grants) == 0 {
		return "nothing"
	}
	return strings.Join(grants, ", ")
}

func undeclaredToolWarning(t *session.Target, tool string) policy.Warning {
	rest := defaultAccess
	if t.Config.HasAnyTool(t.Policy.Server) {
		rest = `what the table for all others, tools."*", gives`
	}
	msg := fmt.Sprintf("the configuration has no table for the tool %q. If the server offers it, it may use %s. Otherwise calls of it are blocked", tool, rest)
	if near := config.Suggest(tool, t.Config.DeclaredTools(t.Policy.Server)); near != "" {
		msg += fmt.Sprintf(". Did you mean %q?", near)
	}
	return policy.Warning{Code: "undeclared-tool", Message: msg, Where: t.Policy.Where}
}
