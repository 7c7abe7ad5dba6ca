package wrapping

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/presets"
)

// IDs chooses the ids of servers, and the names of their files: its own for each entry. What it has chosen once for an
// entry, it chooses again.
type IDs struct {
	dir     string // with the files of servers
	files   []*config.ServerFile
	taken   map[string]bool   // names of files and of tables with a command
	held    map[string]bool   // ids in entries of the user's own, and whether one of them has the words of the id's file
	foreign map[string]string // ids in files of others, and where
	made    map[string]*config.ServerFile
	broken  string // a file of a server that cannot be used, with what is wrong; it may have any id
}

// NewIDs returns the ids that are there: in the files of servers, and in the entries of some files. tables are
// the names that the user's configuration has given to servers.
func NewIDs(configDir string, files []*File, tables []string) *IDs {
	n := &IDs{filepath.Join(configDir, config.ServersDir), nil, map[string]bool{}, map[string]bool{}, map[string]string{}, map[string]*config.ServerFile{}, ""}
	var broken []error
	n.files, broken = config.ReadServers(configDir)()
	slices.SortStableFunc(n.files, func(a, b *config.ServerFile) int { return len(a.Server.Name) - len(b.Server.Name) }) // NAME, NAME-2, NAME-10
	for _, f := range n.files {
		n.taken[f.Server.Name] = true
	}
	for _, err := range broken {
		var problems policy.Problems
		if errors.As(err, &problems) {
			n.taken[strings.TrimSuffix(filepath.Base(problems[0].File), ".toml")] = true
		}
		n.broken = err.Error()
	}
	for _, name := range tables {
		n.taken[name] = true
	}
	for _, f := range files {
		for _, e := range f.Entries {
			line, _ := clients.ParseWrapped(e.Argv())
			switch {
			case line.ID == "":
			case f.IsProject():
				n.foreign[line.ID] = fmt.Sprintf("%s, line %d", f.Path, e.Line)
			default:
				own := n.byID(line.ID)
				n.held[line.ID] = n.held[line.ID] || own != nil && line.Argv != nil && isLine(own, e.behind(line).saved(f.host.Home))
			}
		}
	}
	return n
}

// behind returns an entry as it would be without the words that start mcp-jail.
func (s Entry) behind(line clients.Wrapped) Entry {
	s.Command, s.Args, s.Left, s.Detail = line.Argv[0], line.Argv[1:], "", ""
	return s
}

// isLine reports whether a file has the words of an entry, as it is saved.
func isLine(f *config.ServerFile, words []string) bool {
	return records.SameWords(f.Words(), words) || slices.Equal(f.Words(), words)
}

// byID returns the file that has an id, or nil.
func (n *IDs) byID(id string) *config.ServerFile {
	if id == "" {
		return nil
	}
	at := slices.IndexFunc(n.files, func(f *config.ServerFile) bool { return f.Server.ID == id })
	if at < 0 {
		return nil
	}
	return n.files[at]
}

// choose returns the file of an entry's server, which is to have a table. isNew says that there is none yet.
// id is the one that the entry has already, or "".
func (n *IDs) choose(s Entry, table *config.Server, id string) (f *config.ServerFile, isNew bool) {
	key := s.file.Path + "\x00" + s.Key()
	if n.made[key] == nil {
		n.made[key] = n.find(s, table, id)
	}
	f = n.made[key]
	return f, n.byID(f.Server.ID) == nil
}

// find returns the file for an entry for which none has been chosen: one with the same name, words and directory, and the
// entry's variables, whose id no entry has, or else a new one.
func (n *IDs) find(s Entry, table *config.Server, id string) *config.ServerFile {
	made, base := *table, records.FileName(s.Server)
	hasWords := func(f *config.ServerFile) bool {
		return f.Server.Command == table.Command && slices.Equal(f.Server.Arguments, table.Arguments)
	}
	for _, f := range n.made {
		switch {
		case f.Server.ID != id:
		case hasWords(f): // the user has copied the line
			return f
		default:
			made.ID = records.NewID(s.Server)
		}
	}
	for _, f := range n.files {
		if _, used := n.held[f.Server.ID]; id == "" && !used && n.foreign[f.Server.ID] == "" && isNamed(f.Server.Name, base) && hasWords(f) && f.Server.Directory == table.Directory && passes(f.Server, table) {
			n.held[f.Server.ID] = true
			return f
		}
	}
	made.Name = base
	for i := 2; n.taken[made.Name]; i++ {
		made.Name = base + "-" + strconv.Itoa(i)
	}
	n.taken[made.Name] = true
	made.ID = cmp.Or(made.ID, id, records.NewID(s.Server))
	return &config.ServerFile{Path: filepath.Join(n.dir, made.Name+".toml"), Server: &made}
}

// replace returns a new id for one that others have in their files, too.
func (n *IDs) replace(s Entry, f *config.ServerFile) *config.ServerFile {
	made := n.made[f.Server.ID]
	if made == nil {
		made = &config.ServerFile{Server: &config.Server{ID: records.NewID(s.Entry.Server)}}
		n.made[f.Server.ID] = made
	}
	server := *f.Server
	server.ID = made.Server.ID
	return &config.ServerFile{Path: f.Path, Server: &server}
}

// isNamed reports whether a file has a name, with a number or without.
func isNamed(name, base string) bool {
	rest, ok := strings.CutPrefix(name, base)
	number, numbered := strings.CutPrefix(rest, "-")
	return ok && (rest == "" || numbered && strings.Trim(number, "0123456789") == "")
}

// passes reports whether a server's file gives each variable that an entry sets.
func passes(file, entry *config.Server) bool {
	has := granted(file)
	return !slices.ContainsFunc(granted(entry), func(name string) bool { return !slices.Contains(has, name) })
}

// granted returns the names of the variables that a table grants, those of secrets among them.
func granted(s *config.Server) (names []string) {
	for _, v := range s.Variables {
		names = append(names, v.Name)
	}
	if s.Access == nil {
		return names
	}
	for _, v := range s.Access.Env {
		names = append(names, v.Name)
	}
	for _, r := range s.Access.Net {
		for _, secret := range r.Secrets {
			names = append(names, secret.Env)
		}
	}
	return names
}

// saved returns the command line of an entry as a server's file has it: what its client replaces is "${…}", or
// replaced if it is the same at each start.
func (s Entry) saved(home string) []string {
	c, words := s.by.client, s.Argv()
	for i, word := range words {
		if rest, is := strings.CutPrefix(word, "~/"); is && c.Tilde {
			words[i] = filepath.Join(home, rest)
		}
		if c.OnlyCmd && i > 0 {
			continue
		}
		for _, r := range c.References(word) {
			name := strings.TrimSpace(strings.Trim(cmp.Or(r.Name, string(r.Kind)), "{} "))
			words[i] = strings.Replace(words[i], r.Text, "${"+name+"}", 1)
		}
	}
	return words
}

// table returns the table for an entry's server that grants what some flags of mcp-jail run do.
func (j judge) table(s Entry, words []string, p *ServerChange) (*config.Server, error) {
	given, err := cmdline.ParseRun(append([]string{"run"}, p.Flags...))
	if err != nil {
		return nil, err
	}
	o := given.Options(words)
	o.Name, o.Preset = "server", given.Preset
	if o.Waive, err = cmdline.ParseWaivers("--waive", given.Waive); err != nil {
		return nil, err
	}
	host := j.file.within(j.host)
	if o.Preset != "" {
		preset, err := presets.Find(o.Preset)
		if err != nil {
			return nil, err
		}
		if err := preset.Lists(words); err != nil {
			return nil, err
		}
		below := *preset.For(s.asPreset(preset, host)).Server
		(&Grant{unasked: j.unasked}).judgeRules(&below, s.Server, host) // check has what it says
		o.Below = &below
	}
	table, err := o.Declared()
	if err != nil {
		return nil, err
	}
	if host.Project = s.For; s.Cwd != "" || s.For != "" {
		table.Directory = j.startsIn(s, *table, host)
	}
	return table, nil
}

// startsIn returns the directory in which a server is to start, or "" if it may not read it.
func (j judge) startsIn(s Entry, table config.Server, host clients.Host) string {
	client := s.by.client
	if s.For != "" {
		client.Dir = clients.DirProject
	}
	g := &Grant{}
	dir := g.startDir(client, s, host)
	if dir == "" {
		return ""
	}
	for _, r := range g.checkFiles(&table, dir, host) {
		if r.Read && policy.Within(dir, r.At) {
			return dir
		}
	}
	return ""
}

// own decides about an entry of the user's own: its id, what its file is to have, and the words in front.
func (j judge) own(s Entry, p *ServerChange, ids *IDs) (clients.Edit, clients.Reason) {
	line, wrapped := clients.ParseWrapped(s.Argv())
	start := clients.Wrapping{Before: meaning.BeforeWindows(j.file.host), Program: j.program.Path}
	plain := s
	if wrapped {
		v := j.file.Judge(s, j.program, j.host)
		switch {
		case v.IsRepaired():
			p.Repair = v.Why
		case v.State == Unclear:
			return clients.Edit{}, v.Why
		case line.Argv == nil:
			return clients.Edit{}, clients.Jailed
		default:
			start.Before, start.Program = line.Launcher, line.Program
		}
		if line.Argv == nil {
			return j.edit(s, start)
		}
		plain = s.behind(line)
	}
	words := plain.saved(j.host.Home)
	f, id := ids.byID(line.ID), line.ID
	if f == nil && id != "" && ids.broken != "" {
		return clients.Edit{}, clients.Reason("has an id, and its file may be one that cannot be used: repair that first: " + ids.broken)
	}
	if f != nil && ids.held[id] && !isLine(f, words) { // another entry has the id, and the words
		f, id = nil, ""
	}
	if f != nil {
		j.known(p, f, words)
	} else if why := j.planned(s, plain, words, line, id, p, ids); why != "" {
		return clients.Edit{}, why
	}
	if !p.Writes {
		p.Newer = j.newer(plain, p.Own)
	}
	p.waive(j.file.waive, s.Key())
	if place := ids.foreign[p.Own.Server.ID]; place != "" {
		j.stolen(s, p, place, ids)
	}
	start.ID = p.Own.Server.ID
	return j.edit(s, start)
}

// planned decides what is to be in the file of an entry that has none. line is how the entry starts mcp-jail
// already, if it does, and plain is the entry without that.
func (j judge) planned(s, plain Entry, words []string, line clients.Wrapped, id string, p *ServerChange, ids *IDs) clients.Reason {
	older := line.Program != "" && line.ID == "" // its flags are the policy
	if older {
		p.Flags = j.file.Started(s, line.Flags, j.host)
		switch {
		case slices.ContainsFunc(line.Flags, func(word string) bool { return strings.HasPrefix(word, "--config") }):
			return clients.Jailed + ", with a configuration that its line names"
		case slices.ContainsFunc(p.Flags, j.file.References):
			return clients.Jailed + ", and only the client knows what its flags say"
		}
	} else if why := j.check(plain, p); why != "" {
		return why
	}
	table, err := j.table(plain, words, p)
	if err == nil {
		if p.Own, p.Writes = ids.choose(plain, table, id); id != "" && p.Writes {
			p.Careful = append(p.Careful, "its policy file is missing. A new one is written, without what you had allowed")
		}
		_, err = p.Own.Checked()
	}
	switch {
	case err != nil:
		return clients.Reason("cannot be wrapped: " + err.Error())
	case !p.Writes:
		p.offer(j.host.Home)
	}
	return ""
}

// known decides about an entry with an id that has a file.
func (j judge) known(p *ServerChange, f *config.ServerFile, words []string) {
	if p.Own = f; isLine(f, words) {
		return
	}
	server := *f.Server
	server.Command, server.Arguments = words[0], words[1:]
	p.Own, p.Writes = &config.ServerFile{Path: f.Path, Server: &server}, true
	p.Notes = append(p.Notes, "its command has changed. It was "+terminal.ShownLine(f.Words())+". Its policy stays")
}

// newer returns in words what the preset of a server's file gives now and the file has not, each with a sign. What the
// user has taken out of the file is among it.
func (j judge) newer(s Entry, f *config.ServerFile) (lines []string) {
	preset, err := presets.Find(f.Server.Preset)
	if err != nil || !f.Server.IsStateful() {
		return nil
	}
	after, err := f.Checked()
	if err != nil {
		return nil
	}
	host := j.file.within(j.host)
	table := *preset.For(s.asPreset(preset, host)).Server
	(&Grant{unasked: true}).judgeRules(&table, s.Server, host)
	g := config.Grants{Table: &table, At: func(path string) string {
		rest, isHome := strings.CutPrefix(path, "~")
		return filepath.Clean(map[bool]string{true: j.host.Home}[isHome] + rest)
	}}
	if _, err := g.AddTo(after.Server); err != nil {
		return nil
	}
	policyOf := func(s *config.Server) (*policy.Policy, error) {
		c := config.Config{Servers: map[string]*config.Server{s.Name: s}}
		return c.Policy(s.Name, "")
	}
	was, err := policyOf(f.Server)
	is, err2 := policyOf(after.Server)
	if err != nil || err2 != nil {
		return nil
	}
	for _, ch := range config.Compare(was, is) {
		lines = append(lines, ch.Text)
	}
	return append(lines, config.Gained(was, is)...)
}

// stolen gives an entry another id than one that others have in their files.
func (j judge) stolen(s Entry, p *ServerChange, place string, ids *IDs) {
	p.Former = p.Own.Server.ID
	p.Own, p.Writes = ids.replace(s, p.Own), true
	p.Notes = append(p.Notes, fmt.Sprintf("its id is also in %s. Here, in %s, line %d, it gets a new one", place, j.file.Path, s.Line))
}

// waive has the file of a server accept more gaps than it does.
func (p *ServerChange) waive(given map[string][]policy.Axis, key string) {
	if axes, ok := given[key]; ok && !slices.Equal(axes, p.Own.Server.Waive) {
		server := *p.Own.Server
		p.Accepts = slices.DeleteFunc(slices.Clone(axes), func(a policy.Axis) bool { return slices.Contains(server.Waive, a) })
		server.Waive = axes
		p.Own, p.Writes = &config.ServerFile{Path: p.Own.Path, Server: &server}, true
	}
}

// offer says that a server gets the file that it had before.
func (p *ServerChange) offer(home string) {
	p.Grant = Grant{Preset: p.Own.Server.Preset, Flags: []string{"--id", p.Own.Server.ID}, Remarks: []string{"with the policy from your last wrap"}, Unpinned: p.Unpinned}
	p.describe(p.Own.Server, p.Entry, nil, false, home)
}

func (j judge) edit(s Entry, w clients.Wrapping) (clients.Edit, clients.Reason) {
	edit, err := s.Wrap(w)
	if err != nil {
		return edit, clients.Reason("cannot be wrapped: " + err.Error())
	}
	return edit, ""
}

// WriteFiles writes the files of the servers that changes give an id.
func WriteFiles(configDir string, changes []*Change) error {
	var own []*config.ServerFile
	for _, ch := range changes {
		for _, s := range ch.Changed() {
			if s.Writes {
				own = append(own, s.Own)
			}
		}
	}
	if own == nil {
		return nil
	}
	return config.ChangeServers(configDir, func(files []*config.ServerFile, _ []error) ([]*config.ServerFile, error) {
		for _, o := range own {
			at := slices.IndexFunc(files, func(f *config.ServerFile) bool { return f.Path == o.Path })
			if at < 0 {
				files = append(files, o)
				continue
			}
			// What was granted meanwhile stays.
			s := files[at].Server
			s.ID, s.Command, s.Arguments, s.Waive = o.Server.ID, o.Server.Command, o.Server.Arguments, o.Server.Waive
		}
		return files, nil
	})
}
