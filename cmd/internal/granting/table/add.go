package table

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// keptFields are those of the rule that keeps the workspace of the default policy.
var keptFields = []string{`path = "."`, "write = true", "read = true"}

const keptComment = "# from the default policy, which a table of access replaces"

func keptRule() policy.FsRule {
	r := policy.DefaultFsRules()[0]
	r.Where = ""
	return r
}

func (w *work) add(g *config.Server) error {
	if err := w.addSettings(g); err != nil {
		return err
	}
	for _, name := range w.variablesOfGrant(g) {
		if r, ok := policy.MatchEnv(w.was.Env, name); ok && r.Read {
			w.has(r.Where, "name = "+show.TOML(r.Name))
			continue
		}
		if err := w.addText(w.server("variables"), name); err != nil {
			return err
		}
		w.wanted().Variables = append(w.wanted().Variables, policy.EnvRule{Name: name, Read: true})
	}
	a := w.accessOfGrant(g)
	for _, r := range a.Fs {
		if err := w.addFs(r); err != nil {
			return err
		}
	}
	for _, r := range a.Net {
		if by, ok := w.hasNet(r); ok {
			w.has(by.Where, "host = "+show.TOML(by.Host))
			continue
		}
		if err := w.addRule("net", r.TOMLFields()); err != nil {
			return err
		}
		r.Where = ""
		w.wantedAccess().Net = append(w.wantedAccess().Net, r)
	}
	return w.addOthers(a)
}

func (w *work) addOthers(a config.Access) error {
	for _, r := range a.Inbound {
		if i := slices.IndexFunc(w.was.Inbound, func(o policy.InboundRule) bool { return o.Port == r.Port }); i >= 0 {
			w.has(w.was.Inbound[i].Where, "port = "+strconv.Itoa(r.Port))
			continue
		}
		if err := w.addRule("inbound", r.TOMLFields()); err != nil {
			return err
		}
		w.wantedAccess().Inbound = append(w.wantedAccess().Inbound, policy.InboundRule{Port: r.Port})
	}
	for _, r := range a.Env {
		if by, ok := w.hasEnv(r); ok {
			w.has(by.Where, "name = "+show.TOML(by.Name))
			continue
		}
		if err := w.addRule("env", r.TOMLFields()); err != nil {
			return err
		}
		w.wantedAccess().Env = append(w.wantedAccess().Env, policy.EnvRule{Name: r.Name, Read: r.Read})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		if err := w.addCommand(name, a.Commands[name]); err != nil {
			return err
		}
	}
	return nil
}

// has notes a rule by which the process has a part of the grant already.
func (w *work) has(where, rule string) {
	w.already = append(w.already, strings.TrimPrefix(where+": ", ": ")+rule)
}

func (w *work) hasNet(r policy.NetRule) (by policy.NetRule, ok bool) {
	for _, o := range w.was.Net {
		if slices.Equal(o.TOMLFields(), r.TOMLFields()) {
			by, ok = o, true
		}
	}
	if ok || r.Scheme+r.PathPrefix != "" || r.Methods != nil || r.Secrets != nil || strings.HasPrefix(r.Host, "*") {
		return by, ok
	}
	for _, port := range r.Ports() {
		if by, ok = policy.MatchNet(w.was.Net, r.Host, "", port, "", ""); !ok || !by.Allow {
			return by, false
		}
	}
	return by, ok
}

func (w *work) hasEnv(r policy.EnvRule) (by policy.EnvRule, ok bool) {
	if !strings.HasSuffix(r.Name, "*") {
		by, ok = policy.MatchEnv(w.was.Env, r.Name)
		return by, ok && by.Read == r.Read
	}
	i := slices.IndexFunc(w.was.Env, func(o policy.EnvRule) bool { return o.Name == r.Name && o.Read == r.Read })
	if i < 0 {
		return by, false
	}
	return w.was.Env[i], true
}

// addRule adds a rule to a list of the table, and before it the rule that keeps the workspace.
func (w *work) addRule(axis string, fields []string) error {
	if err := w.keep(); err != nil {
		return err
	}
	return w.addTable(w.access(axis), fields, "")
}

// keep adds the rule that keeps the workspace, where a table of access would take away the default
// policy. In a home directory it grants more than that policy does: Result.Keeps says so.
func (w *work) keep() error {
	if !w.was.Default || w.kept {
		return nil
	}
	w.kept = true
	w.wantedAccess().Fs = append(w.wantedAccess().Fs, keptRule())
	return w.addTable(w.access("fs"), keptFields, keptComment)
}

// addFs grants rights at a path.
func (w *work) addFs(r policy.FsRule) error {
	r.Where = ""
	same := w.lastRule(w.was.Fs, r.Path)
	var has policy.Rights
	if same >= 0 {
		has = w.was.Fs[same].Rights()
	}
	if same >= 0 && (r.Rights() == 0 && has == 0 || r.Rights() != 0 && has.Has(r.Rights())) {
		w.has(w.was.Fs[same].Where, "path = "+show.TOML(w.was.Fs[same].Path))
		return nil
	}
	if r.Rights() == 0 {
		if has != 0 {
			return fmt.Errorf("%s grants the path that is to be refused: take that back first", w.was.Fs[same].Label())
		}
		return w.addFsRule(r)
	}
	around, at := w.around(r.Path)
	if same < 0 && around.Has(r.Rights()) {
		w.has(at.Where, "path = "+show.TOML(at.Path))
		return nil
	}
	if w.was.Default && same >= 0 { // it is the rule for the workspace
		if err := w.keep(); err != nil {
			return err
		}
	}
	if done, err := w.widen(r, same); done || err != nil {
		return err
	}
	if same >= 0 {
		around = has
	}
	return w.addFsRule(withRights(r, r.Rights()|around))
}

func (w *work) addFsRule(r policy.FsRule) error {
	if err := w.addRule("fs", r.TOMLFields()); err != nil {
		return err
	}
	w.wantedAccess().Fs = append(w.wantedAccess().Fs, r)
	return nil
}

func withRights(r policy.FsRule, rights policy.Rights) policy.FsRule {
	r.Read, r.Create, r.Update, r.Delete, r.Execute = rights.Has(policy.Read), rights.Has(policy.Create), rights.Has(policy.Update), rights.Has(policy.Delete), rights.Has(policy.Execute)
	return r
}

// around returns the rights that a rule around a path gives there, and that rule. What is hidden or
// protected in a grant is not among them.
func (w *work) around(p string) (rights policy.Rights, by policy.FsRule) {
	rules, at := w.rules(w.was), w.placed(p)
	best := -1
	for dir := at; best < 0 && dir != path.Dir(dir); {
		dir = path.Dir(dir)
		for i, r := range rules.Paths {
			if r == dir {
				best = i
			}
		}
	}
	if best < 0 || w.Hidden != nil && w.Hidden(p) {
		return 0, by
	}
	by = rules.Policy.Fs[best]
	rights = by.Rights()
	if policy.HasProtectedName(at) {
		rights &^= policy.Write
	}
	return rights, by
}

// widen gives the rule of the file for the same path the rights that it lacks. A rule that refuses
// something stays as it is, and a new one comes after it.
func (w *work) widen(r policy.FsRule, same int) (done bool, err error) {
	own := w.accessOf(w.want)
	if same < 0 || own == nil {
		return false, nil
	}
	i := w.lastRule(own.Fs, r.Path)
	list := w.list(w.access("fs"))
	if i < 0 || list == nil || i >= len(list.Items) || own.Fs[i].Rights() == 0 || own.Fs[i].Where != w.was.Fs[same].Where && !isKept(list.Items[i]) {
		return false, nil
	}
	item := list.Items[i]
	missing := r.Rights() &^ own.Fs[i].Rights()
	names := rightKeys(missing)
	for _, name := range item.Keys {
		if item.Table[name].Kind == toml.Bool && !item.Table[name].Bool || slices.Contains(names, name) {
			return false, nil
		}
	}
	var fields []string
	for _, name := range names {
		fields = append(fields, name+" = true")
	}
	if err := w.addFields(item, fields, isNew(slices.Concat(names, rightsOf(item)))); err != nil {
		return true, err
	}
	rule := &w.wantedAccess().Fs[i]
	*rule = withRights(*rule, rule.Rights()|missing)
	return true, nil
}

// rightKeys returns the keys that grant rights, in the order in which a new rule has them.
func rightKeys(rights policy.Rights) []string {
	return strings.Fields(strings.Replace(rights.String(), "nothing", "", 1))
}

var keyOrder = []string{"read", "create", "update", "delete", "write", "execute"}

// isNew reports whether keys have the order of a new rule.
func isNew(keys []string) bool {
	return slices.IsSortedFunc(keys, func(a, b string) int { return slices.Index(keyOrder, a) - slices.Index(keyOrder, b) })
}

// rightsOf returns the keys of a rule that say rights, in their order.
func rightsOf(item *toml.Node) (names []string) {
	for _, name := range item.Keys {
		if slices.Contains(keyOrder, name) {
			names = append(names, name)
		}
	}
	return names
}

// addFields adds rights to a rule: after its path, or before it, if the order would be that of a new
// rule.
func (w *work) addFields(item *toml.Node, fields []string, before bool) error {
	at := item.Table["path"]
	if at == nil {
		return errForm
	}
	if item.Inline {
		text := strings.Join(fields, ", ")
		if before {
			return w.change(splice{at.Key.Start, at.Key.Start, text + ", "})
		}
		return w.change(splice{at.End, at.End, ", " + text})
	}
	indent, alone := w.indent(at.Key.Start)
	if !alone {
		return errForm
	}
	end := w.lineEnd(at.End)
	if before {
		end = w.document.before(at.Key.Start)
	}
	text := ""
	for _, f := range fields {
		text += w.nl + indent + f
	}
	return w.change(splice{end, end, text})
}

// addCommand adds a program to a list of those that may be started.
func (w *work) addCommand(name string, rules []policy.CommandRule) error {
	if w.was.Commands == nil {
		w.already = append(w.already, "any program may be started")
		return nil
	}
	for _, r := range w.was.Commands {
		if r.Name == name && (r.Args == nil && r.Envs == nil || len(rules) == 1 && rules[0].Equal(r)) {
			w.has(r.Where, "commands."+show.Key(name))
			return nil
		}
	}
	at := append(w.access("commands"), name)
	if slices.ContainsFunc(w.was.Commands, func(r policy.CommandRule) bool { return r.Name == name }) || len(rules) != 1 {
		return fmt.Errorf("%w: the program %s has a rule", errForm, show.Name(name))
	}
	fields := rules[0].TOMLFields()
	var err error
	if w.takesHeader(at) {
		err = w.addBlock("["+spelled(at)+"]", at, fields, "")
	} else {
		err = w.addKey(at, strings.Replace("{ "+strings.Join(fields, ", ")+" }", "{  }", "{}", 1))
	}
	if a := w.wantedAccess(); err == nil {
		if a.Commands == nil {
			a.Commands = map[string][]policy.CommandRule{}
		}
		rules[0].Where = ""
		a.Commands[name] = rules
	}
	return err
}
