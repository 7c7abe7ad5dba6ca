package inspect

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// toolReport describes one tool. For a stateful server it has the name and the description
// that the server gave. For a stateless server it also has the policy of the tool. Gaps and
// warnings that the tool shares with the server are in the report of the server only.
type toolReport struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Policy      string         `json:"policy,omitempty"` // as text
	Where       string         `json:"where,omitempty"`  // the place of its access table; "" under the default policy
	Warm        int            `json:"warm,omitempty"`
	Errors      []string       `json:"errors,omitempty"`
	Gaps        []confine.Gap  `json:"gaps,omitempty"`
	Warnings    []string       `json:"warnings,omitempty"`
	Remarks     []string       `json:"remarks,omitempty"`
	Secrets     []secretReport `json:"secrets,omitempty"` // with --probe

	target *session.Target
}

// reportTool resolves and compiles the policy of a tool. It leaves out what the report of
// the server already has.
func reportTool(t *session.Target, name string, server *serverReport) (r toolReport, status int) {
	tool, err := t.Tool(name)
	r = toolReport{Name: name, target: tool}
	if p := tool.Policy; p != nil {
		r.Policy, r.Warm, r.Remarks = accessSummary(p), p.Warm, remarkTexts(p, tool.Host.OS)
		if !p.Default {
			r.Where = p.Where
		}
	}
	if err != nil {
		r.Policy, r.Errors = "cannot be used", []string{err.Error()}
		return r, exit.Status(err)
	}
	r.Warnings = append(tool.WarningTexts(), session.WarningTexts(passingWarnings(tool.Profile, server.peers))...)
	if r.Where != "" {
		r.Warnings = append(r.Warnings, session.WarningTexts(resolve.HardLinks(tool.Profile, t.Host, maxHardLinkFiles))...)
	}
	plan, err := tool.Compile()
	if plan != nil {
		r.Gaps = plan.Gaps
	}
	if err != nil {
		r.Errors, status = []string{err.Error()}, exit.Host
	}
	// The report of the server has what all tools share.
	r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(server.Warnings, w) })
	r.Gaps = slices.DeleteFunc(r.Gaps, func(g confine.Gap) bool {
		return slices.ContainsFunc(server.Gaps, func(s confine.Gap) bool { return s.Axis == g.Axis && s.What == g.What && s.Why == g.Why })
	})
	return r, status
}

// reportTools reports the tools that the server offers. If the server was not asked, it
// reports the tools that the configuration names.
func reportTools(t *session.Target, r *serverReport) (status int) {
	r.peers = peersOf(t)
	if r.Probed == "" {
		for _, name := range t.Config.DeclaredTools(r.Server) {
			r.Tools = append(r.Tools, toolReport{Name: name})
		}
		if t.Config.HasAnyTool(r.Server) {
			r.Tools = append(r.Tools, toolReport{Name: config.AnyTool})
		}
	} else {
		// Only the server itself can tell that a table is for no tool.
		missing := unofferedTools(t, r)
		r.Errors = append(r.Errors, missing...)
		if len(missing) > 0 {
			status = exit.Failure
		}
	}
	for i, offered := range r.Tools {
		tool, failed := reportTool(t, offered.Name, r)
		tool.Description = offered.Description
		r.Tools[i] = tool
		status = max(status, failed)
	}
	return status
}

// unofferedTools returns errors about tables for tools that the server does not offer. They
// are errors, not warnings: the tool that the user meant runs under another policy.
func unofferedTools(t *session.Target, r *serverReport) (errs []string) {
	var offered []string
	for _, tool := range r.Tools {
		offered = append(offered, tool.Name)
	}
	declared := t.Config.DeclaredTools(r.Server)
	for _, name := range declared {
		if slices.Contains(offered, name) {
			continue
		}
		msg := fmt.Sprintf("%s: this table is for a tool %q, which the server does not offer", t.Config.Servers[r.Server].Tools[name].Where, name)
		switch near := config.Suggest(name, offered); {
		case near == "":
		case slices.Contains(declared, near):
			msg += fmt.Sprintf("; %q has a table of its own", near)
		default:
			msg += fmt.Sprintf("; did you mean %q? That tool runs under %s", near, otherTools(t))
		}
		errs = append(errs, msg)
	}
	return errs
}

func toolTable(indent string, tools []toolReport) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	warm := slices.ContainsFunc(tools, func(t toolReport) bool { return t.Warm > 0 })
	for _, t := range tools {
		fmt.Fprintf(w, "%s%s\t%s", indent, show.Line(t.Name), show.Line(cli.Truncate(t.Policy, 80)))
		switch {
		case t.Warm > 0:
			fmt.Fprintf(w, "\t%d warm", t.Warm)
		case warm && t.Where != "":
			fmt.Fprint(w, "\t")
		}
		if t.Where != "" {
			fmt.Fprintf(w, "\t%s", show.Line(t.Where))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

func accessSummary(p *policy.Policy) string {
	if p.Default {
		return "the default policy"
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

func otherTools(t *session.Target) string {
	if t.Config.HasAnyTool(t.Policy.Server) {
		return `the table for all others, tools."*"`
	}
	return "the default policy"
}

func undeclaredToolWarning(t *session.Target, tool string) policy.Warning {
	msg := fmt.Sprintf("the configuration has no table for the tool %q: if the server offers it, it runs under %s; otherwise calls of it are refused", tool, otherTools(t))
	if near := config.Suggest(tool, t.Config.DeclaredTools(t.Policy.Server)); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return policy.Warning{Code: "undeclared-tool", Message: msg, Where: t.Policy.Where}
}

// declaredTools reports the tools of a stateless server that have a table, and returns the exit
// status for their errors. Tools that only a preset has a table for share one table: the report
// of the first of them has its errors, gaps, warnings and remarks.
func declaredTools(t *session.Target) (tools []toolReport, status int) {
	if t.Policy.Stateful || t.Policy.Tool != "" {
		return nil, exit.OK
	}
	server := serverReport{Server: t.Policy.Server, Warnings: t.WarningTexts(), peers: peersOf(t)}
	declared, byPreset := t.Config.DeclaredTools(t.Policy.Server), false
	for _, name := range t.Config.ToolsWithTable(t.Policy.Server) {
		r, failed := reportTool(t, name, &server)
		if !slices.Contains(declared, name) {
			if byPreset { // the report of the first has them
				r.Errors, r.Gaps, r.Warnings, r.Remarks = nil, nil, nil, nil
			}
			byPreset = true
		}
		tools, status = append(tools, r), max(status, failed)
	}
	if t.Config.HasAnyTool(t.Policy.Server) {
		r, failed := reportTool(t, config.AnyTool, &server)
		tools, status = append(tools, r), max(status, failed)
	}
	return tools, status
}
