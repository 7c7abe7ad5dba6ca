package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// ServersDir is the directory with the files of servers, in that of the configuration.
const ServersDir = "servers"

// A ServerFile is the file of one server, servers/NAME.toml: a configuration with one table, which
// mcp-jail writes whole. Below it lie the defaults alone.
type ServerFile struct {
	Path   string
	Server *Server // with its ID
}

// UnknownIDError reports an id that no file has.
type UnknownIDError struct{ ID, Dir string }

func (e *UnknownIDError) Error() string {
	return fmt.Sprintf("no file in %s has the id %s. To have one written from the entry as it is now:\n  mcp-jail wrap", e.Dir, show.Name(e.ID))
}

// Servers returns the files of all servers in the directory of a configuration, sorted by name. broken has an error for
// each that cannot be used: its server does not start.
type Servers func() (files []*ServerFile, broken []error)

// ReadServers returns the servers of a directory. They are read once, when they are first asked for, for all that have them.
func ReadServers(configDir string) Servers {
	return sync.OnceValues(func() (files []*ServerFile, broken []error) {
		err := eachServerFile(configDir, func(d *private.Dir, name string) error {
			path, data, err := readServerFile(d, configDir, name)
			var f *ServerFile
			if err == nil {
				f, err = decodeServerFile(data, path)
			}
			if err != nil {
				broken = append(broken, &brokenFile{err, name, data})
			} else {
				files = append(files, f)
			}
			return nil
		})
		if err != nil {
			broken = append(broken, &brokenFile{error: err}) // it may have the files of all
		}
		return files, broken
	})
}

// A brokenFile is why a file cannot be used, with what is known of it.
type brokenFile struct {
	error
	name string
	data []byte
}

func (b *brokenFile) Unwrap() error { return b.error }

// FindServerFile returns the file that has an id, or the key of a line. Two files with one are an error, and so is a file
// that cannot be used and may be the one, by its name.
func FindServerFile(configDir, id string) (*ServerFile, error) {
	return ReadServers(configDir).find(configDir, id)
}

func (s Servers) find(configDir, id string) (found *ServerFile, err error) {
	var refused error = &UnknownIDError{id, filepath.Join(configDir, ServersDir)}
	files, broken := s()
	for _, err := range broken {
		var b *brokenFile
		switch {
		case !errors.As(err, &b):
			return nil, err
		case bytes.Contains(b.data, []byte(id)):
			return nil, b.error
		case isNameOf(b.name, id):
			refused = b.error
		}
	}
	for _, f := range files {
		switch {
		case f.Server.ID != id:
		case found != nil:
			return nil, policy.Problems{{File: f.Path, Message: fmt.Sprintf("has the id of %s: remove one of the two files", found.Path)}}
		default:
			found = f
		}
	}
	if found == nil {
		return nil, refused
	}
	return found, nil
}

// isNameOf reports whether a file has the name that mcp-jail gives to that of a line's key: its beginning, with at least
// eight digits of the hash, and a number after it if the name was taken.
func isNameOf(name, key string) bool {
	name = strings.TrimSuffix(name, ".toml")
	if i := strings.LastIndexByte(name, '-'); i > 0 && len(name[i:]) < len("-01234567") && strings.Trim(name[i:], "-0123456789") == "" {
		name = name[:i]
	}
	return strings.HasPrefix(key, name)
}

// eachServerFile calls do for the name of each file.
func eachServerFile(configDir string, do func(d *private.Dir, name string) error) error {
	if _, err := os.Lstat(filepath.Join(configDir, ServersDir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d, err := private.Open(configDir, ServersDir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, e := range names {
		if strings.HasSuffix(e.Name(), ".toml") {
			if err := do(d, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// readServerFile reads the file of a name. It is refused as mcp-jail's own files are: a link, and a file that others
// own or may write.
func readServerFile(d *private.Dir, configDir, name string) (path string, data []byte, err error) {
	path = filepath.Join(configDir, ServersDir, name)
	if data, err = d.ReadFile(name, reader.MaxFileSize); err != nil {
		err = policy.Problems{{File: path, Message: "is refused: " + cause(err)}}
	}
	return path, data, err
}

func decodeServerFile(data []byte, path string) (*ServerFile, error) {
	c, problems := decodeLayer(data, path)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".toml")
	refuse := func(format string, args ...any) error {
		return policy.Problems{{File: path, Message: fmt.Sprintf(format, args...)}}
	}
	s := c.Servers[name]
	switch {
	case c.Defaults != nil:
		return nil, refuse("[defaults] would hold for every server: write it into config.toml")
	case s == nil || len(c.Servers) != 1:
		return nil, refuse("must have the table [servers.%s], by the name of the file, and no other one", show.Key(name))
	case s.ID == "":
		return nil, refuse("[servers.%s] has no id: `mcp-jail wrap` writes these files; a server that you declare yourself belongs into config.toml", show.Key(name))
	}
	if err := s.validate().Err(); err != nil {
		return nil, err
	}
	s.hasBelow = true // its preset was written into it
	s.writeWords()
	return &ServerFile{path, s}, nil
}

// Encode returns the text of the file.
func (f *ServerFile) Encode() []byte {
	c := Config{Version: 1, Servers: map[string]*Server{f.Server.Name: f.Server}}
	return slices.Concat([]byte("# Written by mcp-jail, which keeps no comments here. `mcp-jail grant` changes it; you may, too.\n"), c.Encode())
}

// Words returns the command line of the server.
func (f *ServerFile) Words() []string {
	return append([]string{f.Server.Command}, f.Server.Arguments...)
}

// ChangeServers reads the files of all servers, has change change them or add some to them, and writes
// those that have become others. Only one process does so at a time. Files that cannot be used stay as they
// are, and are among broken: no file takes the name of one.
func ChangeServers(configDir string, change func(files []*ServerFile, broken []error) ([]*ServerFile, error)) error {
	d, err := private.Make(configDir, ServersDir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := lockServers(d)
	if err != nil {
		return fmt.Errorf("%s cannot be locked: %w", filepath.Join(configDir, ServersDir), err)
	}
	defer unlock()
	files, broken := ReadServers(configDir)()
	was := map[string][]byte{}
	for _, f := range files {
		was[f.Path] = f.Encode()
	}
	if files, err = change(files, broken); err != nil {
		return err
	}
	for _, f := range files {
		text, name := f.Encode(), filepath.Base(f.Path)
		if bytes.Equal(text, was[f.Path]) {
			continue
		}
		// What the next start could not read is not written.
		checked, err := decodeServerFile(text, f.Path)
		if err != nil {
			return fmt.Errorf("nothing was written, because the file would not be valid: %w", err)
		}
		text = checked.Encode() // with the word for the workspace
		if was[f.Path] == nil {
			if _, err := d.Lstat(name); err == nil {
				return policy.Problems{{File: f.Path, Message: "is there already, and is not used: mend or remove it"}}
			}
		}
		if err := d.Replace(name, text, private.How{Sync: true}); err != nil {
			return err
		}
	}
	return nil
}

// lockServers waits for the lock of the files for ten seconds. Where directories cannot be locked, as on Windows, it
// goes on without.
func lockServers(d *private.Dir) (unlock func(), err error) {
	for range 1000 {
		switch unlock, err = d.Lock(private.Exclusive); {
		case errors.Is(err, errors.ErrUnsupported):
			return func() {}, nil
		case !errors.Is(err, private.ErrLocked):
			return unlock, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, err
}

// loadServer is Load for the file of a server.
func loadServer(o LoadOptions) (*Config, error) {
	f, err := o.serverFile()
	if err != nil {
		return nil, err
	}
	defaults, err := LoadDefaults(o)
	if err != nil {
		return nil, err
	}
	c := &Config{Version: 1, Defaults: defaults, Servers: map[string]*Server{f.Server.Name: f.Server}, Files: []string{f.Path}}
	if err := o.takeAway(c, f.Server.Name); err != nil {
		return nil, err
	}
	return c, nil
}

// takeAway applies the table that the project's file has for the server of a file. A project's file without the name
// of the server stops no start: it need not be trusted for that.
func (o *LoadOptions) takeAway(c *Config, name string) error {
	layers, err := o.layers()
	if err != nil {
		return err
	}
	l := layers[len(layers)-1]
	data, err := o.read(l)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unreadable(l, err)
	case !bytes.Contains(data, []byte(name)) && !bytes.ContainsRune(data, '\\'): // an escape may be in a key
		return nil
	}
	if err := o.checkTrust(l, data); err != nil {
		return err
	}
	project, problems := l.decode(data)
	if n := project.Servers[name]; len(problems) == 0 && n != nil && n.Command == "" {
		c.Files = append(c.Files, l.path)
		c.narrow(name, n)
		problems = c.validate()
	}
	return problems.Err()
}

func (o *LoadOptions) serverFile() (*ServerFile, error) {
	if o.Candidate != nil {
		return o.Candidate, nil
	}
	if _, err := o.layers(); err != nil { // it completes o.User
		return nil, err
	}
	if o.Servers == nil {
		o.Servers = ReadServers(filepath.Dir(o.User))
	}
	return o.Servers.find(filepath.Dir(o.User), o.ID)
}

// refuseServerKeys refuses what only the file of a server has.
func (c *Config) refuseServerKeys() (ps policy.Problems) {
	for _, name := range c.ServerNames() {
		if s := c.Servers[name]; s.ID != "" || s.Directory != "" {
			ps = append(ps, policy.ProblemAt(s.Where, "servers."+show.Key(name), "id and directory are for the files that `mcp-jail wrap` writes, in %s/: a server of this file is known by its name, and starts in its workspace", ServersDir))
		}
	}
	return ps
}

// lookAtFiles looks into the files of servers for the tables of the user: a table takes nothing from there, so that no
// file can be missed. A table that one of them is for has no policy. It also learns the ids of the others.
func (c *Config) lookAtFiles(configDir string) error {
	c.ids, c.broken = map[string]string{}, map[string]error{}
	return eachServerFile(configDir, func(d *private.Dir, name string) error {
		path, data, err := readServerFile(d, configDir, name)
		if err != nil {
			return nil // it has nothing for a table
		}
		l, _ := decodeLayer(data, path)
		for _, s := range l.Servers {
			if t := c.Servers[s.ID]; t != nil {
				c.broken[t.Name] = policy.Problems{{File: path, Key: "servers." + show.Key(s.Name), Message: fmt.Sprintf(
					"these rules are for your table [servers.%s], at %s, which takes none from other files. Move them there, and remove this file:\n\n%s", show.Key(t.Name), t.Where, s.Rules(t.Name))}}
			} else {
				c.ids[s.Name] = s.ID
			}
		}
		return nil
	})
}

// Rules returns what a table says beside its command, as the text of the table with a name.
func (s *Server) Rules(name string) string {
	out := *s
	out.Name, out.ID, out.Directory, out.Preset, out.Command, out.Arguments = name, "", "", "", "", nil
	c := Config{Servers: map[string]*Server{name: &out}}
	text := strings.TrimRight(string(c.Encode()), "\n")
	return strings.TrimPrefix(text, "[servers."+show.Key(name)+"]\n\n") // the table has that line
}

// LineFile returns the file of the line whose key is o.ID, or nil if it has none.
func (o LoadOptions) LineFile() (*ServerFile, error) {
	f, err := o.serverFile()
	switch {
	case errors.As(err, new(*UnknownIDError)):
		return nil, nil
	case err == nil && o.Candidate == nil && !isNameOf(filepath.Base(f.Path), o.ID): // it would be missed once it cannot be read
		return nil, policy.Problems{{File: f.Path, Message: "must have the name that mcp-jail gave it: the beginning of its id, " + show.Name(o.ID)}}
	}
	return f, err
}

// grant adds to the flags of a line what its file has. The file has no more of the workspace than the flags leave.
func (s *Server) grant(f *ServerFile) error {
	l := *f.Server
	if !l.IsStateful() {
		return policy.Problems{{File: f.Path, Key: "servers." + show.Key(l.Name), Message: "stateful = false is for a server with an id: mcp-jail wrap gives it one"}}
	}
	word := min(s.Access.workspace(), l.Access.workspace()) // of "none", "read" and "write"
	l.Command, l.Arguments, l.Preset, l.Where = "", nil, "", ""
	if s.overlay(&l); s.Access != nil {
		s.Access.Workspace = word
	}
	return nil
}

// Checked returns the file as it is read when it has been written. The table of a configuration, which is not written, is
// copied, and rules that flags have added to it count as rules of the table.
func (f *ServerFile) Checked() (*ServerFile, error) {
	if f.Server.ID != "" {
		return decodeServerFile(f.Encode(), f.Path)
	}
	t := *f.Server
	t.Access, t.Tools = t.Access.copied(), map[string]*Tool{}
	for name, tool := range f.Server.Tools {
		own := *tool
		own.Access = tool.Access.copied()
		t.Tools[name] = &own
	}
	for _, a := range t.accesses() {
		for i, r := range a.Fs {
			if strings.HasPrefix(r.Where, "--") { // beside other flags the rule would be a denial, too
				a.Fs[i].Where = t.Where
			}
		}
	}
	return &ServerFile{f.Path, &t}, t.validate().Err()
}

// Policies returns the policies of the server's processes: what any of them may write, no other server believes.
func (f *ServerFile) Policies() []*policy.Policy {
	c := Config{Servers: map[string]*Server{f.Server.Name: f.Server}}
	return c.others(f.Server.Name, "\x00") // of no tool: each process counts
}
