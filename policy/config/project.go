package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A project's file may name a server of the layers below it. If it only has rules, they join
// the others. If it changes the program, it declares another server of the same name: the
// grants for that name were meant for another program, and the file that `mcp-jail trust`
// shows does not contain them (docs/reference.md "Layers").

// changesProgram reports whether a layer changes the code that a server runs, not only what
// the server may do. earlier is nil if no layer before it declares the server.
func (s *Server) changesProgram(earlier *Server) bool {
	if s.Command != "" || s.Arguments != nil || len(s.Variables) > 0 || s.Access.setsVariables() || s.Preset != "" {
		return true
	}
	// Relative arguments are files of the workspace.
	if s.Workspace != "" && earlier != nil && earlier.Workspace != "" {
		return true
	}
	for _, t := range s.Tools {
		if t.Access.setsVariables() {
			return true
		}
	}
	return false
}

func (a *Access) setsVariables() bool {
	return a != nil && (slices.ContainsFunc(a.Env, func(r policy.EnvRule) bool { return r.Read }) ||
		slices.ContainsFunc(a.Net, func(r policy.NetRule) bool { return len(r.Secrets) > 0 }))
}

// applyProject prepares the layers below a project for the project's layer, which overlay adds
// afterwards. A server whose program the project changes loses its grants. From the project's
// tables, applyProject removes settings of leaks that are weaker than the user's.
func (c *Config) applyProject(layer *Config, file string) {
	for name, later := range layer.Servers {
		s := c.Servers[name]
		if !later.changesProgram(s) {
			c.keepLeaks(s, later)
			continue
		}
		own := &Server{Name: name, Project: file}
		if s != nil {
			own = s.withoutGrants(later)
			kept := *own
			own.layers = []*Server{&kept}
			own.Project, own.droppedGrants = file, s.describeGrants()
			if later.Command != "" && later.Arguments == nil && len(s.Arguments) > 0 {
				own.droppedGrants = append(own.droppedGrants, "its arguments")
			}
		}
		c.keepLeaks(own, later)
		c.Servers[name] = own
	}
}

// withoutGrants returns s without its grants. Its refusals stay. The program and the settings
// that say how it is run stay unless later names another program.
func (s *Server) withoutGrants(later *Server) *Server {
	out := &Server{Name: s.Name, Where: s.Where}
	if later.Command == "" {
		out.Command, out.Arguments, out.Description = s.Command, slices.Clone(s.Arguments), s.Description
		out.Stateful, out.Warm, out.MaxConcurrentCalls = s.Stateful, s.Warm, s.MaxConcurrentCalls
		out.StartupTimeoutSecs, out.CallTimeoutSecs = s.StartupTimeoutSecs, s.CallTimeoutSecs
		out.Roots, out.Advertise = s.Roots, s.Advertise
		out.AutoInstall = s.AutoInstall
	}
	out.Undo, out.UndoFileMB, out.UndoTotalMB, out.UndoDays = s.Undo, s.UndoFileMB, s.UndoTotalMB, s.UndoDays
	if s.PinTools == policy.PinEnforce {
		out.PinTools = s.PinTools
	}
	if s.Leaks != policy.LeaksOff {
		out.Leaks = s.Leaks
	}
	out.LeakPatterns = s.LeakPatterns
	out.Access = s.Access.onlyRefusals(later.Access)
	for name, t := range s.Tools {
		var with *Access
		if lt := later.Tools[name]; lt != nil {
			with = lt.Access
		}
		if a := t.Access.onlyRefusals(with); a != nil {
			if out.Tools == nil {
				out.Tools = map[string]*Tool{}
			}
			out.Tools[name] = &Tool{Name: name, Access: a, Where: t.Where}
		}
	}
	out.Limits = s.Limits
	for _, l := range out.Limits.list() {
		if l.exceedsDefault() {
			*l.value = nil
		}
	}
	return out
}

// onlyRefusals returns the rules of a table that grant nothing, or nil. It keeps
// the list of programs too, unless the later layer has a list of its own.
func (a *Access) onlyRefusals(later *Access) *Access {
	if a == nil {
		return nil
	}
	out := &Access{SensitivePaths: a.SensitivePaths, Where: a.Where, onlyRefuses: true}
	for _, r := range a.Fs {
		if r.Rights() == 0 {
			out.Fs = append(out.Fs, r)
		}
	}
	for _, r := range a.Net {
		if !r.Allow {
			out.Net = append(out.Net, r)
		}
	}
	for _, r := range a.Env {
		if !r.Read {
			out.Env = append(out.Env, r)
		}
	}
	if later == nil || later.Commands == nil {
		out.Commands = a.Commands
	}
	if len(out.SensitivePaths)+len(out.Fs)+len(out.Net)+len(out.Env) == 0 && out.Commands == nil {
		return nil
	}
	return out
}

// describeGrants describes what a server has beyond the default policy. It leaves out
// arguments, because they may contain tokens.
func (s *Server) describeGrants() (out []string) {
	if s.Preset != "" {
		out = append(out, "preset "+s.Preset)
	}
	if s.Workspace != "" {
		out = append(out, "workspace "+s.Workspace)
	}
	if s.Home == "real" {
		out = append(out, "home = \"real\"")
	}
	for _, v := range s.Variables {
		out = append(out, "variable "+v.Name)
	}
	out = append(out, s.Access.describeGrants("")...)
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		out = append(out, s.Tools[name].Access.describeGrants("tool "+name+": ")...)
	}
	for _, l := range s.Limits.list() {
		if l.exceedsDefault() {
			out = append(out, fmt.Sprintf("%s = %d", l.name, **l.value))
		}
	}
	for _, axis := range s.Waive {
		out = append(out, "waived "+string(axis))
	}
	return out
}

func (a *Access) describeGrants(head string) (out []string) {
	if a == nil {
		return nil
	}
	for _, r := range a.Env {
		if r.Read {
			out = append(out, head+"variable "+r.Name)
		}
	}
	for _, r := range a.Fs {
		if r.Rights() != 0 {
			out = append(out, fmt.Sprintf("%s%s (%s)", head, r.Path, r.Rights()))
		}
	}
	for _, r := range a.Net {
		if !r.Allow {
			continue
		}
		host := head + r.Host
		if r.Port != 0 {
			host += fmt.Sprintf(":%d", r.Port)
		}
		if names := r.SecretNames(); len(names) > 0 {
			host += " (with the secret " + strings.Join(names, ", ") + ")"
		}
		out = append(out, host)
	}
	for _, r := range a.Inbound {
		out = append(out, fmt.Sprintf("%sinbound port %d", head, r.Port))
	}
	return out
}

// maxDroppedGrants bounds the grants in one warning.
const maxDroppedGrants = 12

// DroppedGrants warns of grants in the user's own layers that a project's server of the
// same name does not get, because it runs another program.
func (c *Config) DroppedGrants(server string) []policy.Warning {
	s := c.Servers[server]
	if s == nil || len(s.droppedGrants) == 0 {
		return nil
	}
	list := s.droppedGrants
	if more := len(list) - maxDroppedGrants; more > 0 {
		list = append(slices.Clone(list[:maxDroppedGrants]), fmt.Sprintf("and %d more", more))
	}
	return []policy.Warning{{Code: "not-taken-over", Message: fmt.Sprintf(
		"server %q runs what this project says, so it does not have what your own configuration grants to that name: %s; grant it in this file and trust it again, or give the project's server another name",
		server, strings.Join(list, ", ")), Where: s.Where}}
}

// limit is one key of a limits table.
type limit struct {
	name   string
	value  **int
	preset int // 0: none
}

func (t *LimitsTable) list() []limit {
	return []limit{
		{"memory_mb", &t.MemoryMB, policy.DefaultLimits.MemoryMB},
		{"processes", &t.Processes, policy.DefaultLimits.Processes},
		{"open_files", &t.OpenFiles, policy.DefaultLimits.OpenFiles},
		{"file_size_mb", &t.FileSizeMB, policy.DefaultLimits.FileSizeMB},
		{"message_mb", &t.MessageMB, policy.DefaultLimits.MessageMB},
		{"net_out_mb", &t.NetOutMB, policy.DefaultLimits.NetOutMB},
		{"connections", &t.Connections, policy.DefaultLimits.Connections},
	}
}

// exceedsDefault reports whether a limit is set to more than its default.
func (l limit) exceedsDefault() bool { return *l.value != nil && l.preset != 0 && **l.value > l.preset }

// LayerGrant describes the table of one server in a file, in words: the program that is started,
// and the grants that it gets beyond the baseline of every program.
type LayerGrant struct {
	Server    string
	Starts    []string // nil where the file names no program
	Arguments []string // for a program that another file names
	Gets      []string
}

// LayerGrants lists what the content of one file grants by itself, without other layers. below
// returns the table that the preset of a server would lay below it, or nil; it is called for
// the servers that name a preset in this file. Without it, presets are named only.
func LayerGrants(data []byte, file string, below func(server string) *Server) (all []LayerGrant) {
	layer, _ := decodeLayer(data, file)
	for _, name := range slices.Sorted(maps.Keys(layer.Servers)) {
		s := layer.Servers[name]
		g := LayerGrant{Server: name, Gets: s.describeGrants(), Arguments: s.Arguments}
		if s.Command != "" {
			g.Starts, g.Arguments = append([]string{s.Command}, s.Arguments...), nil
		}
		preset := &Server{}
		if s.Preset != "" && below != nil {
			if b := below(name); b != nil {
				preset = b
			}
		}
		for _, text := range preset.describeGrants() {
			g.Gets = append(g.Gets, "by the preset "+s.Preset+": "+text)
		}
		const byDefault = "the default policy: the workspace (read write)"
		if s.changesProgram(nil) && !s.Access.replacesDefault() && !preset.Access.replacesDefault() { // the grants of other layers do not count
			g.Gets = append(g.Gets, byDefault)
		}
		g.Gets = append(g.Gets, s.Access.outsideGrants()...)
		for _, tool := range slices.Sorted(maps.Keys(s.Tools)) {
			a := s.Tools[tool].Access
			if a.isDeclared() && !a.replacesDefault() {
				g.Gets = append(g.Gets, "tool "+tool+": "+byDefault)
			}
			g.Gets = append(g.Gets, a.outsideGrants()...)
		}
		all = append(all, g)
	}
	return all
}

// outsideGrants describes the files that mcp-jail reads, and the programs that it runs, outside
// of every jail for the secrets of an access table.
func (a *Access) outsideGrants() (out []string) {
	if a == nil {
		return nil
	}
	for _, r := range a.Net {
		for _, s := range r.Secrets {
			switch {
			case s.File != "":
				out = append(out, fmt.Sprintf("%s gets the content of a file, as the secret %s: %s", r.Host, s.Env, s.File))
			case s.Command != nil:
				out = append(out, fmt.Sprintf("runs outside of the jail, for the secret %s: %s", s.Env, strings.Join(s.Command, " ")))
			}
		}
	}
	return out
}
