package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// SetPerCall gives each call of a tool a process of its own, with the rules that the server has, or all of them one process
// again, with the rules of all tools together. The process that lists the tools has the word for the workspace, and no rules.
// isDir says which paths are folders.
func (g Grants) SetPerCall(s *Server, perCall bool, isDir func(path string) bool) error {
	for _, a := range s.accesses() {
		if a.Commands != nil {
			return fmt.Errorf("%s says which programs it may start, and that would not hold for all of its processes", a.Where)
		}
	}
	own := s.Access
	if s.Stateful = nil; perCall {
		no := false
		s.Stateful = &no
		if own == nil || own.isWord() {
			return nil
		}
		if where := own.takesAway(s.Where); where != "" {
			return fmt.Errorf("%s takes something away, and the process that lists the tools would have it: no rule is for that", where)
		}
		g.takeFolder(s, isDir)
		s.Access = &Access{Workspace: own.workspace()}
		all := own.copied()
		all.Workspace = own.workspace()
		s.setTool(AnyTool).Access = all
		return nil
	}
	word := own.workspace()
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) { // "*" before names
		a := s.Tools[name].Access
		if s.Tools[name].Access, s.Tools[name].Warm = nil, nil; a == nil {
			continue
		}
		if where := a.takesAway(a.Where); where != "" {
			return fmt.Errorf("%s takes something away from some tools, and one process serves all of them", where)
		}
		word = max(word, a.workspace()) // of "none", "read" and "write"
		if _, err := (Grants{Table: &Server{Access: a}, At: g.At}).AddTo(s); err != nil {
			return err
		}
	}
	maps.DeleteFunc(s.Tools, func(_ string, t *Tool) bool { return t.Allow == nil })
	if len(s.Tools) == 0 {
		s.Tools = nil
	}
	if s.Access == nil {
		s.Access = &Access{}
	}
	s.Access.Workspace = word
	return nil
}

// takeFolder makes the first folder that the rules of a server give its workspace, if it has none: a server that looks at its
// folders as it starts could not list its tools without one. Its rules stay, so none of them may begin at the workspace.
func (g Grants) takeFolder(s *Server, isDir func(path string) bool) {
	isRelative := func(r policy.FsRule) bool { return !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~") }
	if s.Access.workspace() != "none" || s.Workspace != "" || slices.ContainsFunc(s.Access.Fs, isRelative) {
		return
	}
	words := map[policy.Rights]string{policy.Read: "read", policy.Read | policy.Write: "write"}
	for _, r := range s.Access.Fs {
		if word := words[r.Rights()]; word != "" && isDir(g.At(r.Path)) {
			s.Workspace, s.Access.Workspace = r.Path, word
			return
		}
	}
}

// takesAway returns where a table first takes something away, or "". at is where a list of sensitive paths is.
func (a *Access) takesAway(at string) string {
	for _, r := range a.Fs {
		if r.Deny != 0 {
			return r.Where
		}
	}
	for _, r := range a.Net {
		if !r.Allow {
			return r.Where
		}
	}
	for _, r := range a.Env {
		if !r.Read {
			return r.Where
		}
	}
	if a.SensitivePaths != nil {
		return at
	}
	return ""
}
