package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A project's file may name a server of the layers below it. If it names a program, it declares another server of
// the same name: the grants for that name were meant for another program, and the file that `mcp-jail trust` shows
// does not contain them. What those layers deny to the name holds for it, too: no file lifts a denial of another.
// Otherwise it takes away (docs/reference.md "Layers").

// applyProject prepares the layers below a project for the project's layer, which overlay adds afterwards. It takes
// out of that layer the tables that narrow servers of the user.
func (c *Config) applyProject(layer *Config, file string) {
	for name, later := range layer.Servers {
		lower, id := c.Servers[name], c.ids[name]
		switch {
		case later.Command == "" && lower != nil:
			c.narrow(name, later)
			delete(layer.Servers, name)
		case later.Command == "" && id != "":
			c.NarrowedIDs = append(c.NarrowedIDs, id)
			delete(layer.Servers, name)
		default:
			c.Servers[name] = &Server{Name: name, Project: file, droppedGrants: lower.dropped(later)}
			c.narrow(name, lower.denials(filepath.Dir(file)))
		}
	}
	slices.Sort(c.NarrowedIDs)
}

// narrow takes from a server what a table does not allow it. nil takes nothing.
func (c *Config) narrow(name string, by *Server) {
	if by == nil {
		return
	}
	if c.narrowing == nil {
		c.narrowing = map[string]*Server{}
	}
	c.narrowing[name] = by
}

// denials returns a table with what a server of the user, in a directory, is denied in any of its processes, or nil.
func (s *Server) denials(dir string) *Server {
	if s == nil {
		return nil
	}
	workspace := s.Workspace
	if !isPlace(workspace) {
		workspace = filepath.Join(dir, workspace)
	}
	deny := func(r policy.FsRule) policy.FsRule {
		if !isPlace(r.Path) {
			r.Path = filepath.Join(workspace, r.Path)
		}
		return r
	}
	all := newAccess()
	for _, a := range s.accesses() {
		for _, r := range a.Fs {
			if r.Deny != 0 {
				all.Fs = append(all.Fs, deny(r))
			}
		}
		for _, p := range a.SensitivePaths {
			if strings.ContainsAny(p, "*?[") {
				all.SensitivePaths = append(all.SensitivePaths, p)
				continue
			}
			all.Fs = append(all.Fs, deny(policy.FsRule{Path: p, Deny: policy.AllRights, Where: cmp.Or(a.sensitiveAt[p], s.Where)}))
		}
		for _, r := range a.Net {
			if !r.Allow {
				all.Net = append(all.Net, r)
			}
		}
		for _, r := range a.Env {
			if !r.Read {
				all.Env = append(all.Env, r)
			}
		}
	}
	if !all.isMentioned() {
		return nil
	}
	return &Server{Name: s.Name, Access: all, Tools: map[string]*Tool{AnyTool: {Name: AnyTool, Access: all}}, Where: s.Where}
}

// isPlace reports whether a path says where it is, wherever the workspace is.
func isPlace(path string) bool { return strings.HasPrefix(path, "~") || filepath.IsAbs(path) }

// accesses returns the access tables of a server: its own, and those of its tools.
func (s *Server) accesses() (all []*Access) {
	if s.Access != nil {
		all = append(all, s.Access)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if a := s.Tools[name].Access; a != nil {
			all = append(all, a)
		}
	}
	return all
}

// dropped describes what a server of the user has and the project's of that name does not get.
func (s *Server) dropped(later *Server) []string {
	if s == nil {
		return nil
	}
	out := s.describeGrants()
	if later.Arguments == nil && len(s.Arguments) > 0 {
		out = append(out, "its arguments")
	}
	return out
}

// laidTables returns the tables that were merged into this one, first layer first.
func (s *Server) laidTables() []*Server {
	if s.layers == nil {
		return []*Server{s} // it was decoded and not merged
	}
	return s.layers
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
	for _, l := range s.Limits.settings() {
		if l.exceedsDefault() {
			out = append(out, l.key+" = "+l.text())
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
			out = append(out, head+rightsText(r.Path, r.Rights()))
		}
	}
	for _, r := range a.Net {
		if !r.Allow {
			continue
		}
		host := head + hostText(r)
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

func rightsText(path string, rights policy.Rights) string {
	return fmt.Sprintf("%s (%s)", path, rights)
}

// hostText describes the target of a rule.
func hostText(r policy.NetRule) string {
	host := r.Host
	if r.Port != 0 {
		host = net.JoinHostPort(host, strconv.Itoa(r.Port))
	}
	var only []string
	if r.Scheme != "" && !(r.Scheme == "https" && len(r.Secrets) > 0) { // a secret needs https
		only = append(only, r.Scheme)
	}
	if r.PathPrefix != "" {
		only = append(only, "the path "+r.PathPrefix)
	}
	if only = append(only, r.Methods...); len(only) > 0 {
		host += " (only " + strings.Join(only, ", ") + ")"
	}
	return host
}
