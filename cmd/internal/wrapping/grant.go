package wrapping

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Grant is what an entry gets in the jail.
type Grant struct {
	Flags    []string // of mcp-jail run, which grant the same
	Preset   string   // "" if there is none
	Gets     []string // in words, beyond what every server gets
	Remarks  []string // clauses about Gets
	Careful  []string // sentences about Gets that the user must read before he agrees
	Fails    []string // why it cannot start here, with a jail or without
	Notes    []string // what the user can do to have the server work, or work better
	Unpinned bool     // its line fetches a package that mcp-jail cannot pin

	unasked bool           // see Selection
	refused clients.Reason // why the server would not start with the preset, or ""
}

// grantOf returns what an entry gets, from what the entry itself shows. fromFile are the
// variables of its file of variables, and note says why they are not granted. An entry that others may have
// written gets the default policy.
func grantOf(c clients.Client, s Entry, host clients.Host, fromFile []string, note string, unasked bool) (g Grant) {
	g.unasked = unasked
	line, err := runline.Parse(s.Argv())
	args := s.Args
	if err == nil {
		args = line.Args
	}
	var unclear *runline.NotUnderstoodError
	g.Unpinned = errors.As(err, &unclear) || len(meaning.Fetched(s.Argv())) > 0
	g.noteStart(c, s, host)
	dir := g.startDir(c, s, host)
	server := &config.Server{Name: "server", Command: "x"}
	if s.isProject() {
		g.withholdAll(s, append(meaning.Names(c, s.arguments(args, host), host), meaning.Names(c, s.variableWords(host), host)...), fromFile, host)
	} else {
		if note != "" {
			g.Notes = append(g.Notes, note)
		}
		g.addShown(server, c, s, host, args, fromFile, dir)
	}
	g.noteHidden(s, args, dir, host)
	if word := slices.IndexFunc(args, func(a string) bool { return a == "~" || strings.HasPrefix(a, "~/") }); word >= 0 && !c.Tilde {
		g.Notes = append(g.Notes, "~ is not replaced in arguments: the server gets "+args[word]+" as it is written; a server that replaces it itself finds its own HOME; write '"+host.Home+strings.TrimPrefix(args[word], "~")+"' into the entry before you wrap it")
	}
	g.describe(server, s, g.checkFiles(server, dir, host), dir != "", host.Home)
	return g
}

// withholdAll notes what an entry of others names: nothing of it is granted.
func (g *Grant) withholdAll(s Entry, found []meaning.Named, fromFile []string, host clients.Host) {
	var names, words []string
	for _, n := range found {
		switch p, err := decide(objectOf(n), change.Foreign, host); {
		case n.Why != "":
		case err != nil || p.Verdict() <= change.Apart:
			g.Notes = append(g.Notes, notGranted(p, err, n.Said, s.Server))
		case n.Host == "" && host.Project != host.Home && hostfs.Within(host.OS, n.Path, host.Project):
			// It lies in the project folder, which the server gets.
		default:
			names, words = append(names, p.Object.Name()), append(words, p.Object.Words()...)
		}
	}
	for _, name := range append(s.EnvNames(), fromFile...) {
		if !g.canHave(name) {
			continue
		}
		names, words = append(names, name), append(words, "--env", name)
	}
	if len(names) > 0 {
		g.Remarks = append(g.Remarks, "but not "+listed(names)+", which it names")
		g.Notes = append(g.Notes, "it does not get what it names ("+listed(names)+"), because others may have written its file. To allow them:  "+show.Spelled(append([]string{"mcp-jail", "grant", s.Server}, words...)))
	}
}

// objectOf returns what is granted of a thing that a word names: a host at its port, or a path to read.
func objectOf(n meaning.Named) change.Object {
	if n.Host != "" {
		return change.Object{Net: policy.NetRule{Host: n.Host, Port: n.Port, Allow: true}}
	}
	return change.Path(n.Path, policy.Read)
}

// decide decides about what an entry names. With an error nothing is known of it, and it is not granted.
func decide(o change.Object, from change.Source, host clients.Host) (change.Proposal, error) {
	w := change.Want{Source: from, Object: o}
	local, defaults, err := meaning.LocalPolicy(host)
	switch {
	case err != nil:
		return change.Proposal{Want: w}, fmt.Errorf("what it holds is not known (%w)", err)
	case o.Net.Host != "":
		return change.Judge(w, resolve.ReasonsOfHost(&local, o.Net), nil), nil
	}
	return change.Judge(w, resolve.Reasons(&local, defaults, o.At(), o.Fs.Rights()), nil), nil
}

// notGranted is the note about what is not proposed, with the command that grants it.
func notGranted(p change.Proposal, err error, said, server string) string {
	why := p.Because("it")
	if err != nil {
		why = err.Error()
	}
	return said + " is not granted: " + why + ". To allow it all the same:  " + typed(server, p.Object)
}

func typed(server string, o change.Object) string {
	return show.Spelled(append([]string{"mcp-jail", "grant", server}, o.Words()...))
}

// gets reports whether a server gets what the user's own entry names, and says what there is to know about that.
func (g *Grant) gets(o change.Object, said, server string, host clients.Host) bool {
	p, err := decide(o, change.Entry, host)
	switch v := p.Verdict(); {
	case v < change.Ask:
		g.Notes = append(g.Notes, notGranted(p, err, said, server))
		return false
	case v == change.Ask && g.unasked:
		g.Notes = append(g.Notes, p.Because(said)+". Without a question it is not allowed:  "+typed(server, o))
		return false
	case v == change.Ask:
		g.Careful = append(g.Careful, p.Because(said))
	}
	return true
}

// addShown adds what the user's own entry shows: the preset of its package, its variables, and paths.
func (g *Grant) addShown(server *config.Server, c clients.Client, s Entry, host clients.Host, args, fromFile []string, dir string) {
	names := slices.DeleteFunc(s.EnvNames(), func(name string) bool { return name == "HOME" }) // a server's is its own
	for _, name := range fromFile {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if p, ok := presets.ForLine(s.Argv()); ok {
		e := s.asPreset(p, host)
		for _, name := range fromFile {
			e.Env[name] = ""
		}
		names = g.usePreset(server, p, e, s, host)
	} else {
		g.addNamed(server, meaning.Names(c, s.arguments(args, host), host), dir, s, host)
		g.noteRelative(s)
	}
	g.addNames(server, names)
	g.addNamed(server, meaning.Names(c, s.variableWords(host), host), dir, s, host)
	for _, w := range s.variableWords(host) {
		g.noteHost(server, w, s.Server)
	}
}

// noteHost notes the host of a URL in a variable: it may be another one than that of the server's service, so it is not granted.
func (g *Grant) noteHost(server *config.Server, w meaning.Word, name string) {
	u, err := url.Parse(w.Text)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return
	}
	n := meaning.Named{Host: strings.ToLower(u.Hostname())}
	n.Port, _ = strconv.Atoi(u.Port())
	ip := net.ParseIP(n.Host)
	if policy.CheckNetRule(objectOf(n).Net) != nil || has(server.Access, n) || n.Host == "localhost" || ip != nil && ip.IsLoopback() {
		return
	}
	g.Notes = append(g.Notes, w.Variable+" names "+n.Host+", which it may not reach. To allow it:  "+typed(name, objectOf(n)))
}

// arguments returns the arguments of a server without the script among them that an interpreter runs: mcp-jail
// grants that by itself.
func (s Entry) arguments(args []string, host clients.Host) (words []meaning.Word) {
	for i, arg := range args {
		if path, ok := meaning.Replaced(s.by.client, arg, host); i > 0 || !ok || !meaning.IsScript(path) {
			words = append(words, meaning.Word{Text: arg})
		}
	}
	return words
}

// variableWords returns the values of the variables that only the server of an entry gets.
func (s Entry) variableWords(host clients.Host) (words []meaning.Word) {
	values := s.values(s.by.client, host)
	for _, v := range s.Env {
		if !v.Unset {
			values[v.Name] = v.Value // with the client's variables, which may have a default
		}
	}
	for _, name := range s.EnvNames() {
		if !isProxy(name) && !policy.IsMinimalVariable(name) {
			words = append(words, meaning.Word{Text: values[name], Variable: name})
		}
	}
	return words
}

// noteRelative says of a program or script with a relative path that the server, which starts in its private
// HOME, does not find it.
func (g *Grant) noteRelative(s Entry) {
	words := []string{s.Command}
	if lang := policy.InterpreterFamily(path.Base(s.Command)); lang != "" {
		words = []string{policy.ScriptArgument(lang, s.Args)}
	} else if !strings.Contains(s.Command, "/") {
		return
	}
	for _, word := range words {
		if g.Fails == nil && word != "" && s.Cwd == "" && s.For == "" && !filepath.IsAbs(word) && !strings.ContainsAny(word, "$~{%") {
			g.Notes = append(g.Notes, "it starts in its own HOME, where "+word+" is not: write its whole path into the entry, or a cwd")
		}
	}
}

// noteHidden says which sensitive files the arguments name in the directory that the server starts in.
func (g *Grant) noteHidden(s Entry, args []string, dir string, host clients.Host) {
	for _, word := range args {
		if _, value, is := strings.Cut(word, "="); is && strings.HasPrefix(word, "-") {
			word = value
		}
		name := filepath.Join(dir, word)
		if _, err := os.Stat(name); err == nil && dir != "" && !filepath.IsAbs(word) && meaning.Sensitive(name, host) != "" {
			g.Notes = append(g.Notes, word+" is a sensitive file, and hidden. If the server is to read it:  "+show.Spelled([]string{"mcp-jail", "grant", s.Server, "--read", name}))
		}
	}
}

// asPreset returns an entry as a preset needs it.
func (s Entry) asPreset(p *presets.Preset, host clients.Host) presets.Entry {
	args := s.Args
	if line, err := runline.Parse(s.Argv()); err == nil {
		args = line.Args
	}
	c := s.by.client
	args = slices.Clone(args)
	for i := range args {
		for _, r := range c.References(args[i]) {
			if r.Kind == clients.Workspace && host.Project == "" && (c.Dir == clients.DirProject || c.Dir == clients.DirOpen) {
				args[i] = strings.Replace(args[i], r.Text, ".", 1) // where the client starts the server
			}
		}
	}
	e := presets.Entry{Env: s.values(c, host), Args: meaning.ReplacedAll(c, args, host), Glob: hostfs.Glob(host.Home), Home: host.Home}
	addInherited(e.Env, p, host)
	return e
}

func (g *Grant) usePreset(server *config.Server, p *presets.Preset, e presets.Entry, s Entry, host clients.Host) (unknown []string) {
	applied := p.For(e)
	name := server.Name
	*server = *applied.Server
	g.judgeRules(server, s.Server, host)
	server.Name, server.Command = name, "x"
	g.Preset, g.Flags = p.Name, []string{"--preset", p.Name}
	for _, o := range applied.Open {
		g.Notes = append(g.Notes, o.String())
	}
	g.Notes = append(g.Notes, p.Ways(&applied)...)
	if server.Access == nil {
		return applied.Unknown
	}
	for _, r := range server.Access.Fs {
		if !filepath.IsAbs(r.Path) {
			continue // it is shown with its target
		}
		if real, err := filepath.EvalSymlinks(r.Path); err == nil && real != r.Path {
			g.Notes = append(g.Notes, r.Path+" is a link: it gets "+real)
		}
	}
	return applied.Unknown
}

// judgeRules takes from the table of a preset the rules for files that are not granted because a word of the entry names
// them, and says why.
func (g *Grant) judgeRules(server *config.Server, name string, host clients.Host) {
	if server.Access == nil {
		return
	}
	own := *server.Access
	own.Fs = slices.DeleteFunc(slices.Clone(own.Fs), func(r policy.FsRule) bool { // a start refuses a path that can be read in two ways
		return filepath.IsAbs(r.Path) && meaning.TwoWays(r.Path) == "" && !g.gets(change.Path(r.Path, r.Rights()), r.Path, name, host)
	})
	server.Access = &own
}

// addInherited adds the variables of a preset that the user has set. Many clients pass on their
// whole environment, and run takes the variables that the preset names from there.
func addInherited(env map[string]string, p *presets.Preset, host clients.Host) {
	for _, v := range p.Variables {
		if _, given := env[v.Name]; !given && host.Env != nil && host.Env(v.Name) != "" {
			env[v.Name] = host.Env(v.Name)
		}
	}
}

func (s Entry) values(c clients.Client, host clients.Host) map[string]string {
	env := map[string]string{}
	for _, name := range s.Names {
		if host.Env != nil {
			env[name] = host.Env(name)
		}
	}
	for _, v := range s.Env {
		if !v.Unset {
			env[v.Name] = v.Value
			if text, ok := meaning.Replaced(c, v.Value, host); ok && !strings.HasPrefix(v.Value, "~") { // no client replaces that there
				env[v.Name] = text
			}
		}
	}
	return env
}

func (g *Grant) addNames(server *config.Server, names []string) {
	for _, name := range names {
		if !g.canHave(name) {
			continue
		}
		g.Flags = append(g.Flags, "--env", name)
		server.Variables = append(server.Variables, policy.EnvRule{Name: name, Read: true})
	}
}

// canHave reports whether a server can be granted a variable of its entry, and notes why it cannot.
func (g *Grant) canHave(name string) bool {
	if isProxy(name) {
		return false // mcp-jail's own way to hosts
	}
	err := policy.CheckVariable(name)
	if err != nil {
		g.Notes = append(g.Notes, fmt.Sprintf("the variable %s is not granted: %s", name, err))
	}
	return err == nil
}

// isProxy reports whether a variable of an entry names the proxy of mcp-jail, which a server in a jail cannot reach.
func isProxy(name string) bool {
	return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}, strings.ToUpper(name))
}

// makeAccess makes the table of rules. The first rule would take the workspace away, on which the rest of the entry
// may rely, so it stays.
func (g *Grant) makeAccess(server *config.Server, dir string, host clients.Host) {
	if server.Access != nil {
		return
	}
	server.Access = &config.Access{}
	if dir != "" && hostfs.Within(host.OS, host.Home, dir) {
		return
	}
	g.Flags = append(g.Flags, "--write", ".")
	server.Access.Fs = []policy.FsRule{{Path: ".", Read: true, Create: true, Update: true, Delete: true, Where: show.Flag("--write", ".")}}
}

// addNamed adds what the words of an entry name. A path in a variable leaves the workspace, on which the rest of the
// entry may rely, where it is known.
func (g *Grant) addNamed(server *config.Server, found []meaning.Named, dir string, s Entry, host clients.Host) {
	for _, n := range found {
		if has(server.Access, n) {
			continue
		}
		if n.Why != "" {
			g.Notes = append(g.Notes, n.Why)
			continue
		}
		o := objectOf(n)
		if !g.gets(o, n.Said, s.Server, host) {
			continue
		}
		switch {
		case n.Host != "", n.Variable != "" && dir != "":
			g.makeAccess(server, dir, host)
		case server.Access == nil:
			server.Access = &config.Access{}
		}
		g.Flags = append(g.Flags, o.Words()...)
		if n.Host != "" {
			o.Net.Where = show.Flag("--net", o.Name())
			server.Access.Net = append(server.Access.Net, o.Net)
		} else {
			o.Fs.Where = show.Flag("--read", o.Name())
			server.Access.Fs = append(server.Access.Fs, o.Fs)
		}
	}
}

// has reports whether rules give what a word names already, as those of a preset or of an argument do.
func has(a *config.Access, n meaning.Named) bool {
	if a == nil {
		return false
	}
	if n.Host != "" {
		_, ok := policy.MatchNet(a.Net, n.Host, "", n.Port, "", "")
		return ok
	}
	return slices.ContainsFunc(a.Fs, func(r policy.FsRule) bool { return r.Path == n.Path && r.Read })
}
