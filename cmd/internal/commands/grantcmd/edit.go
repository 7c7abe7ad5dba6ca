package grantcmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Edit is what is wanted of a server: a change of its file that grows grant by grant. Nothing is written before Write.
type Edit struct {
	*base
	remove  bool              // the flags are taken away
	files   map[string]string // of variables, the files that have them
	now     *version          // with the grants so far
	parts   []*part
	setting *setting // in place of grants
	notes   []string // in words, what does not change
}

// part is what is wanted for one tool, or for the whole server.
type part struct {
	tool  string
	asked []change.Object // with those that it has already
	added []change.Object
}

// Begin returns the change of the server that a word means, which has no grants yet.
func Begin(x *index.Index, word string) (*Edit, error) {
	s, err := find(x, word)
	if err != nil {
		return nil, err
	}
	b, err := s.read()
	if err != nil {
		return nil, err
	}
	b.findRunning()
	e := &Edit{base: b}
	e.Reset()
	return e, nil
}

// Reset takes all grants back.
func (e *Edit) Reset() { e.now, e.parts = e.was, nil }

// File returns the file with the grants so far.
func (e *Edit) File() *config.ServerFile { return e.now.ServerFile }

// Changed reports whether there is a grant.
func (e *Edit) Changed() bool {
	return slices.ContainsFunc(e.parts, func(p *part) bool { return len(p.added) > 0 })
}

// asked returns all that is wanted, with what is there.
func (e *Edit) asked() (all []change.Object) {
	for _, p := range e.parts {
		all = append(all, p.asked...)
	}
	return all
}

// both returns the policy of a tool before the grants and with them.
func (e *Edit) both(tool string) (before, after *checked, err error) {
	if before, err = e.was.of(tool); err == nil {
		after, err = e.now.of(tool)
	}
	return before, after, err
}

// Add grants an object, or takes it away. It returns what grants the object already, or "".
func (e *Edit) Add(tool string, o change.Object) (by string, err error) {
	now, err := e.now.of(tool)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(e.parts, func(p *part) bool { return p.tool == tool })
	if at < 0 {
		at, e.parts = len(e.parts), append(e.parts, &part{tool: tool})
	}
	p := e.parts[at]
	p.asked = append(p.asked, o)
	file, after, by, err := e.apply(now, o)
	if by != "" || err != nil {
		return by, err
	}
	if _, err := after.since(now); err != nil {
		return "", err
	}
	if !e.remove {
		if err := e.decider(now).Exact(after.target, o); err != nil {
			return "", fmt.Errorf("nothing was changed: %s is more than it says: %w", change.AsTyped(o.Words()), err)
		}
	}
	e.now = e.now.with(file, after)
	p.added = append(p.added, o)
	return "", nil
}

// rebuild makes the change to the file of the server as it is now. Others may have changed it since the change was shown,
// or what a path leads to: what is decided now has to be among what was decided then.
func (e *Edit) rebuild(shown []string) (*config.ServerFile, error) {
	b, err := e.read()
	if err != nil {
		return nil, err
	}
	again := &Edit{base: b, remove: e.remove, files: e.files}
	again.Reset()
	for _, p := range e.parts {
		for _, o := range p.added {
			if _, err := again.Add(p.tool, o); err != nil {
				return nil, err
			}
		}
	}
	if e.setting != nil {
		err := again.set(e.setting)
		return again.File(), err
	}
	decided, err := again.decided()
	if err != nil {
		return nil, err
	}
	for _, text := range decided {
		if !slices.Contains(shown, text) {
			return nil, fmt.Errorf("nothing was changed: since it was shown, something has changed meanwhile: %s. Run it again", show.Line(text))
		}
	}
	return again.File(), nil
}

// changed returns a file with a change of its table, as it is read when it has been written.
func changed(f *config.ServerFile, change func(*config.Server) error) (*config.ServerFile, error) {
	f, err := f.Checked()
	if err == nil {
		err = change(f.Server)
	}
	if err != nil {
		return nil, err
	}
	if f, err = f.Checked(); err != nil {
		return nil, refusal(err)
	}
	return f, nil
}

// decided returns what is decided about the objects, and where their paths lead, in words.
func (e *Edit) decided() (all []string, err error) {
	for _, p := range e.parts {
		before, after, err := e.both(p.tool)
		if err != nil {
			return nil, err
		}
		beware, apart := e.judged(e.proposals(before, after, p.added), false)
		all = slices.Concat(all, beware, apart)
		for _, o := range p.added {
			if o.Fs.Path != "" {
				all = append(all, o.Fs.Path+" leads to "+e.At(o.Fs.Path))
			}
		}
	}
	return all, nil
}

// tableOf returns objects as a table. A preset comes as its rules.
func (e *Edit) tableOf(tool string, objects []change.Object) (*config.Server, error) {
	i := slices.IndexFunc(objects, func(o change.Object) bool { return o.Setting.Key == "preset" })
	if i < 0 {
		return e.table(objects)
	}
	now, err := e.now.of(tool)
	switch {
	case err != nil:
		return nil, err
	case now.target.Profile != nil:
	case now.start != nil:
		return nil, refusal(now.start)
	default:
		return nil, terminal.UsageErrorf("nothing was changed: whether the preset %s is for it shows when its package is there: start it once", policy.Abbreviate(objects[i].Setting.Value))
	}
	rules, err := session.PresetTable(now.target, objects[i].Setting.Value)
	if err != nil {
		return nil, terminal.UsageErrorf("nothing was changed: --preset %s: %s", policy.Abbreviate(objects[i].Setting.Value), err)
	}
	rest, err := e.table(slices.Delete(slices.Clone(objects), i, i+1))
	if err == nil {
		_, err = config.Grants{Table: rest, At: e.at}.AddTo(rules)
	}
	return rules, err
}

// apply returns the file with an object, or without it, and the policy that the server has then. by is what grants the
// object already: the policy is the same with it, and gives it wherever the server is started.
func (e *Edit) apply(now *checked, o change.Object) (file *config.ServerFile, after *checked, by string, err error) {
	table, err := e.tableOf(now.tool, []change.Object{o})
	if err != nil {
		return nil, nil, "", err
	}
	if e.remove {
		file, after, err = e.without(now, table)
		return file, after, "", err
	}
	file, after, err = e.with(now, table)
	switch by := e.covering(now, table); {
	case by != "" && (err != nil || after.files != nil && now.files == nil):
		return nil, nil, by, nil // a rule with fewer rights than the one around it is an error
	case err != nil || !e.isSame(now, after):
		return file, after, "", err
	}
	by, err = e.given(now, table, o)
	return file, after, by, err
}

// given returns the rule of a policy that gives an object which changes nothing of it, or "". At a denial nothing can.
func (b *base) given(now *checked, table *config.Server, o change.Object) (string, error) {
	switch {
	case o.Fs.Path != "":
		r := table.Access.Fs[0]
		by, denied := now.gives(b.at(r.Path), r.Rights())
		if r.Rights() == 0 {
			return denied, nil
		}
		if denied != "" {
			return "", terminal.UsageErrorf("nothing was changed: %s", &config.DenialError{Path: o.Fs.Path, Where: denied})
		}
		return by, nil
	case o.Net.Host != "":
		if rule, ok := policy.MatchNet(now.target.Policy.Net, table.Access.Net[0].Host, "", table.Access.Net[0].Ports()[0], "", ""); ok {
			return rule.Where, nil
		}
	case o.Env != "":
		if rule, ok := policy.MatchEnv(now.target.Policy.Env, o.Env); ok { // it may not be set
			return rule.Where, nil
		}
		return "", nil
	}
	return "the policy that it has", nil
}

// with returns the file with a table of grants, and the policy that the server has with it.
func (e *Edit) with(now *checked, table *config.Server) (file *config.ServerFile, after *checked, err error) {
	d := e.decider(now)
	d.Load = func(f *config.ServerFile) (*session.Target, error) {
		if after, err = e.check(f, now.tool); err != nil {
			return nil, err
		}
		return after.target, nil
	}
	switch file, _, err = d.With(e.File(), config.Grants{Tool: now.tool, Table: table, At: e.at}); {
	case err == nil:
		return file, after, nil
	case file == nil:
		return nil, nil, terminal.UsageErrorf("nothing was changed: %s", err)
	}
	return nil, nil, refusal(err)
}

// without returns the file without a table of grants, and the policy that the server has then.
func (e *Edit) without(now *checked, table *config.Server) (*config.ServerFile, *checked, error) {
	if e.isTable() {
		return nil, nil, e.notThere(now, table, fmt.Errorf("mcp-jail does not change the table [servers.%s], which you wrote", show.Key(e.Key)))
	}
	file, err := changed(e.File(), func(s *config.Server) error {
		if err := (config.Grants{Tool: now.tool, Table: table, At: e.at}).TakeFrom(s); err != nil {
			return e.notThere(now, table, err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	after, err := e.check(file, now.tool)
	if err != nil {
		return nil, nil, refusal(err)
	}
	return file, after, nil
}

// isSame reports whether two policies come to the same on this host. Rules in place of the default policy hold beside flags,
// too.
func (b *base) isSame(now, after *checked) bool {
	was, is := now.target.Profile, after.target.Profile
	return was != nil && is != nil && was.Default == is.Default && len(change.Rows(was, is)) == 0 && len(b.rest(now, after)) == 0
}

// covering returns the rule that gives what a rule for a path would, or "". At a sensitive path or a protected name the
// rules around it count for nothing.
func (b *base) covering(now *checked, table *config.Server) string {
	if table.Access == nil || len(table.Access.Fs) == 0 || table.Access.Fs[0].Rights() == 0 {
		return ""
	}
	r, host := table.Access.Fs[0], now.target.Host
	at := session.ResolveLinks(b.at(r.Path))
	by, denied := now.gives(at, r.Rights())
	if denied != "" || resolve.Sensitive(&host, now.target.Policy, at) != "" || hostfs.HasProtectedName(host.OS, at) {
		return ""
	}
	return by
}

// notThere returns the error about a rule that the file does not have.
func (e *Edit) notThere(now *checked, table *config.Server, err error) error {
	text := fmt.Sprintf("nothing was changed: %s: %s", show.Line(e.was.Path), err)
	a := table.Access
	if a == nil {
		return errors.New(text)
	}
	gives := ""
	for _, r := range a.Fs {
		if by, _ := now.gives(e.at(r.Path), r.Rights()); r.Rights() != 0 {
			gives = cmp.Or(gives, by)
		}
	}
	for _, r := range a.Net {
		if by, ok := policy.MatchNet(now.target.Policy.Net, r.Host, "", r.Ports()[0], "", ""); ok && by.Allow {
			gives = cmp.Or(gives, by.Where)
		}
	}
	if gives != "" {
		text += ". What gives it is  " + show.Line(gives)
	}
	if gives != "" && (e.isTable() || !strings.HasPrefix(gives, e.was.Path+":")) { // it is in no file that grant writes
		text += ", which you wrote yourself: take it back there"
	}
	return errors.New(text)
}

// takenAway returns what of some grants a trusted project's file takes away where the server starts, or where the user is,
// in words.
func (e *Edit) takenAway(tool string, objects []change.Object) string {
	defer goTo(cmp.Or(e.dir, e.host.Dir))()
	t, err := e.load(e.File(), tool)
	if err != nil || t.Policy.Narrow == nil || e.remove {
		return ""
	}
	asked, err := e.tableOf(tool, objects)
	if err != nil || asked.Access == nil {
		return ""
	}
	a := asked.Access
	where, both, lacks := t.Policy.Narrow.Where, &checked{target: t}, []string{}
	t.Policy = t.Policy.Narrowed()
	both.placed, _, _ = resolve.CheckFiles(t.Policy, t.Host)
	for _, r := range a.Fs {
		if by, denied := both.gives(e.at(r.Path), r.Rights()); r.Rights() != 0 && (by == "" || denied != "") {
			lacks = append(lacks, r.Path)
		}
	}
	for _, r := range a.Net {
		if by, _ := policy.MatchNet(t.Policy.Net, r.Host, "", r.Ports()[0], "", ""); r.Allow && !by.Allow {
			lacks = append(lacks, r.Host)
		}
	}
	for _, r := range a.Env {
		if by, _ := policy.MatchEnv(t.Policy.Env, r.Name); r.Read && !by.Read {
			lacks = append(lacks, r.Name)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("not in force in %s: %s, which you trusted, takes away  %s", show.Line(cli.ShortPath(t.Host.Dir, e.host.Home)), show.Line(cli.ShortPath(where, e.host.Home)), show.Line(strings.Join(lacks, ", ")))
}
