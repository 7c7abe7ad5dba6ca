package table

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// wanted returns the table of the server as the file should have it.
func (w *work) wanted() *config.Server {
	if w.want.Servers == nil {
		w.want.Servers = map[string]*config.Server{}
	}
	s := w.want.Servers[w.Change.Server]
	if s == nil {
		s = &config.Server{Name: w.Change.Server}
		w.want.Servers[w.Change.Server] = s
	}
	return s
}

// wantedAccess returns the table that grants something to the process, as the file should have it.
func (w *work) wantedAccess() *config.Access {
	s := w.wanted()
	if w.Tool == "" {
		if s.Access == nil {
			s.Access = &config.Access{}
		}
		return s.Access
	}
	if s.Tools == nil {
		s.Tools = map[string]*config.Tool{}
	}
	t := s.Tools[w.Tool]
	if t == nil {
		t = &config.Tool{Name: w.Tool}
		s.Tools[w.Tool] = t
	}
	if t.Access == nil {
		t.Access = &config.Access{}
	}
	return t.Access
}

// faultError reports that a change did not do what it should.
type faultError struct{ reason string }

func (e *faultError) Error() string { return e.reason }

// verify compares the tables and the policy before and after the change.
func (w *work) verify(g *config.Server) error {
	got, err := config.DecodeLayer(w.text, w.File)
	if err != nil {
		return &faultError{"the file could not be read any more: " + err.Error()}
	}
	if config.Digest(plain(w, got)) != config.Digest(plain(w, w.want)) {
		return &faultError{"the file would not say what it should"}
	}
	now, err := w.Policy(w.text)
	if err != nil {
		return &faultError{"the server would not start: " + err.Error()}
	}
	if now.Project != w.was.Project {
		return &faultError{"a project's file that passes a variable or names a preset declares its own server, which loses what your configuration grants"}
	}
	if now.Default != w.was.Default && !w.kept && (g.Preset == "" || w.Remove) {
		return &faultError{"the default policy would be replaced"}
	}
	less, more := w.was, now
	if g.Preset != "" && !w.Remove { // its table takes the place of the default policy
		asked := *less
		asked.Fs = slices.DeleteFunc(slices.Clone(less.Fs), func(r policy.FsRule) bool { return r.Where == policy.DefaultSource })
		less = &asked
	}
	if w.Remove {
		less, more = now, w.was
	} else if what := w.lacks(now, g); what != "" {
		return &faultError{what + " would not be granted: other files of the configuration, or the project, decide about it"}
	}
	return w.compare(less, more, w.accessOfGrant(g).Fs)
}

// plain removes what differs between equal tables: lists without items, and tables without rules.
func plain(w *work, c *config.Config) *config.Config {
	s := c.Servers[w.Change.Server]
	if s == nil {
		return c
	}
	if len(s.Variables) == 0 {
		s.Variables = nil
	}
	s.Access = plainAccess(s.Access)
	if t := s.Tools[w.Tool]; t != nil {
		if t.Access = plainAccess(t.Access); t.Access == nil && t.Warm == nil {
			delete(s.Tools, w.Tool)
		}
	}
	if len(s.Tools) == 0 {
		s.Tools = nil
	}
	return c
}

func plainAccess(a *config.Access) *config.Access {
	if a == nil {
		return nil
	}
	if len(a.Fs) == 0 {
		a.Fs = nil
	}
	if len(a.Net) == 0 {
		a.Net = nil
	}
	if len(a.Inbound) == 0 {
		a.Inbound = nil
	}
	if len(a.Env) == 0 {
		a.Env = nil
	}
	if a.Fs == nil && a.Net == nil && a.Inbound == nil && a.Env == nil && a.Commands == nil && a.SensitivePaths == nil && len(a.Merge) == 0 {
		return nil
	}
	return a
}

// compare returns an error unless the policy more has all that less has. What the grant refuses does
// not count.
func (w *work) compare(less, more *policy.Policy, grant []policy.FsRule) error {
	a, b := w.rules(less), w.rules(more)
	for _, p := range slices.Concat(a.Paths, b.Paths) {
		refused := slices.ContainsFunc(grant, func(r policy.FsRule) bool { return r.Rights() == 0 && policy.Within(p, w.placed(r.Path)) })
		lost := a.RightsAt(p) &^ b.RightsAt(p)
		switch {
		case w.Hidden != nil && w.Hidden(p):
			lost = 0 // a rule around it gave nothing there
		case policy.HasProtectedName(p):
			lost &^= policy.Write
		}
		if lost != 0 && !refused && w.Remove {
			return &faultError{fmt.Sprintf("without it, a rule around %s would give more there: %s", show.Name(w.native(p)), lost)}
		} else if lost != 0 && !refused {
			return &faultError{fmt.Sprintf("the server would lose rights at %s: %s", show.Name(w.native(p)), lost)}
		}
	}
	switch {
	case missing(less.Net, more.Net, func(r policy.NetRule) string { return strings.Join(r.TOMLFields(), ", ") }):
		return &faultError{"the hosts would not be those that they should be"}
	case missing(less.Env, more.Env, func(r policy.EnvRule) string { return strings.Join(r.TOMLFields(), ", ") }):
		return &faultError{"the variables would not be those that they should be"}
	case missing(less.Inbound, more.Inbound, func(r policy.InboundRule) string { return strings.Join(r.TOMLFields(), ", ") }):
		return &faultError{"the ports would not be those that they should be"}
	case (less.Commands == nil) != (more.Commands == nil), missing(less.Commands, more.Commands, func(r policy.CommandRule) string { return path.Join(append([]string{r.Name}, r.TOMLFields()...)...) }):
		return &faultError{"the programs would not be those that they should be"}
	}
	return nil
}

// lacks returns a part of the grant that a policy does not have, or "".
func (w *work) lacks(now *policy.Policy, g *config.Server) string {
	a, rules := w.accessOfGrant(g), w.rules(now)
	for _, r := range a.Fs {
		if !rules.RightsAt(w.placed(r.Path)).Has(r.Rights()) {
			return "the path " + show.Name(r.Path)
		}
	}
	after := *w
	after.was = now
	for _, r := range a.Net {
		if _, ok := after.hasNet(r); !ok {
			return "the host " + show.Name(r.Host)
		}
	}
	for _, r := range slices.Concat(a.Env, g.Variables) {
		if _, ok := after.hasEnv(r); !ok {
			return "the variable " + show.Name(r.Name)
		}
	}
	for _, r := range a.Inbound {
		if !slices.Contains(now.InboundPorts(), r.Port) {
			return fmt.Sprintf("the port %d", r.Port)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		if now.Commands != nil && !slices.ContainsFunc(now.Commands, func(r policy.CommandRule) bool { return r.Name == name }) {
			return "the program " + show.Name(name)
		}
	}
	for _, s := range settings(g) {
		if s.value != "" && !slices.ContainsFunc(now.Settings, func(o policy.Setting) bool { return o.Key == s.key && o.Value == s.value }) && slices.ContainsFunc(now.Settings, func(o policy.Setting) bool { return o.Key == s.key }) {
			return s.key + " = " + s.value
		}
	}
	return ""
}

// missing reports whether a rule of less is not among those of more.
func missing[T any](less, more []T, text func(T) string) bool {
	return slices.ContainsFunc(less, func(r T) bool {
		return !slices.ContainsFunc(more, func(o T) bool { return text(o) == text(r) })
	})
}

// forAll adds to an error that the tool has the rules of the table for all tools, which a table of its own
// would take away.
func forAll(w *work, err error) error {
	s := w.before.Servers[w.Change.Server]
	if w.Tool == "" || w.Remove || s == nil || s.Tools[w.Tool] != nil || s.Tools[config.AnyTool] == nil {
		return err
	}
	return fmt.Errorf("%w; the tool has the rules of the table for all tools, and would not with its own table: --tool '*' adds to that table", err)
}

// byHand returns the error that says what to write by hand.
func (w *work) byHand(g *config.Server, err error) error {
	where := w.File
	if s := w.before.Servers[w.Change.Server]; s != nil {
		where = s.Where
	}
	var all []string
	a := w.accessOfGrant(g)
	table := spelled(w.access(""))
	table = strings.TrimSuffix(table, `.""`)
	for _, r := range a.Fs {
		all = append(all, strings.Join(r.TOML(table), ", "))
	}
	for _, r := range a.Net {
		all = append(all, strings.Join(r.TOML(table), ", "))
	}
	for _, r := range a.Env {
		all = append(all, strings.Join(r.TOML(table), ", "))
	}
	for _, r := range a.Inbound {
		all = append(all, "[["+table+".inbound]], "+strings.Join(r.TOMLFields(), ", "))
	}
	for _, name := range w.variablesOfGrant(g) {
		all = append(all, "variables = [\""+name+"\"]")
	}
	for _, s := range settings(g) {
		if s.value != "" {
			all = append(all, s.key+" = "+s.value)
		}
	}
	return &ByHandError{where, strings.Join(all, "; "), w.Remove, err}
}
