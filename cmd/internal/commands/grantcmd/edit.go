package grantcmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Edit is a change of the file of one server that grows grant by grant. Nothing is written before Write.
type Edit struct {
	*server
	word   string // the name of the server, see index.Server
	host   hostfs.Host
	remove bool // the flags are taken away

	before  *config.ServerFile  // as it is now; a new one has no rules
	File    *config.ServerFile  // with the grants so far
	was     map[string]*checked // the policy of each tool before
	now     map[string]*checked // and with the grants so far
	tool    string              // which the next grant is about; "" is the whole server
	grants  config.Grants
	parts   []part
	setting *setting          // in place of grants
	asked   []change.Object   // with those that the server has already
	files   map[string]string // of variables, the files that have them
	notes   []string          // in words, what does not change
	left    []string          // what is not granted, in words
	shown   []string          // what was decided when the change was shown
	typed   bool              // the answer is typed at a terminal
	runs    bool              // a session of the server runs that can start it again
	runsAs  string            // what the policy of that is made from: see session.Target.Written; "" if it is not known
	kept    *diagnostics.Kept // how the policy of that differs from the one of the files; nil: it does not
}

// part is what is granted to one tool, or to the whole server.
type part struct {
	tool    string
	objects []change.Object
}

// setting is a change of the file that grants nothing: which tools are on, or a process for each call.
type setting struct {
	words []string                   // of the command
	set   func(*config.Server) error // makes the change
	then  string                     // when it holds
}

// Begin returns the change of the server that a word means, which has no grants yet.
func Begin(x *index.Index, word string) (*Edit, error) {
	s, err := find(x, word)
	if err != nil {
		return nil, err
	}
	e := &Edit{server: s, word: s.of.Name, host: x.Host}
	if err = e.begin(); err == nil {
		e.findRunning()
	}
	return e, err
}

// begin reads the file of the server, and the policy that it has now.
func (e *Edit) begin() error {
	var saved *config.ServerFile
	files, _ := config.ReadServers(e.host.ConfigDir)()
	if e.isLine() { // the words of a record may lack secrets, and so not lead to the file
		saved = e.among(files)
	}
	now, err := e.check(saved, "")
	if err != nil {
		return err
	}
	in := person{runtime.GOOS, e.host.Home, e.dir} // relative paths of a file are in the workspace
	if w := now.target.Policy.Workspace; w != "" {
		in.dir = in.absolute(w)
	}
	e.was = map[string]*checked{"": now}
	e.grants = config.Grants{At: in.absolute}
	switch e.before = saved; {
	case e.isTable():
		if e.before, err = now.target.Table().Checked(); err != nil {
			return err
		}
	case saved == nil:
		e.before = e.in(files)
	}
	e.Reset()
	return nil
}

// Reset takes all grants back.
func (e *Edit) Reset() {
	e.File, e.parts, e.now = e.before, nil, map[string]*checked{}
}

// in returns the file of the server among others, or a new one.
func (e *Edit) in(files []*config.ServerFile) *config.ServerFile {
	if f := e.among(files); f != nil {
		return f
	}
	made := &config.Server{Name: e.Name, ID: e.Key, Command: e.words[0], Arguments: e.words[1:]}
	return &config.ServerFile{Path: filepath.Join(e.host.ConfigDir, config.ServersDir, e.Name+".toml"), Server: made}
}

// Changed reports whether there is a grant.
func (e *Edit) Changed() bool { return len(e.parts) > 0 }

// At returns where the path of a grant leads.
func (e *Edit) At(path string) string { return session.ResolveLinks(e.grants.At(path)) }

// Short returns a path for people.
func (e *Edit) Short(path string) string { return show.Line(cli.ShortPath(path, e.host.Home)) }

// Whole returns an object as a file has it: with a whole path.
func (e *Edit) Whole(o change.Object) change.Object {
	if path, err := (person{e.host.OS, e.host.Home, e.grants.At(".")}).path(o.Fs.Path); o.Fs.Path != "" && o.Fs.Path != "." && err == nil {
		o.Fs.Path = path
	}
	return o
}

// use has the next grant be about a tool, or about the whole server for "".
func (e *Edit) use(tool string) (err error) {
	e.tool, e.grants.Tool = tool, tool
	if e.was[tool] == nil {
		if e.was[tool], err = e.check(e.before, tool); err != nil {
			return err
		}
	}
	if e.now[tool] == nil {
		e.now[tool] = e.was[tool]
		if len(e.parts) > 0 {
			e.now[tool], err = e.check(e.File, tool)
		}
	}
	return err
}

// Add grants an object, or takes it away. It reports whether that changes something.
func (e *Edit) Add(tool string, o change.Object) (isNew bool, err error) {
	by, err := e.add(tool, o)
	return by == "" && err == nil, err
}

// add is Add. It returns what grants the object already.
func (e *Edit) add(tool string, o change.Object) (by string, err error) {
	if err := e.use(tool); err != nil {
		return "", err
	}
	e.asked = append(e.asked, o)
	file, after, by, err := e.apply(o)
	if by != "" || err != nil {
		return by, err
	}
	if _, err := after.since(e.now[e.tool]); err != nil {
		return "", err
	}
	if !e.remove {
		if err := e.decider().Exact(after.target, o); err != nil {
			return "", fmt.Errorf("nothing was changed: %s is more than it says: %w", change.AsTyped(o.Words()), err)
		}
	}
	e.File, e.now = file, map[string]*checked{tool: after}
	at := slices.IndexFunc(e.parts, func(p part) bool { return p.tool == tool })
	if at < 0 {
		at, e.parts = len(e.parts), append(e.parts, part{tool: tool})
	}
	e.parts[at].objects = append(e.parts[at].objects, o)
	return "", nil
}

// decider returns what decides about changes of what the server has with the grants so far.
func (e *Edit) decider() *session.Decider {
	d := &session.Decider{Was: e.now[e.tool].target, At: e.grants.At}
	if e.others != nil {
		d.Others = func() []policy.Started { return e.others.Others(e.Key) }
	}
	return d
}

// rebuild makes the change to the file of the server as it is now. Others may have changed it since the change was shown,
// or what a path leads to: what was decided then has to hold.
func (e *Edit) rebuild() (*config.ServerFile, error) {
	again := &Edit{server: e.server, word: e.word, host: e.host, remove: e.remove, files: e.files}
	if err := again.begin(); err != nil {
		return nil, err
	}
	for _, p := range e.parts {
		for _, o := range p.objects {
			if _, err := again.add(p.tool, o); err != nil {
				return nil, err
			}
		}
	}
	if e.setting != nil {
		err := again.set(e.setting)
		return again.File, err
	}
	decided, err := again.decided()
	if err != nil {
		return nil, err
	}
	for _, text := range decided {
		if !slices.Contains(e.shown, text) {
			return nil, fmt.Errorf("nothing was changed: since it was shown, something has changed meanwhile: %s. Run it again", show.Line(text))
		}
	}
	return again.File, nil
}

// set makes a change of a setting.
func (e *Edit) set(to *setting) error {
	f, err := changed(e.File, func(s *config.Server) error {
		if err := to.set(s); err != nil {
			return terminal.UsageErrorf("nothing was changed: %s", err)
		}
		return nil
	})
	if err == nil {
		e.setting, e.File = to, f
	}
	return err
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
		e.now = map[string]*checked{}
		if err := e.use(p.tool); err != nil {
			return nil, err
		}
		beware, apart := e.judged(e.proposals(p.objects), false)
		all = slices.Concat(all, beware, apart)
		for _, o := range p.objects {
			if o.Fs.Path != "" {
				all = append(all, o.Fs.Path+" leads to "+e.At(o.Fs.Path))
			}
		}
	}
	return all, nil
}

// among returns the file of the server among others, or nil.
func (s *server) among(files []*config.ServerFile) *config.ServerFile {
	for _, f := range files {
		if f.Server.ID == s.Key {
			return f
		}
	}
	return nil
}

// tableOf returns objects as a table. A preset comes as its rules.
func (e *Edit) tableOf(objects []change.Object) (*config.Server, error) {
	i := slices.IndexFunc(objects, func(o change.Object) bool { return o.Setting.Key == "preset" })
	if i < 0 {
		return e.table(objects)
	}
	switch {
	case e.now[e.tool].target.Profile != nil:
	case e.now[e.tool].start != nil:
		return nil, refusal(e.now[e.tool].start)
	default:
		return nil, terminal.UsageErrorf("nothing was changed: whether the preset %s is for it shows when its package is there: start it once", policy.Abbreviate(objects[i].Setting.Value))
	}
	rules, err := session.PresetTable(e.now[e.tool].target, objects[i].Setting.Value)
	if err != nil {
		return nil, terminal.UsageErrorf("nothing was changed: --preset %s: %s", policy.Abbreviate(objects[i].Setting.Value), err)
	}
	rest, err := e.table(slices.Delete(slices.Clone(objects), i, i+1))
	if err == nil {
		_, err = config.Grants{Table: rest, At: e.grants.At}.AddTo(rules)
	}
	return rules, err
}

// apply returns the file with an object, or without it, and the policy that the server has then. by is what grants the
// object already: the policy is the same with it, and gives it wherever the server is started.
func (e *Edit) apply(o change.Object) (file *config.ServerFile, after *checked, by string, err error) {
	if e.grants.Table, err = e.tableOf([]change.Object{o}); err != nil {
		return nil, nil, "", err
	}
	if e.remove {
		file, after, err = e.without()
		return file, after, "", err
	}
	wanted := e.grants.Table
	file, after, err = e.with()
	now := e.now[e.tool]
	switch by := e.around(wanted); {
	case by != "" && (err != nil || after.files != nil && now.files == nil):
		return nil, nil, by, nil // a rule with fewer rights than the one around it is an error
	case err != nil || !e.isSame(now, after):
		return file, after, "", err
	}
	switch {
	case o.Fs.Path != "":
		r := wanted.Access.Fs[0]
		by, denied := now.gives(e.grants.At(r.Path), r.Rights())
		switch {
		case r.Rights() == 0:
			return file, after, denied, nil
		case denied != "":
			return nil, nil, "", terminal.UsageErrorf("nothing was changed: %s", &config.DenialError{Path: o.Fs.Path, Where: denied})
		}
		return file, after, by, nil
	case o.Net.Host != "":
		if rule, ok := policy.MatchNet(now.target.Policy.Net, wanted.Access.Net[0].Host, "", wanted.Access.Net[0].Ports()[0], "", ""); ok {
			return file, after, rule.Where, nil
		}
	case o.Env != "":
		if rule, ok := policy.MatchEnv(now.target.Policy.Env, o.Env); ok { // it may not be set
			return file, after, rule.Where, nil
		}
		return file, after, "", nil
	}
	return file, after, "the policy that it has", nil
}

// with returns the file with the grants, and the policy that the server has with it.
func (e *Edit) with() (file *config.ServerFile, after *checked, err error) {
	d := e.decider()
	d.Load = func(f *config.ServerFile) (*session.Target, error) {
		if after, err = e.check(f, e.tool); err != nil {
			return nil, err
		}
		return after.target, nil
	}
	switch file, _, err = d.With(e.File, e.grants); {
	case err == nil:
		return file, after, nil
	case file == nil:
		return nil, nil, terminal.UsageErrorf("nothing was changed: %s", err)
	}
	return nil, nil, refusal(err)
}

// without returns the file without the grants, and the policy that the server has then.
func (e *Edit) without() (*config.ServerFile, *checked, error) {
	if e.isTable() {
		return nil, nil, e.notThere(fmt.Errorf("mcp-jail does not change the table [servers.%s], which you wrote", show.Key(e.Key)))
	}
	file, err := changed(e.File, func(s *config.Server) error {
		if err := e.grants.TakeFrom(s); err != nil {
			return e.notThere(err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	after, err := e.check(file, e.tool)
	if err != nil {
		return nil, nil, refusal(err)
	}
	return file, after, nil
}

// isSame reports whether two policies come to the same on this host. Rules in place of the default policy hold beside flags,
// too.
func (e *Edit) isSame(now, after *checked) bool {
	was, is := now.target.Profile, after.target.Profile
	return was != nil && is != nil && was.Default == is.Default && len(change.Rows(was, is)) == 0 && len(e.rest(now, after)) == 0
}

// around returns the rule that gives what a rule for a path would, or "". At a sensitive path or a protected name the
// rules around it count for nothing.
func (e *Edit) around(table *config.Server) string {
	if table.Access == nil || len(table.Access.Fs) == 0 || table.Access.Fs[0].Rights() == 0 {
		return ""
	}
	r, host := table.Access.Fs[0], e.now[e.tool].target.Host
	at := session.ResolveLinks(e.grants.At(r.Path))
	by, denied := e.now[e.tool].gives(at, r.Rights())
	if denied != "" || resolve.Sensitive(&host, e.now[e.tool].target.Policy, at) != "" || hostfs.HasProtectedName(host.OS, at) {
		return ""
	}
	return by
}

// notThere returns the error about a rule that the file does not have.
func (e *Edit) notThere(err error) error {
	text := fmt.Sprintf("nothing was changed: %s: %s", show.Line(e.before.Path), err)
	a := e.grants.Table.Access
	if a == nil {
		return errors.New(text)
	}
	for _, r := range a.Fs {
		if by, _ := e.now[e.tool].gives(e.grants.At(r.Path), r.Rights()); by != "" && r.Rights() != 0 {
			return fmt.Errorf("%s. What gives it is  %s%s", text, show.Line(by), e.elsewhere(by))
		}
	}
	for _, r := range a.Net {
		if by, ok := policy.MatchNet(e.now[e.tool].target.Policy.Net, r.Host, "", r.Ports()[0], "", ""); ok && by.Allow {
			return fmt.Errorf("%s. What gives it is  %s%s", text, show.Line(by.Where), e.elsewhere(by.Where))
		}
	}
	return errors.New(text)
}

// elsewhere says that a rule is in no file that grant writes.
func (e *Edit) elsewhere(by string) string {
	if strings.HasPrefix(by, e.before.Path+":") && !e.isTable() {
		return ""
	}
	return ", which you wrote yourself: take it back there"
}
