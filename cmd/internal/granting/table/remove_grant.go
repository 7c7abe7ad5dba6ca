package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// remove takes back a grant. Where the default policy would come into force again, a list without
// rules keeps it away: the server must not get more.
func (w *work) remove(g *config.Server) error {
	if err := w.takeBack(g); err != nil {
		return err
	}
	now, err := w.Policy(w.text)
	if err != nil || !now.Default || w.was.Default || w.kept {
		return err
	}
	return w.addKey(w.access("fs"), "[]")
}

func (w *work) takeBack(g *config.Server) error {
	if err := w.removeSettings(g); err != nil {
		return err
	}
	a := w.accessOfGrant(g)
	for _, name := range w.variablesOfGrant(g) {
		own := w.wanted().Variables
		i := slices.IndexFunc(own, func(r policy.EnvRule) bool { return r.Name == name })
		if i < 0 {
			if err := w.stillEnv(name); err != nil {
				return err
			}
			continue
		}
		if err := w.removeItem(w.server("variables"), i, ""); err != nil {
			return err
		}
		w.wanted().Variables = slices.Delete(own, i, i+1)
	}
	for _, r := range a.Fs {
		if err := w.removeFs(r); err != nil {
			return err
		}
	}
	err := errors.Join(
		removeRules(w, "net", a.Net, func(t *config.Access) *[]policy.NetRule { return &t.Net }, func(a, b policy.NetRule) bool { return slices.Equal(a.TOMLFields(), b.TOMLFields()) }, w.stillNet),
		removeRules(w, "inbound", a.Inbound, func(t *config.Access) *[]policy.InboundRule { return &t.Inbound }, func(a, b policy.InboundRule) bool { return a.Port == b.Port }, w.stillInbound),
		removeRules(w, "env", a.Env, func(t *config.Access) *[]policy.EnvRule { return &t.Env }, func(a, b policy.EnvRule) bool { return a.Name == b.Name && a.Read == b.Read }, func(r policy.EnvRule) error { return w.stillEnv(r.Name) }))
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		err = errors.Join(err, w.removeCommand(name))
	}
	if err != nil {
		return err
	}
	return w.removeKept()
}

// removeRules removes rules from a list of the table.
func removeRules[T any](w *work, axis string, rules []T, of func(*config.Access) *[]T, same func(a, b T) bool, still func(T) error) error {
	for _, r := range rules {
		i := -1
		if a := w.accessOf(w.want); a != nil {
			i = slices.IndexFunc(*of(a), func(o T) bool { return same(o, r) })
		}
		if i < 0 {
			if err := still(r); err != nil {
				return err
			}
			continue
		}
		if err := w.removeItem(w.access(axis), i, ""); err != nil {
			return err
		}
		own := of(w.accessOf(w.want))
		*own = slices.Delete(*own, i, i+1)
	}
	return nil
}

func (w *work) notGranted(what string) error {
	return fmt.Errorf("%s is not granted to %s", what, show.Name(w.Change.Server))
}

func (w *work) stillEnv(name string) error {
	if r, ok := policy.MatchEnv(w.was.Env, name); ok && r.Read {
		w.grants(r.Where, "name = "+show.TOML(r.Name))
		return nil
	}
	return w.notGranted("the variable " + show.Name(name))
}

func (w *work) stillNet(r policy.NetRule) error {
	if by, ok := w.hasNet(r); ok {
		w.grants(by.Where, "host = "+show.TOML(by.Host))
		return nil
	}
	return w.notGranted("the host " + show.Name(r.Host))
}

func (w *work) stillInbound(r policy.InboundRule) error {
	for _, o := range w.was.Inbound {
		if o.Port == r.Port {
			w.grants(o.Where, fmt.Sprintf("port = %d", r.Port))
			return nil
		}
	}
	return w.notGranted(fmt.Sprintf("the port %d", r.Port))
}

// grants notes a rule by which the process still has what is taken back.
func (w *work) grants(where, rule string) {
	if text := strings.TrimPrefix(where+": ", ": ") + rule; !slices.Contains(w.still, text) {
		w.still = append(w.still, text)
	}
}

func (w *work) removeCommand(name string) error {
	a := w.accessOf(w.want)
	if a == nil || len(a.Commands[name]) != 1 {
		return w.notGranted("the program " + show.Name(name))
	}
	at := append(w.access("commands"), name)
	node, _ := w.root.Find(at)
	delete(a.Commands, name)
	if node.Inline {
		return w.removeKey(at)
	}
	return w.removeBlock(node, "")
}

// removeFs takes back rights at a path.
func (w *work) removeFs(r policy.FsRule) error {
	own := w.accessOf(w.want)
	i := -1
	if own != nil {
		i = w.lastRule(own.Fs, r.Path)
	}
	same := w.lastRule(w.was.Fs, r.Path)
	if i < 0 {
		around, by := w.around(r.Path)
		switch {
		case same >= 0 && w.was.Fs[same].Rights()&r.Rights() != 0:
			w.grants(w.was.Fs[same].Where, "path = "+show.TOML(w.was.Fs[same].Path))
		case same < 0 && around&r.Rights() != 0:
			w.grants(by.Where, "path = "+show.TOML(by.Path))
		default:
			return w.notGranted("the path " + show.Name(r.Path))
		}
		return nil
	}
	list := w.list(w.access("fs"))
	if list == nil || i >= len(list.Items) {
		return errForm
	}
	rule := own.Fs[i]
	around, by := w.around(r.Path)
	names, whole := takenKeys(list.Items[i], r.Rights())
	switch {
	case len(names) > 0 && !whole:
	case rule.Rights()&^(r.Rights()|around) == 0:
		names = nil
	default:
		if names = coveredKeys(list.Items[i], r.Rights()&^policy.Read); len(names) == 0 {
			return fmt.Errorf("%s: path = %s grants more than to read it: name all of it", rule.Where, show.TOML(rule.Path))
		}
	}
	if names != nil {
		return w.removeFields(i, names)
	}
	if err := w.removeItem(w.access("fs"), i, ""); err != nil {
		return err
	}
	own.Fs = slices.Delete(own.Fs, i, i+1)
	if again := w.lastRule(own.Fs, r.Path); again >= 0 && own.Fs[again].Rights()&r.Rights() != 0 {
		w.grants(own.Fs[again].Where, "path = "+show.TOML(own.Fs[again].Path))
	} else if again < 0 && around&r.Rights() != 0 {
		w.grants(by.Where, "path = "+show.TOML(by.Path))
	}
	return nil
}

var keyRights = map[string]policy.Rights{"read": policy.Read, "create": policy.Create, "update": policy.Update, "delete": policy.Delete, "write": policy.Write, "execute": policy.Execute}

// takenKeys returns the keys of a rule that a grant of rights has added to it. whole says that the rule
// is as a grant writes a new one.
func takenKeys(item *toml.Node, rights policy.Rights) (names []string, whole bool) {
	within := func(name string) bool { return item.Table[name].Bool && rights.Has(keyRights[name]) }
	path := slices.Index(item.Keys, "path")
	for _, name := range item.Keys[:max(path, 0)] {
		if slices.Contains(keyOrder, name) && within(name) {
			names = append(names, name)
		}
	}
	all := rightsOf(item)
	if len(names) > 0 || isNew(all) {
		return names, len(names) == 0 || len(names) == len(all)
	}
	for k, name := range all {
		if !within(name) || k > 0 && !isNew(all[k-1:k+1]) {
			break
		}
		names = append(names, name)
	}
	return names, len(names) == len(all)
}

func coveredKeys(item *toml.Node, rights policy.Rights) (names []string) {
	for _, name := range rightsOf(item) {
		if item.Table[name].Bool && rights.Has(keyRights[name]) {
			names = append(names, name)
		}
	}
	return names
}

// removeFields removes rights of a rule.
func (w *work) removeFields(i int, names []string) error {
	for _, name := range names {
		item := w.list(w.access("fs")).Items[i]
		value := item.Table[name]
		var err error
		if item.Inline {
			err = w.removeMember(item, value)
		} else if _, alone := w.indent(value.Key.Start); alone && w.document.before(value.Key.Start) > 0 {
			err = w.change(splice{w.document.before(value.Key.Start), w.lineEnd(value.End), ""})
		} else {
			err = errForm
		}
		if err != nil {
			return err
		}
		rule := &w.accessOf(w.want).Fs[i]
		*rule = withRights(*rule, rule.Rights()&^keyRights[name])
	}
	return nil
}

// isKept reports whether a rule is the one that keeps the workspace.
func isKept(item *toml.Node) bool {
	return slices.Equal(item.Keys, []string{"path", "write", "read"}) && item.Table["path"].Text == "." && item.Table["write"].Bool && item.Table["read"].Bool
}

// keptAt returns the index of the rule that keeps the workspace, or -1.
func (w *work) keptAt() int {
	list := w.list(w.access("fs"))
	if list == nil || list.Kind != toml.Array {
		return -1
	}
	return slices.IndexFunc(list.Items, isKept)
}

// removeKept removes the rule that keeps the workspace if no other is left.
func (w *work) removeKept() error {
	i := w.keptAt()
	a := w.accessOf(w.want)
	if i < 0 || a == nil || len(a.Fs) != 1 || len(a.Net)+len(a.Inbound)+len(a.Env) > 0 || a.Commands != nil {
		return nil
	}
	w.kept = true
	if err := w.removeItem(w.access("fs"), i, keptComment); err != nil {
		return err
	}
	a.Fs = nil
	return w.removeBraces(w.access("fs"))
}

// removeBraces removes the tables around a key that has been removed, if they are braces around nothing:
// they were made for it.
func (w *work) removeBraces(path []string) error {
	for ; len(path) > 3; path = path[:len(path)-1] {
		at, rest := w.root.Find(path[:len(path)-1])
		if len(rest) > 0 || !at.Inline || len(at.Keys) > 0 {
			break
		}
		if err := w.removeKey(path[:len(path)-1]); err != nil {
			return err
		}
	}
	return nil
}
