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

// ServerFiles returns the files of all servers in the directory of a configuration, sorted by name. broken has an
// error for each that cannot be used: its server does not start.
func ServerFiles(configDir string) (files []*ServerFile, broken []error) {
	err := eachServerFile(configDir, func(d *private.Dir, name string) error {
		path, data, err := readServerFile(d, configDir, name)
		var f *ServerFile
		if err == nil {
			f, err = decodeServerFile(data, path)
		}
		if err != nil {
			broken = append(broken, err)
			return nil
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		broken = append(broken, err)
	}
	return files, broken
}

// FindServerFile returns the file that has an id. Two files with one id are an error.
func FindServerFile(configDir, id string) (found *ServerFile, err error) {
	err = eachServerText(configDir, func(path, text string) error {
		if !strings.Contains(text, id) {
			return nil
		}
		f, err := decodeServerFile([]byte(text), path)
		switch {
		case err != nil:
			return err
		case f.Server.ID != id:
			return nil
		case found != nil:
			return policy.Problems{{File: f.Path, Message: fmt.Sprintf("has the id of %s: remove one of the two files", found.Path)}}
		}
		found = f
		return nil
	})
	if err == nil && found == nil {
		err = &UnknownIDError{id, filepath.Join(configDir, ServersDir)}
	}
	if err != nil {
		return nil, err
	}
	return found, nil
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

// eachServerText calls do for each file that can be read, in the order of their names.
func eachServerText(configDir string, do func(path, text string) error) error {
	return eachServerFile(configDir, func(d *private.Dir, name string) error {
		path, data, err := readServerFile(d, configDir, name)
		if err != nil {
			return nil // what lists the files tells of it
		}
		return do(path, string(data))
	})
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
	check := s.validate()
	if s.Command == "" { // it adds to a table
		check = s.checkScope("servers." + show.Key(name))
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	s.hasBelow = true // its preset was written into it
	return &ServerFile{path, s}, nil
}

// Encode returns the text of the file.
func (f *ServerFile) Encode() []byte {
	c := Config{Version: 1, Servers: map[string]*Server{f.Server.Name: f.Server}}
	return slices.Concat([]byte("# Written by mcp-jail, which keeps no comments here. `mcp-jail grant` changes it; you may, too.\n"), c.Encode())
}

// Words returns the command line of the server.
func (f *ServerFile) Words() []string {
	if f.Server.Command == "" {
		return nil
	}
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
	files, broken := ServerFiles(configDir)
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
		if _, err := decodeServerFile(text, f.Path); err != nil {
			return fmt.Errorf("nothing was written, because the file would not be valid: %w", err)
		}
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
	return FindServerFile(filepath.Dir(o.User), o.ID)
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

// A server without an id has its policy in the table of a configuration or in the flags of its line. Its file has
// the name of the table, or the key of the line, in place of an id. It adds to what is there.

// addedBy is why a file cannot add to a server, with its place.
func (f *ServerFile) addedBy(format string, args ...any) error {
	return policy.Problems{{File: f.Path, Key: "servers." + show.Key(f.Server.Name), Message: fmt.Sprintf(format, args...)}}
}

// add adds what the file of a server has.
func (s *Server) add(f *ServerFile) error {
	l := *f.Server
	if l.IsStateful() != s.IsStateful() {
		return f.addedBy("stateful is not as it is at %s, and its rules would hold for other processes", s.Where)
	}
	l.ID, l.Directory, l.Preset, l.Command, l.Arguments, l.Stateful, l.Where, l.Merge = "", "", "", "", nil, nil, "", nil
	accesses := []*Access{l.Access}
	l.Access, l.Tools = l.Access.adding(), map[string]*Tool{}
	for name, t := range f.Server.Tools {
		l.Tools[name] = &Tool{Name: name, Access: t.Access.adding(), Warm: t.Warm, Where: t.Where}
		accesses = append(accesses, t.Access)
	}
	if slices.ContainsFunc(accesses, func(a *Access) bool { return a != nil && a.Commands != nil }) {
		return f.addedBy("it only adds to what %s has: write commands there", s.Where)
	}
	s.overlay(&l)
	return nil
}

// adding returns a table that takes the place of nothing.
func (a *Access) adding() *Access {
	if a == nil {
		return nil
	}
	out := *a
	out.keepsDefault, out.Merge = true, nil
	return &out
}

// addFiles adds the files of servers to the tables of the system's and the user's configuration. A server whose
// file cannot be used has no policy.
func (c *Config) addFiles(o LoadOptions) error {
	found := map[string]*ServerFile{}
	broken := func(name string, err error) {
		if c.broken == nil {
			c.broken = map[string]error{}
		}
		c.broken[name] = err
	}
	c.ids = map[string]string{}
	take := func(f *ServerFile) {
		switch first := found[f.Server.ID]; {
		case f.Server.Command != "":
			c.ids[f.Server.Name] = f.Server.ID
		case c.Servers[f.Server.ID] == nil:
		case first != nil:
			broken(f.Server.ID, f.addedBy("has the id of %s: remove one of the two files", first.Path))
		default:
			found[f.Server.ID] = f
			if err := c.Servers[f.Server.ID].add(f); err != nil {
				broken(f.Server.ID, err)
			}
		}
	}
	if o.Candidate != nil {
		take(o.Candidate)
	}
	configDir := filepath.Dir(o.User) // layers has completed it
	return eachServerText(configDir, func(path, text string) error {
		f, err := decodeServerFile([]byte(text), path)
		if err == nil && (f.Server.Command != "" || o.Candidate == nil || o.Candidate.Path != path) {
			take(f)
		}
		for _, server := range c.ServerNames() {
			if err != nil && strings.Contains(text, "id = "+show.TOML(server)+"\n") {
				broken(server, err)
			}
		}
		return nil
	})
}

// AddedTo returns the file that adds to the server of a key, or nil if there is none.
func (o LoadOptions) AddedTo() (*ServerFile, error) {
	f, err := o.serverFile()
	if errors.As(err, new(*UnknownIDError)) {
		return nil, nil
	}
	return f, err
}

// Checked returns the file as it is read when it has been written.
func (f *ServerFile) Checked() (*ServerFile, error) { return decodeServerFile(f.Encode(), f.Path) }

// ServerPolicies returns the policies of all servers with files but the one with an id: what any server may
// write, no other one believes. broken has an error for each file that cannot be used.
func ServerPolicies(configDir, id string) (all []*policy.Policy, broken []error) {
	files, broken := ServerFiles(configDir)
	for _, f := range files {
		if f.Server.ID != id {
			c := Config{Servers: map[string]*Server{f.Server.Name: f.Server}}
			all = append(all, c.others(f.Server.Name, "\x00")...) // of no tool: each process counts
		}
	}
	return all, broken
}

// relevantFiles returns the files whose text a configuration may take something from: that of its id, or those that
// add to a table, which have no command.
func (o LoadOptions) relevantFiles(configDir string) (files []string) {
	_ = eachServerText(configDir, func(path, text string) error {
		if o.ID != "" && strings.Contains(text, o.ID) || o.ID == "" && !strings.Contains(text, "\ncommand = ") {
			files = append(files, path)
		}
		return nil
	})
	return files
}
