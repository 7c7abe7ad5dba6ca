package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
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
	Hosts       []hostReport   `json:"hosts,omitempty"` // with --probe
	Secrets     []secretReport `json:"secrets,omitempty"`

	target *target
}

// toolTarget returns the target of one tool, with its policy resolved on the host now.
func (t *target) toolTarget(name string) (*target, error) {
	return t.toolTargetOn(name, t.host)
}

func (t *target) toolTargetOn(name string, host hostfs.Host) (*target, error) {
	tool := &target{config: t.config, policyOf: t.policyOf, host: t.host, isTool: true}
	var err error
	if tool.policy, err = t.policyOf(name); err != nil {
		return tool, err
	}
	tool.profile, tool.warnings, err = resolveProfile(tool.policy, host, nil)
	return tool, err
}

// toolCache caches the targets of tools. An entry is valid while the host gives the same
// answers as when the target was resolved. Asking again takes half the time of resolving.
type toolCache struct {
	server *target
	mu     sync.Mutex
	byName map[string]*cachedTool
}

type cachedTool struct {
	*target
	lookups hostfs.Recording
}

// maxCachedTools bounds the cache: the answers of a host with a large workspace are many.
const maxCachedTools = 32

// get returns the target of a tool, as toolTarget does.
func (k *toolCache) get(name string) (*target, error) {
	k.mu.Lock()
	known := k.byName[name]
	k.mu.Unlock()
	if known != nil && known.lookups.Unchanged() {
		return known.target, nil
	}
	found := &cachedTool{}
	var err error
	if found.target, err = k.server.toolTargetOn(name, found.lookups.Record(k.server.host)); err != nil {
		return found.target, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byName == nil || len(k.byName) == maxCachedTools {
		k.byName = make(map[string]*cachedTool)
	}
	k.byName[name] = found
	return found.target, nil
}

// reportTool resolves and compiles the policy of a tool. It leaves out what the report of
// the server already has.
func (t *target) reportTool(name string, server *serverReport) (r toolReport, status int) {
	tool, err := t.toolTarget(name)
	r = toolReport{Name: name, target: tool}
	if p := tool.policy; p != nil {
		r.Policy, r.Warm, r.Remarks = accessSummary(p), p.Warm, remarkTexts(p)
		if !p.Default {
			r.Where = p.Where
		}
	}
	if err != nil {
		r.Policy, r.Errors = "cannot be used", []string{err.Error()}
		return r, exitStatusOf(err)
	}
	r.Warnings = tool.warningTexts()
	if r.Where != "" {
		r.Warnings = append(r.Warnings, warningTexts(resolve.HardLinks(tool.profile, t.host, maxHardLinkFiles))...)
	}
	plan, err := tool.compile()
	if plan != nil {
		r.Gaps = plan.Gaps
	}
	if err != nil {
		r.Errors, status = []string{err.Error()}, exitHost
	}
	r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(server.Warnings, w) })
	r.Gaps = slices.DeleteFunc(r.Gaps, func(g confine.Gap) bool {
		return slices.ContainsFunc(server.Gaps, func(s confine.Gap) bool { return s.Axis == g.Axis && s.What == g.What && s.Why == g.Why })
	})
	return r, status
}

// reportTools reports the tools that the server offers. If the server was not asked, it
// reports the tools that the configuration names.
func (t *target) reportTools(r *serverReport) (status int) {
	if r.Probed == "" {
		for _, name := range t.config.DeclaredTools(r.Server) {
			r.Tools = append(r.Tools, toolReport{Name: name})
		}
	} else {
		missing := t.unofferedTools(r)
		r.Errors = append(r.Errors, missing...)
		if len(missing) > 0 {
			status = exitFailure
		}
	}
	for i, offered := range r.Tools {
		tool, failed := t.reportTool(offered.Name, r)
		tool.Description = offered.Description
		r.Tools[i] = tool
		status = max(status, failed)
	}
	return status
}

// unofferedTools returns errors about tables for tools that the server does not offer. They
// are errors, not warnings: the tool that the user meant runs under another policy.
func (t *target) unofferedTools(r *serverReport) (errs []string) {
	var offered []string
	for _, tool := range r.Tools {
		offered = append(offered, tool.Name)
	}
	declared := t.config.DeclaredTools(r.Server)
	for _, name := range declared {
		if slices.Contains(offered, name) {
			continue
		}
		msg := fmt.Sprintf("%s: this table is for a tool %q, which the server does not offer", t.config.Servers[r.Server].Tools[name].Where, name)
		switch near := config.Suggest(name, offered); {
		case near == "":
		case slices.Contains(declared, near):
			msg += fmt.Sprintf("; %q has a table of its own", near)
		default:
			msg += fmt.Sprintf("; did you mean %q? That tool runs under the default policy", near)
		}
		errs = append(errs, msg)
	}
	return errs
}

// toolTable returns a line for each tool.
func toolTable(indent string, tools []toolReport) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	warm := slices.ContainsFunc(tools, func(t toolReport) bool { return t.Warm > 0 })
	for _, t := range tools {
		fmt.Fprintf(w, "%s%s\t%s", indent, printable(t.Name), printable(truncate(t.Policy, 80)))
		switch {
		case t.Warm > 0:
			fmt.Fprintf(w, "\t%d warm", t.Warm)
		case warm && t.Where != "":
			fmt.Fprint(w, "\t")
		}
		if t.Where != "" {
			fmt.Fprintf(w, "\t%s", printable(t.Where))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// accessSummary lists what a policy grants beyond the baseline.
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

// undeclaredToolWarning returns a warning about a tool that the configuration does not name.
func (t *target) undeclaredToolWarning(tool string) policy.Warning {
	msg := fmt.Sprintf("the configuration has no table for the tool %q: if the server offers it, it runs under the default policy; otherwise calls of it are refused", tool)
	if near := config.Suggest(tool, t.config.DeclaredTools(t.policy.Server)); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return policy.Warning{Code: "undeclared-tool", Message: msg, Where: t.policy.Where}
}

// declaredTools reports the tools of a stateless server that the configuration names, and
// returns the exit status for their errors.
func (t *target) declaredTools() (tools []toolReport, status int) {
	if t.policy.Stateful || t.policy.Tool != "" {
		return nil, exitOK
	}
	server := serverReport{Server: t.policy.Server, Warnings: t.warningTexts()}
	for _, name := range t.config.DeclaredTools(t.policy.Server) {
		r, failed := t.reportTool(name, &server)
		tools, status = append(tools, r), max(status, failed)
	}
	return tools, status
}
