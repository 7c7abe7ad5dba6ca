package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// UnknownServerError reports a server name that no configuration file declares.
type UnknownServerError struct {
	Server string
	Known  []string
	Files  []string // the files that were read
}

func (e *UnknownServerError) Error() string {
	msg := fmt.Sprintf("there is no server %q in the configuration", e.Server)
	switch near := reader.Suggest(e.Server, e.Known); {
	case near != "":
		msg += fmt.Sprintf("; did you mean %q?", near)
	case len(e.Known) > 0:
		msg += "; declared are " + strings.Join(e.Known, ", ")
	case len(e.Files) == 0:
		msg += ": no configuration file was found"
	}
	return msg
}

// Policy returns the policy of a server. tool names a tool of a stateless server. "" means
// the whole of a stateful server; for a stateless one it means the process that lists the
// tools, which has the word for the workspace alone. The presets of all servers must be laid below them
// before: see [Config.LayBelow].
func (c *Config) Policy(server, tool string) (*policy.Policy, error) {
	s := c.Servers[server]
	if s == nil {
		return nil, &UnknownServerError{server, c.ServerNames(), c.Files}
	}
	if err := c.broken[server]; err != nil && s.Project == "" {
		return nil, err
	}
	if err := c.checkPresets(); err != nil {
		return nil, err
	}
	if err := s.validate().Err(); err != nil {
		return nil, err
	}
	if tool != "" && s.IsStateful() {
		return nil, policy.Problems{policy.ProblemAt(s.Where, "servers."+show.Key(server), "server %q is stateful: one process serves all of its tools, so tool %q has no policy of its own", server, tool)}
	}
	p := c.process(s, tool)
	p.Others = c.others(server, tool)
	return p, p.Validate()
}

// others returns the policies of all other processes of the configuration: each tool with a
// table, the process that lists the tools of a server and runs those without a table, and
// the stateful servers. Those of the same server come first.
func (c *Config) others(server, tool string) (out []*policy.Policy) {
	names := slices.DeleteFunc(c.ServerNames(), func(name string) bool { return name == server })
	for _, name := range append([]string{server}, names...) {
		s := c.Servers[name]
		processes := []string{""}
		for _, t := range slices.Sorted(maps.Keys(s.Tools)) {
			if !s.IsStateful() && s.Tools[t].Access != nil {
				processes = append(processes, t)
			}
		}
		for _, t := range processes {
			if name != server || t != tool {
				out = append(out, c.process(s, t))
			}
		}
	}
	return out
}

// process returns the policy of one process of a server, not validated.
func (c *Config) process(s *Server, tool string) *policy.Policy {
	s, d, _ := c.inForce(s)
	with := d.below(s)
	p := with.process(tool)
	p.Settings = settingsOf(with, s, d)
	p.UnusedKeys = s.unusedKeys()
	d.apply(p)
	if n := c.narrowing[s.Name]; n != nil {
		if p.Narrow = n.narrow(p, tool); tool == "" {
			p.Tools = p.Tools.Meet(n.Switches())
		}
	}
	return p
}

// Switches returns what the tables of tools say of which are on, AnyTool first.
func (s *Server) Switches() (all policy.Switches) {
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if t := s.Tools[name]; t.Allow != nil {
			all = append(all, policy.NewSwitch(name, *t.Allow, t.allowAt))
		}
	}
	return all
}

// maxToolName is the longest name of a tool that can be switched off, in bytes.
const maxToolName = 128

// checkSwitches refuses a switch that no tool can have, and two of which one would be without effect.
func (s *Server) checkSwitches(key string) (ps policy.Problems) {
	all := s.Switches()
	for i, o := range all {
		at := key + ".tools." + show.Key(o.Tool) + ".allow"
		if len(o.Tool) > maxToolName {
			ps = append(ps, policy.ProblemAt(o.Where, at, "the name of the tool is longer than %d bytes, and no tool has such a name", maxToolName))
		}
		if j := slices.IndexFunc(all[:i], o.IsSame); j >= 0 && all[j].On != o.On {
			ps = append(ps, policy.ProblemAt(o.Where, at, "a server may take %s for %s, which is switched otherwise at %s: leave one of the two out", show.Name(o.Tool), show.Name(all[j].Tool), all[j].Where))
		}
	}
	return ps
}

// inForce returns a server with the settings that hold for it, and the defaults that do. ws name what a project's
// file says without effect.
func (c *Config) inForce(s *Server) (with *Server, d *Defaults, ws []policy.Warning) {
	n := c.narrowing[s.Name]
	switch {
	case s.Project != "": // the grants of the defaults were not meant for a project's program
		d = c.Defaults.refusals()
		with, ws = s.held(d)
		return with, d, ws
	case n != nil:
		with, ws = s.narrowed(n, c.Defaults)
		return with, c.Defaults, ws
	}
	return s, c.Defaults, nil
}

// toolAccess returns the access table of a tool: below its own there is the one for all tools, and below that the word for
// the workspace which the server has for its processes.
func (s *Server) toolAccess(tool string) (out *Access) {
	if !s.IsStateful() {
		out = s.Access
	}
	for _, name := range slices.Compact([]string{AnyTool, tool}) {
		if t := s.Tools[name]; t != nil {
			out = t.Access.over(out)
		}
	}
	return out
}

// over returns a table with another one below it. If it only takes away, and has no word for the workspace, it is added to
// the other one. Otherwise only the denials of the table below stay.
func (a *Access) over(below *Access) *Access {
	switch {
	case a == nil || below == nil:
		return cmp.Or(a, below)
	case a.word() != "":
		below = below.denials()
	}
	with := &Access{}
	with.overlay(below)
	with.overlay(a.copied()) // without its strategies, which are for earlier files
	return with
}

func (s *Server) process(tool string) *policy.Policy {
	p := s.policy()
	if tool == "" {
		p.Tools = s.Switches()
	}
	access := s.Access
	if p.Tool = tool; tool != "" {
		for _, t := range []*Tool{s.Tools[AnyTool], s.Tools[tool]} {
			if t != nil && t.Warm != nil {
				p.Warm = *t.Warm
			}
		}
		access = s.toolAccess(tool)
		if access.isDeclared() {
			p.Where = access.Where
		}
	}
	switch word := access.workspace(); {
	case word == "write" && (!access.hasRules() || access.workspaceAt == policy.DefaultSource):
		p.Default = true
		p.Fs = []policy.FsRule{policy.WorkspaceRule(word, policy.DefaultSource)}
	case word != "none":
		p.Fs = []policy.FsRule{policy.WorkspaceRule(word, access.workspaceAt)}
	}
	if access != nil {
		p.Fs = append(p.Fs, access.Fs...)
		p.Net = append(p.Net, access.Net...)
		p.Inbound = slices.Clone(access.Inbound)
		p.Env = append(slices.Clone(access.Env), p.Env...)
		p.Sensitive = slices.Clone(access.SensitivePaths)
		if access.Commands != nil {
			p.Commands = access.commandRules()
		}
	}
	return p
}

// commandRules returns the rules of a table. One without rules is not nil: it allows no other program.
func (a *Access) commandRules() []policy.CommandRule {
	rules := []policy.CommandRule{}
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		rules = append(rules, a.Commands[name]...)
	}
	return rules
}

// DeclaredTools returns the tools of a server for which a file has a table, sorted.
func (c *Config) DeclaredTools(server string) []string {
	return slices.DeleteFunc(c.ToolsWithTable(server), func(name string) bool {
		t := c.Servers[server].Tools[name]
		return t != nil && t.below && c.narrowing[server].tool(name) == nil
	})
}

// ToolsWithTable returns the tools of a server that have a table of their own, in a file or by a
// preset, sorted.
func (c *Config) ToolsWithTable(server string) []string {
	s := c.Servers[server]
	if s == nil {
		return nil
	}
	tools := maps.Clone(s.Tools)
	if n := c.narrowing[server]; n != nil && n.Tools != nil && !s.IsStateful() {
		tools = maps.Clone(n.Tools)
		maps.Copy(tools, s.Tools)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tools)), func(name string) bool { return name == AnyTool })
}

// AnyTool is the name of the table for all tools that have none of their own.
const AnyTool = policy.AnyTool

// HasAnyTool reports whether a server has a table AnyTool that declares access.
func (c *Config) HasAnyTool(server string) bool {
	s := c.Servers[server]
	declared := func(t *Tool) bool { return t != nil && t.Access.isDeclared() }
	return s != nil && (declared(s.Tools[AnyTool]) || !s.IsStateful() && declared(c.narrowing[server].tool(AnyTool)))
}

func (t *Tool) access() *Access {
	if t == nil {
		return nil
	}
	return t.Access
}

func (s *Server) tool(name string) *Tool {
	if s == nil {
		return nil
	}
	return s.Tools[name]
}

// policy returns the server's policy without the access rules.
func (s *Server) policy() *policy.Policy {
	set := s.Settings
	p := &policy.Policy{
		Server:       s.Name,
		Command:      s.Command,
		Arguments:    slices.Clone(s.Arguments),
		Workspace:    s.Workspace,
		ID:           s.ID,
		Key:          s.ID,
		StartIn:      s.Directory,
		Stateful:     s.IsStateful(),
		Warm:         set.number("warm"),
		Startup:      time.Duration(set.number("startup_timeout_secs")) * time.Second,
		Call:         time.Duration(set.number("call_timeout_secs")) * time.Second,
		Roots:        set.word("roots"),
		HomeReal:     s.Home == "real",
		Packages:     policy.Packages{PinTools: set.word("pin_tools")},
		Leaks:        set.word("leaks"),
		LeakPatterns: set.text("leak_patterns") == "true",
		Ask:          set.text("ask") == "true",
		Log:          set.word("log") == "on",
		Project:      s.Project,
		Net:          []policy.NetRule{},
		Env:          slices.Clone(s.Variables),
		Limits: policy.Limits{
			MemoryMB:   set.number("limits.memory_mb"),
			Processes:  set.number("limits.processes"),
			OpenFiles:  set.number("limits.open_files"),
			FileSizeMB: set.number("limits.file_size_mb"),
			MessageMB:  set.number("limits.message_mb"),
		},
		Waive: policy.SortAxes(s.Waive),
		Where: s.Where,
	}
	if mode := set.word("undo"); mode != policy.UndoOff {
		p.Undo = policy.Undo{Mode: mode, TotalMB: set.number("undo_total_mb")}
	}
	return p
}

func (s *Server) unusedKeys() (ws []policy.Warning) {
	if !s.IsStateful() {
		return nil
	}
	add := func(key, where string) {
		ws = append(ws, policy.Warning{Code: "no-effect", Message: fmt.Sprintf("%s has no effect: server %q is stateful, so one process serves all calls", key, s.Name), Where: where})
	}
	if s.Settings.number("warm") > 0 {
		add("warm", s.Where)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if t := s.Tools[name]; t.Warm != nil && *t.Warm > 0 {
			add("tools."+show.Key(name)+".warm", t.Where)
		}
	}
	return ws
}
