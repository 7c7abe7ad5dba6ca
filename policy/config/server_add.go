package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

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
	return eachServerText(configDir, func(name, text string) error {
		path := filepath.Join(configDir, ServersDir, name)
		f, err := decodeServerFile([]byte(text), path)
		if err == nil && f.Server.Command != "" {
			take(f)
			return nil
		}
		// It may add to a table.
		if f, err = readCurrent(configDir, name, text); err == nil && (o.Candidate == nil || o.Candidate.Path != path) {
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
