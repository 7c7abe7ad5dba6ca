package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
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
			c.Servers[name] = &Server{Name: name, Project: file}
			if lower != nil {
				c.Servers[name].replaces = lower.Where
			}
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
	all := &Access{}
	for _, a := range s.accesses() {
		denials := a.denials()
		for _, r := range denials.Fs {
			all.Fs = append(all.Fs, deny(r))
		}
		for _, p := range a.SensitivePaths {
			if strings.ContainsAny(p, "*?[") {
				all.SensitivePaths = append(all.SensitivePaths, p)
				continue
			}
			all.Fs = append(all.Fs, deny(policy.FsRule{Path: p, Deny: policy.AllRights, Where: cmp.Or(a.sensitiveAt[p], s.Where)}))
		}
		all.Net, all.Env = append(all.Net, denials.Net...), append(all.Env, denials.Env...)
	}
	tools := map[string]*Tool{AnyTool: {}}
	for name, t := range s.Tools {
		tools[name] = &Tool{Allow: t.Allow, allowAt: t.allowAt}
	}
	tools[AnyTool].Access = all
	if !all.isMentioned() && s.Switches() == nil {
		return nil
	}
	return &Server{Name: s.Name, Access: all, Tools: tools, Where: s.Where}
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

// laidTables returns the tables that were merged into this one, first layer first.
func (s *Server) laidTables() []*Server {
	if s.layers == nil {
		return []*Server{s} // it was decoded and not merged
	}
	return s.layers
}

// droppedGrants warns that a project's server does not have what the user's own of that name has.
func (s *Server) droppedGrants() []policy.Warning {
	if s.replaces == "" {
		return nil
	}
	return []policy.Warning{{Code: "not-taken-over", Where: s.Where, Message: fmt.Sprintf(
		"server %q runs what this project says, so it has nothing of what your own configuration grants to that name (%s); grant it in this file and trust it again, or give the project's server another name",
		s.Name, s.replaces)}}
}
