package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Grants are rules and settings that a command adds to the file of a server, or takes out of it.
type Grants struct {
	Table *Server
	Tool  string                   // whose rules they are; "" for those of the whole server
	At    func(path string) string // where a path leads
}

// DenialError reports a grant of what a rule of the same file denies.
type DenialError struct{ Path, Where string }

func (e *DenialError) Error() string {
	return fmt.Sprintf("%s denies %s: remove that rule first", e.Where, show.Name(e.Path))
}

// AddTo adds the grants to a table. narrower are its rules inside those that were added, with no other rights: they
// may still grant something that is denied in what is around them.
func (g Grants) AddTo(s *Server) (narrower []policy.FsRule, err error) {
	a, variables := g.split()
	s.Variables = addTo(s.Variables, variables, includesEnv)
	if len(a.Fs)+len(a.Net)+len(a.Inbound)+len(a.Env) > 0 {
		to := g.makeAccess(s)
		for _, r := range a.Fs {
			inside, err := g.addPath(to, r)
			if err != nil {
				return nil, err
			}
			narrower = append(narrower, inside...)
		}
		to.Net, to.Inbound, to.Env = addTo(to.Net, a.Net, policy.NetRule.Includes), addTo(to.Inbound, a.Inbound, sameInbound), addTo(to.Env, a.Env, includesEnv)
		if g.Tool == "" {
			s.Variables = without(s.Variables, a.Env)
		}
	}
	s.Settings = g.Table.Settings.over(s.Settings)
	s.Home, s.Workspace = cmp.Or(g.Table.Home, s.Home), cmp.Or(g.Table.Workspace, s.Workspace)
	return narrower, nil
}

// split returns the rules for the process, and the variables of the whole server.
func (g Grants) split() (a Access, variables []policy.EnvRule) {
	if g.Table.Access != nil {
		a = *g.Table.Access
	}
	a.Env = slices.Clone(a.Env)
	for _, v := range g.Table.Variables {
		if v.Where = ""; g.Tool != "" {
			a.Env = append(a.Env, v)
		} else {
			variables = append(variables, v)
		}
	}
	return a, variables
}

// makeAccess returns the rules of the process. The first ones of its own keep what it has without them: its workspace,
// and the rules for all tools.
func (g Grants) makeAccess(s *Server) *Access {
	at := &s.Access
	if g.Tool != "" {
		at = &s.setTool(g.Tool).Access
	}
	has := *at
	if g.Tool != "" && has.word() == "" {
		has = s.toolAccess(g.Tool)
	}
	if *at = has.copied(); *at == nil {
		*at = &Access{}
	}
	(*at).Workspace = (*at).workspace()
	return *at
}

// setTool returns the table of a tool, which may be new.
func (s *Server) setTool(name string) *Tool {
	if s.Tools == nil {
		s.Tools = map[string]*Tool{}
	}
	if s.Tools[name] == nil {
		s.Tools[name] = &Tool{}
	}
	return s.Tools[name]
}

// addPath adds a rule for a path. Rules for one path are one.
func (g Grants) addPath(a *Access, r policy.FsRule) (narrower []policy.FsRule, err error) {
	denies := r.Deny != 0
	at := g.At(r.Path)
	given := r.Rights()
	for _, o := range a.Fs {
		if !denies && o.Deny == 0 && g.At(o.Path) == at {
			r.Read, r.Create, r.Update, r.Delete, r.Execute = r.Read || o.Read, r.Create || o.Create, r.Update || o.Update, r.Delete || o.Delete, r.Execute || o.Execute
		}
	}
	for i := 0; i < len(a.Fs); i++ {
		o := a.Fs[i]
		switch in := g.At(o.Path); {
		case o.Deny&given != 0 && policy.Within(at, in):
			return nil, &DenialError{r.Path, o.Where}
		case denies && policy.Within(in, at) && (o.Deny != 0 || o.Rights()&r.Deny != 0): // a denial has no exceptions
			a.Fs = slices.Delete(a.Fs, i, i+1)
			i--
		case in == at && o.Deny == 0 && !denies:
			a.Fs = slices.Delete(a.Fs, i, i+1)
			i--
		case policy.Within(in, at) && o.Deny == 0 && r.Rights().Has(o.Rights()):
			narrower = append(narrower, o)
		}
	}
	a.Fs = append(a.Fs, r)
	return narrower, nil
}

// Drop takes a rule for a path out of a table.
func (g Grants) Drop(s *Server, r policy.FsRule) {
	if a := g.accessOf(s); a != nil {
		a.Fs = slices.DeleteFunc(a.Fs, func(o policy.FsRule) bool { return sameFs(o, r) })
	}
}

func (g Grants) accessOf(s *Server) *Access {
	switch {
	case g.Tool == "":
		return s.Access
	case s.Tools[g.Tool] != nil:
		return s.Tools[g.Tool].Access
	}
	return nil
}

// notThereError reports a rule that cannot be taken out of a table which does not have it.
type notThereError struct{ Rule string }

func (e *notThereError) Error() string { return e.Rule + " is not in it" }

// TakeFrom takes the grants out of a table.
func (g Grants) TakeFrom(s *Server) (err error) {
	wanted, variables := g.split()
	a := g.accessOf(s)
	if a == nil {
		a = &Access{}
	}
	for _, r := range wanted.Fs {
		if a.Fs, err = g.takePath(a.Fs, r); err != nil {
			return err
		}
	}
	if a.Net, err = takeFrom(a.Net, wanted.Net, sameNet, func(r policy.NetRule) string { return strings.Join(r.TOMLFields(), ", ") }); err != nil {
		return err
	}
	if a.Inbound, err = takeFrom(a.Inbound, wanted.Inbound, sameInbound, func(r policy.InboundRule) string { return fmt.Sprint("port ", r.Port) }); err != nil {
		return err
	}
	name := func(r policy.EnvRule) string { return "the variable " + show.Name(r.Name) }
	if a.Env, err = takeFrom(a.Env, wanted.Env, sameEnv, name); err != nil {
		return err
	}
	if s.Variables, err = takeFrom(s.Variables, variables, sameEnv, name); err != nil {
		return err
	}
	return s.takeSettings(g.Table)
}

// takePath takes the rights of a rule away from the rule for its path. What remains is still read. An empty list stays,
// without which the default policy might come back.
func (g Grants) takePath(rules []policy.FsRule, r policy.FsRule) ([]policy.FsRule, error) {
	i := slices.IndexFunc(rules, func(o policy.FsRule) bool {
		return g.At(o.Path) == g.At(r.Path) && (o.Deny != 0) == (r.Deny != 0)
	})
	if i < 0 {
		return nil, &notThereError{rightsText(r.Path, r.Rights())}
	}
	left := rules[i]
	if extra := left.Rights() &^ r.Rights(); extra != 0 && r.Rights() == policy.Read {
		return nil, &notThereError{rightsText(r.Path, r.Rights()) + " alone"}
	}
	left.Create, left.Update, left.Delete, left.Execute = left.Create && !r.Create, left.Update && !r.Update, left.Delete && !r.Delete, left.Execute && !r.Execute
	if left.Rights()&^policy.Read == 0 {
		return slices.Delete(rules, i, i+1), nil
	}
	rules[i] = left
	return rules, nil
}

func takeFrom[T any](rules, gone []T, same func(a, b T) bool, text func(T) string) ([]T, error) {
	for _, r := range gone {
		i := slices.IndexFunc(rules, func(o T) bool { return same(o, r) })
		if i < 0 {
			return nil, &notThereError{text(r)}
		}
		if rules = slices.Delete(rules, i, i+1); len(rules) == 0 {
			rules = nil
		}
	}
	return rules, nil
}

// takeSettings takes settings away that have the values of l.
func (s *Server) takeSettings(l *Server) error {
	s.Settings = maps.Clone(s.Settings)
	for key, gone := range l.Settings {
		if s.Settings[key].Value != gone.Value {
			return &notThereError{strings.TrimPrefix(key, limitsTable) + " = " + gone.Value}
		}
		delete(s.Settings, key)
	}
	for key, texts := range map[string][2]*string{"home": {&s.Home, &l.Home}, "workspace": {&s.Workspace, &l.Workspace}} {
		if have, want := texts[0], texts[1]; *want != "" && *have != *want {
			return &notThereError{key + " = " + show.TOML(*want)}
		} else if *want != "" {
			*have = ""
		}
	}
	return nil
}

// addTo adds rules to others, in the place of those that they include, unless others include them.
func addTo[T any](rules, more []T, includes func(wide, narrow T) bool) []T {
	for _, r := range more {
		if !slices.ContainsFunc(rules, func(o T) bool { return includes(o, r) }) {
			rules = append(slices.DeleteFunc(rules, func(o T) bool { return includes(r, o) }), r)
		}
	}
	return rules
}

// without returns the variables that no rule includes, and nil for none.
func without(variables, rules []policy.EnvRule) (left []policy.EnvRule) {
	for _, v := range variables {
		if !slices.ContainsFunc(rules, func(r policy.EnvRule) bool { return includesEnv(r, v) }) {
			left = append(left, v)
		}
	}
	return left
}

// includesEnv reports whether a rule gives what another one would. One with a file takes the place of one without.
func includesEnv(wide, narrow policy.EnvRule) bool {
	return wide.Read == narrow.Read && policy.EnvIncludes(wide.Name, narrow.Name) && (wide.File == narrow.File || narrow.File == "")
}

// Switch switches a tool on or off. What it says of names that a server may take for this one goes.
func (s *Server) Switch(tool string, on bool) {
	wanted, tools := policy.NewSwitch(tool, on, ""), map[string]*Tool{}
	for name, t := range s.Tools {
		if wanted.IsSame(policy.NewSwitch(name, on, "")) {
			t.Allow = nil
		}
		if t.Allow != nil || t.Access != nil || t.Warm != nil {
			tools[name] = t
		}
	}
	s.Tools = tools
	if _, off := s.Switches().Off(tool); off == on {
		tools[tool] = cmp.Or(tools[tool], &Tool{})
		tools[tool].Allow = &on
	}
	if len(tools) == 0 {
		s.Tools = nil
	}
}

// Since returns a table with what a server has more than before, and the places of what it has no more. A table
// without the word for the workspace gets it, because its first rule would change what the server may do there.
func (s *Server) Since(before *Server) (more *Server, gone []string) {
	more = &Server{Name: s.Name, Settings: maps.Clone(s.Settings)}
	maps.DeleteFunc(more.Settings, func(key string, set policy.Setting) bool { return before.Settings[key].Value == set.Value })
	for to, texts := range map[*string][2]string{&more.Home: {s.Home, before.Home}, &more.Workspace: {s.Workspace, before.Workspace}} {
		if texts[0] != texts[1] {
			*to = texts[0]
		}
	}
	more.Variables = addedTo(before.Variables, s.Variables, sameEnv, func(r policy.EnvRule) string { return r.Where }, &gone)
	more.Access = s.Access.since(before.Access, &gone)
	if s.IsStateful() != before.IsStateful() {
		is := s.IsStateful()
		more.Stateful = &is
		if word := s.Access.workspace(); more.Access == nil && (before.Access == nil || before.Access.Workspace != word) {
			more.Access = &Access{Workspace: word}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Tools)) {
		if t := before.Tools[name]; t.Access != nil && s.Tools[name].access() == nil {
			gone = append(gone, t.Access.Where)
		}
	}
	for name, t := range s.Tools {
		was := cmp.Or(before.Tools[name], &Tool{})
		now := &Tool{Access: t.Access.since(was.Access, &gone)}
		if now.Allow = t.Allow; was.Allow != nil && t.Allow != nil && *was.Allow == *t.Allow {
			now.Allow = nil
		}
		if was.Allow != nil && now.Allow != nil {
			gone = append(gone, was.allowAt)
		}
		if now.Access != nil || now.Allow != nil {
			if more.Tools == nil {
				more.Tools = map[string]*Tool{}
			}
			more.Tools[name] = now
		}
	}
	return more, gone
}

func (a *Access) since(before *Access, gone *[]string) *Access {
	if a == nil {
		return nil
	}
	if before == nil {
		before = &Access{}
	}
	out := &Access{
		Fs:      addedTo(before.Fs, a.Fs, sameFs, func(r policy.FsRule) string { return r.Where }, gone),
		Net:     addedTo(before.Net, a.Net, sameNet, func(r policy.NetRule) string { return r.Where }, gone),
		Inbound: addedTo(before.Inbound, a.Inbound, sameInbound, func(r policy.InboundRule) string { return r.Where }, gone),
		Env:     addedTo(before.Env, a.Env, sameEnv, func(r policy.EnvRule) string { return r.Where }, gone),
	}
	if !out.isMentioned() {
		return nil
	}
	if before.word() == "" {
		out.Workspace = a.Workspace
	}
	return out
}

// addedTo returns the rules that a list has more than before, and adds the places of those that it has no more.
func addedTo[T any](before, after []T, same func(a, b T) bool, where func(T) string, gone *[]string) (more []T) {
	has := func(list []T, r T) bool { return slices.ContainsFunc(list, func(o T) bool { return same(o, r) }) }
	for _, r := range before {
		if !has(after, r) && where(r) != "" {
			*gone = append(*gone, where(r))
		}
	}
	for _, r := range after {
		if !has(before, r) {
			more = append(more, r)
		}
	}
	return more
}
