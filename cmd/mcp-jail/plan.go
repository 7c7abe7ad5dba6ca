package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

type planCmd struct {
	commonFlags
	policyFlags
	formatFlag
	Tool   string `placeholder:"TOOL" help:"The tool of a stateless server."`
	Server string `arg:"" optional:"" help:"A configured server. Without it, the command behind --."`
}

func (planCmd) Help() string {
	return `mcp-jail plan SERVER, or  mcp-jail plan [policy flags] -- COMMAND [ARG...]

  mcp-jail plan github
  mcp-jail plan --read ~/notes -- notes-server ~/notes

Nothing is started. The status is 3 when this host cannot enforce the plan.`
}

func (p *planCmd) Run(c console, server command) error {
	t, err := findTarget(p.commonFlags, p.policyFlags, p.Server, p.Tool, server)
	if err != nil {
		return err
	}
	if p.Tool != "" && !slices.Contains(t.config.Declared(t.policy.Server), p.Tool) {
		t.warnings = append(t.warnings, t.undeclared(p.Tool))
	}
	plan, err := t.compile()
	var gaps *confine.GapError // stays nil where nothing is open
	if err != nil && !errors.As(err, &gaps) {
		return err
	}
	tools, worst := t.declared()
	if p.Format == "json" {
		c.printf("%s", planJSON(t, plan, tools))
	} else {
		c.printf("%s", planText(c, t, plan, gaps, tools))
	}
	if gaps != nil {
		worst = exitHost
	}
	if worst != exitFine {
		return silent(worst)
	}
	return nil
}

// planJSON is the machine's form of a plan.
func planJSON(t *target, plan *confine.Plan, tools []toolReport) []byte {
	out := struct {
		Profile  *policy.Profile       `json:"profile"`
		Enforced []confine.Enforcement `json:"enforced"`
		Gaps     []confine.Gap         `json:"gaps"`
		Notes    []string              `json:"notes"`
		Warnings []string              `json:"warnings"`
		Bare     *confine.Feature      `json:"without_namespaces,omitempty"` // why
		Tools    []toolReport          `json:"tools,omitempty"`
	}{t.profile, list(plan.Enforced), list(plan.Gaps), list(plan.Notes), t.warned(), nil, tools}
	if plan.Bare.Answer == confine.No {
		out.Bare = &plan.Bare
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		panic(err) // plain data
	}
	return append(b, '\n')
}

// list is s, and [] rather than null where there is nothing.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// planText prints the stages: the policy resolved, then what enforces it, then
// what does not hold.
func planText(c console, t *target, plan *confine.Plan, open *confine.GapError, tools []toolReport) string {
	p := t.profile
	var b strings.Builder
	head := func(title, how string) {
		if how != "" {
			how = "  " + c.paint(dim, how)
		}
		fmt.Fprintf(&b, "\n%s%s\n", c.paint(bold, title), how)
	}

	fmt.Fprintf(&b, "%s  %s\n", c.paint(bold, p.Server), printable(describe(t.policy)))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(w, "  %s\t%s\n", name, printable(value)) }
	row("program", p.Program)
	row("arguments", fmt.Sprintf("%q", p.Argv))
	if p.Workspace == "" {
		row("workspace", "none")
	} else {
		row("workspace", p.Workspace)
	}
	row("directory", p.Dir)
	home := p.Home + "  (the variable only: rules decide what of it can be reached)"
	if p.HomePrivate {
		home = p.Home + "  (private, kept between sessions)"
	}
	if e, _ := p.Find(p.Home); e.Ephemeral {
		home = p.Home + "  (private, a copy that is thrown away when the call ends)"
	}
	row("home", home)
	w.Flush()

	head("filesystem", by(plan, policy.AxisFs))
	w = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	var runtime []string // what every program needs, in one paragraph
	for _, e := range p.Entries {
		if e.Origin == policy.OriginBaseline && e.Rights == policy.Read|policy.Execute {
			runtime = append(runtime, e.Path)
			continue
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", e.Rights, printable(entryName(e)), printable(origin(e)))
	}
	tmp := "/tmp, /dev/shm"
	if plan.Bare.Answer == confine.No {
		tmp = "TMPDIR"
	}
	fmt.Fprintf(w, "  read write execute\t%s\tprivate, gone at the end\n", tmp)
	w.Flush()
	fmt.Fprintf(&b, "  read execute, in every policy:\n")
	paragraph(&b, "    ", runtime)
	if len(p.Links) > 0 {
		var links []string
		for _, l := range p.Links {
			links = append(links, l.Path+" -> "+l.Target)
		}
		fmt.Fprintf(&b, "  symbolic links:\n")
		paragraph(&b, "    ", links)
	}

	head("network", by(plan, policy.AxisNet))
	b.WriteString(netText(p, slices.ContainsFunc(plan.Gaps, func(g confine.Gap) bool { return g.Axis == policy.AxisNet })))

	head("environment", by(plan, policy.AxisEnv))
	for _, v := range p.Env {
		value := v.Value
		switch {
		case v.Secret:
			value = "(not shown: granted by name)"
		case v.Name == policy.StatementVar:
			value = "(this policy, for the server to read)"
		}
		fmt.Fprintf(&b, "  %s=%s\n", v.Name, printable(clip(value, 120)))
	}
	if len(p.Withheld) > 0 {
		fmt.Fprintf(&b, "  withheld:\n")
		paragraph(&b, "    ", p.Withheld)
	}

	head("programs and limits", "")
	if p.Programs == nil {
		fmt.Fprintln(&b, "  any program that the filesystem rules let execute")
	} else {
		fmt.Fprintf(&b, "  only: %s\n", printable(strings.Join(p.Programs, " ")))
	}
	for _, e := range plan.Enforced {
		if e.Axis == policy.AxisLimits {
			fmt.Fprintf(&b, "  %s  %s\n", e.What, c.paint(dim, "("+e.By+")"))
		}
	}
	for _, e := range plan.Enforced {
		if e.Axis == policy.AxisIPC || e.Axis == policy.AxisProcess {
			fmt.Fprintf(&b, "  %s  %s\n", e.What, c.paint(dim, "("+e.By+")"))
		}
	}
	section := func(title, code string, items []string) {
		for i, l := range items {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s\n", c.paint(code, title))
			}
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(lines(l), "\n", "\n    "))
		}
	}
	if !t.policy.Stateful && t.policy.Tool == "" {
		head("tools", "each call in a process of its own")
		others := toolReport{Name: "(any other)", Policy: "the default policy", Warm: t.policy.Warm}
		b.WriteString(toolTable("  ", append(slices.Clip(tools), others)))
	}
	section("notes", bold, append(plan.Notes, remarks(t.policy)...))
	warnings, broken := t.warned(), []string(nil)
	for _, r := range tools {
		for _, w := range r.Warnings {
			warnings = append(warnings, "tool "+r.Name+": "+w)
		}
		for _, e := range r.Errors {
			broken = append(broken, "tool "+r.Name+": "+e)
		}
	}
	section("warnings", yellow, warnings)
	section("cannot be called", red, broken)
	section("no namespaces", red, bareWords(plan, open))
	section("does not hold", red, gapWords(plan.Gaps))
	return b.String()
}

// paragraph writes items side by side, in lines of at most helpWidth.
func paragraph(b *strings.Builder, indent string, items []string) {
	room := 0
	for i, item := range items {
		item = printable(item)
		switch {
		case i == 0, room < len(item)+2:
			if i > 0 {
				b.WriteString(",\n")
			}
			b.WriteString(indent + item)
			room = helpWidth - len(indent) - len(item)
		default:
			b.WriteString(", " + item)
			room -= len(item) + 2
		}
	}
	if len(items) > 0 {
		b.WriteByte('\n')
	}
}

func describe(p *policy.Policy) string {
	s := "stateful: one process for the session"
	if !p.Stateful {
		s = "stateless: a fresh process for every call"
	}
	switch {
	case p.Tool != "":
		s += ", tool " + p.Tool
	case !p.Stateful:
		return s + "; what is no call runs under the default policy"
	}
	if p.Default {
		return s + "; the default policy"
	}
	return s + "; " + p.Where
}

func by(plan *confine.Plan, axis policy.Axis) string {
	var how []string
	for _, e := range plan.Enforced {
		if e.Axis == axis && !slices.Contains(how, e.By) {
			how = append(how, e.By)
		}
	}
	if how == nil {
		return "not enforced"
	}
	return strings.Join(how, "; ")
}

func entryName(e policy.Entry) string {
	outside := strings.HasPrefix(e.Named, "~") || strings.HasPrefix(e.Named, "/")
	if outside && e.Origin == policy.OriginRule && path.Clean(e.Named) != e.Path {
		return e.Named + " -> " + e.Path
	}
	return e.Path
}

func origin(e policy.Entry) string {
	switch e.Origin {
	case policy.OriginBaseline:
		return "baseline"
	case policy.OriginHome:
		if e.Ephemeral {
			return "private home, a copy that is thrown away"
		}
		return "private home"
	case policy.OriginSensitive:
		if e.Named == policy.HostSocket {
			return e.Rule
		}
		return "sensitive"
	case policy.OriginProtected:
		return "protected"
	}
	return e.Rule
}

func remarks(p *policy.Policy) []string { return words(p.Remarks()) }

func words(ws []policy.Warning) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.String()
	}
	return out
}

func gapWords(gaps []confine.Gap) []string {
	var out []string
	for _, g := range gaps {
		s := fmt.Sprintf("%s: %s: %s", g.Axis, g.What, g.Why)
		if g.Fix != "" && g.Fix != confine.FixNamespaces {
			s += "\n" + g.Fix
		}
		if g.Waived {
			s = "(waived) " + s
		}
		out = append(out, s)
	}
	return out
}

// bareWords say why there are no namespaces, and both ways on.
func bareWords(plan *confine.Plan, open *confine.GapError) []string {
	if plan.Bare.Answer != confine.No {
		return nil
	}
	out := []string{"user namespaces are refused: " + plan.Bare.Detail + "\n" + plan.Bare.Fix}
	if open != nil && open.Waive != nil {
		out = append(out, confine.WaiveLine(open.Waive))
	}
	return out
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
