package inspect

import (
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
	Remarks  []string      `json:"remarks,omitempty"`
}

// reportTools reports the tools of a per-call server that have a table, and returns the exit status for their errors. Tools
// that only a preset has a table for share one table: the report of the first of them has its errors, gaps and warnings.
func reportTools(t *session.Target, server *Report) (tools []toolReport, status int) {
	peers := peersOf(t)
	declared, byPreset := t.Config.DeclaredTools(t.Policy.Server), false
	names := t.Config.ToolsWithTable(t.Policy.Server)
	if t.Config.HasAnyTool(t.Policy.Server) {
		names = append(names, config.AnyTool)
	}
	for _, name := range names {
		r, failed := reportTool(t, name, server, peers)
		if name != config.AnyTool && !slices.Contains(declared, name) {
			if byPreset {
				r.Errors, r.Gaps, r.Warnings, r.Remarks = nil, nil, nil, nil
			}
			byPreset = true
		}
		tools, status = append(tools, r), max(status, failed)
	}
	return tools, status
}

func reportTool(t *session.Target, name string, server *Report, peers []peer) (r toolReport, status int) {
	tool, err := t.Tool(name)
	r = toolReport{Name: name}
	if p := tool.Policy; p != nil {
		r.Policy, r.Warm, r.Remarks = accessSummary(p), p.Warm, remarkTexts(p, tool.Host.OS)
		if !p.Default {
			r.Where = p.Where
		}
	}
	if err != nil {
		r.Policy, r.Errors = "cannot be used", []string{err.Error()}
		return r, terminal.Status(err)
	}
	r.Warnings = append(tool.WarningTexts(), session.WarningTexts(passingWarnings(tool.Profile, peers))...)
	plan, err := tool.Compile()
	if plan != nil {
		r.Gaps = plan.Gaps
	}
	if err != nil {
		r.Errors, status = []string{err.Error()}, terminal.Host
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
	msg := fmt.Sprintf("the configuration has no table for the tool %q. If the server offers it, it may use %s. Otherwise calls of it are refused", tool, rest)
	if near := config.Suggest(tool, t.Config.DeclaredTools(t.Policy.Server)); near != "" {
		msg += fmt.Sprintf(". Did you mean %q?", near)
	}
	return policy.Warning{Code: "undeclared-tool", Message: msg, Where: t.Policy.Where}
}

// A peer is a kind of process of a stateless server.
type peer struct {
	name    string
	profile *policy.Profile
}

// peersOf returns the kinds of processes that a stateless server has: the one that lists its tools,
// and those of calls. It leaves out what cannot be used, which its own report says.
func peersOf(t *session.Target) (peers []peer) {
	server := t.Policy.Server
	names := append([]string{""}, t.Config.ToolsWithTable(server)...)
	if t.Config.HasAnyTool(server) {
		names = append(names, config.AnyTool)
	}
	for _, name := range names {
		tool, err := t.Tool(name)
		if err != nil {
			continue
		}
		said := "the call of " + name
		switch name {
		case "":
			said = "the process that lists the tools"
		case config.AnyTool:
			said = "the call of a tool without a table"
		}
		peers = append(peers, peer{said, tool.Profile})
	}
	return peers
}

// passingWarnings returns a warning for each process that can pass to a tool what that tool may
// not read, in a place where their grants meet, if the tool reaches a host.
func passingWarnings(p *policy.Profile, peers []peer) (warnings []policy.Warning) {
	host := reachedHost(p)
	if host == "" {
		return nil
	}
	for _, other := range peers {
		place, what := meetingPlace(other.profile, p), readsMore(other.profile, p)
		if place == "" || what == "" {
			continue
		}
		warnings = append(warnings, policy.Warning{Code: "passes-on", Message: fmt.Sprintf(
			"a call can send to %s what it may not read itself: %s reads %s, and can leave it in %s, which the call reads", host, other.name, what, place)})
	}
	return warnings
}

func reachedHost(p *policy.Profile) string {
	for _, r := range p.Net {
		if r.Allow {
			return r.Host
		}
	}
	return ""
}

// granted reports whether an entry comes from a rule or the default policy. What every server reads
// is in the baseline; a private HOME is a copy of each process, which is thrown away.
func granted(e policy.Entry) bool { return e.Origin == policy.OriginRule }

// meetingPlace returns a place in which from may leave something and to may read, or "".
func meetingPlace(from, to *policy.Profile) string {
	const leave = policy.Create | policy.Update
	// A place of the writer that the reader reads, or the other way round.
	for _, e := range from.Entries {
		if granted(e) && e.Rights&leave != 0 && to.RightsAt(e.Path).Has(policy.Read) {
			return e.Path
		}
	}
	for _, e := range to.Entries {
		if granted(e) && e.Rights.Has(policy.Read) && from.RightsAt(e.Path)&leave != 0 {
			return e.Path
		}
	}
	return ""
}

// readsMore returns a path or a variable that from reads and to does not, or "".
func readsMore(from, to *policy.Profile) string {
	for _, e := range from.Entries {
		if granted(e) && e.Rights.Has(policy.Read) && !to.RightsAt(e.Path).Has(policy.Read) {
			return e.Path
		}
	}
	for _, e := range to.Entries {
		if !e.Rights.Has(policy.Read) && from.RightsAt(e.Path).Has(policy.Read) {
			return e.Path
		}
	}
	has := map[string]bool{}
	for _, v := range to.Env {
		has[v.Name] = true
	}
	for _, v := range from.Env {
		if v.Secret && !has[v.Name] {
			return "the variable " + v.Name
		}
	}
	return ""
}
