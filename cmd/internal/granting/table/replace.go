package table

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// grantKeys are the keys of an access table that Replace replaces. The others, such as inbound and
// sensitive_paths, stay.
var grantKeys = []string{"fs", "net", "env", "commands"}

// wholeKeys are those that ReplaceAll replaces.
var wholeKeys = append(slices.Clone(grantKeys), "inbound")

// New returns the place of a server that the user's own configuration does not have. The file may be
// missing.
func New(host hostfs.Host, server string) (*Place, error) {
	p := &Place{Path: config.UserConfigFile(host), server: server, host: host}
	switch err := p.open(); {
	case errors.Is(err, fs.ErrNotExist):
		p.file = &ownfile.File{}
		p.missing = true
	case err != nil:
		return nil, err
	}
	return p, nil
}

// Append returns the file with the table of a server after all that it has.
func (p *Place) Append(lines []byte) (*Edit, error) {
	text := bytes.TrimRight(p.file.Data, " \t\r\n")
	if len(text) > 0 {
		text = append(slices.Clone(text), "\n\n"...)
	}
	text = append(text, lines...)
	if bytes.Contains(p.file.Data, []byte("\r\n")) {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	return &Edit{Result{Text: text}, p, p.file.Data}, p.check(text, lines, nil)
}

// Replace returns the file with other grants of the server: those that its table has in lines, which are
// a configuration. The rest of the file stays as it is.
func (p *Place) Replace(lines []byte) (*Edit, error) { return p.replace(lines, grantKeys) }

// ReplaceAll returns the file with all other grants of the server: those of Replace, and inbound, variables
// and preset.
func (p *Place) ReplaceAll(lines []byte) (*Edit, error) { return p.replace(lines, wholeKeys) }

func (p *Place) replace(lines []byte, keys []string) (*Edit, error) {
	if p.Closed != nil {
		return nil, p.Closed
	}
	d, err := parse(p.file.Data)
	if err != nil {
		return nil, err
	}
	from, err := parse(lines)
	if err != nil {
		return nil, err
	}
	base := []string{"servers", p.server}
	if err := d.dropComments(base, lines); err != nil {
		return nil, err
	}
	err = d.dropAccess(append(slices.Clone(base), "access"), keys)
	if tools, rest := d.root.Find(append(slices.Clone(base), "tools")); err == nil && len(rest) == 0 {
		for _, tool := range slices.Clone(tools.Keys) {
			if err = d.dropAccess(append(slices.Clone(base), "tools", tool, "access"), keys); err != nil {
				break
			}
		}
	}
	for i, e := range from.all {
		if err == nil && e.Header && shared(e.Key, base) == len(base) && len(e.Key) > len(base) {
			err = d.addBody(e.Key, d.without(base, from.body(i)), bytes.HasPrefix(from.text[e.Start:], []byte("[[")))
		}
	}
	if whole := slices.Contains(keys, "inbound"); err == nil && whole {
		err = d.replaceValues(base, lines, p.server)
	}
	if err == nil {
		err = p.check(d.text, lines, keys)
	}
	if err != nil {
		return nil, fmt.Errorf("the table %s in %s cannot be replaced by itself (%w)", show.Name(spelled(base)), show.Line(p.Path), err)
	}
	return &Edit{Result{Text: d.text}, p, p.file.Data}, nil
}

// replaceValues gives a server the variables and the preset that its table has in some lines.
func (d *document) replaceValues(base []string, lines []byte, server string) error {
	given, err := config.DecodeLayer(lines, "the new table")
	if err != nil {
		return err
	}
	s := given.Servers[server]
	variables := ""
	if len(s.Variables) > 0 {
		var names []string
		for _, v := range s.Variables {
			names = append(names, v.Name)
		}
		variables = show.List(names)
	}
	for _, one := range []struct{ key, value string }{{"variables", variables}, {"preset", text(s.Preset)}} {
		path := append(slices.Clone(base), one.key)
		at, rest := d.root.Find(path)
		switch has := len(rest) == 0; {
		case has && one.value == "":
			err = d.removeKey(path)
		case has && (at.Start < 0 || at.End < 0):
			err = errForm
		case has:
			err = d.change(splice{at.Start, at.End, one.value})
		case one.value != "":
			err = d.addKey(path, one.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if a text does not have the grants of some lines, or has another thing besides. The
// lines take the place of keys of the table; nil is for lines that are added.
func (p *Place) check(text, lines []byte, keys []string) error {
	got, err := config.DecodeLayer(text, p.Path)
	if err != nil {
		return err
	}
	want, err := config.DecodeLayer(p.file.Data, p.Path)
	if err != nil {
		return err
	}
	given, err := config.DecodeLayer(lines, "the new table")
	if err != nil {
		return err
	}
	if want.Servers == nil {
		want.Servers = map[string]*config.Server{}
	}
	if keys == nil {
		want.Servers[p.server] = given.Servers[p.server]
	} else {
		s := want.Servers[p.server]
		whole := slices.Contains(keys, "inbound")
		if whole {
			s.Variables, s.Preset = given.Servers[p.server].Variables, given.Servers[p.server].Preset
			delete(s.Merge, "variables")
		}
		s.Access = replaced(s.Access, given.Servers[p.server].Access, whole)
		for name, t := range s.Tools {
			if t.Access = nil; t.Warm == nil {
				delete(s.Tools, name)
			}
		}
		for name, t := range given.Servers[p.server].Tools {
			if s.Tools == nil {
				s.Tools = map[string]*config.Tool{}
			}
			if s.Tools[name] == nil {
				s.Tools[name] = &config.Tool{Name: name}
			}
			s.Tools[name].Access = replaced(s.Tools[name].Access, t.Access, whole)
		}
	}
	if config.Digest(got) != config.Digest(want) {
		return errors.New("the file would not say what it should")
	}
	return nil
}

// replaced returns an access table with the grants of another one.
func replaced(a, by *config.Access, whole bool) *config.Access {
	if a == nil || by == nil {
		return by
	}
	now := *a
	now.Fs, now.Net, now.Env, now.Commands, now.Merge = by.Fs, by.Net, by.Env, by.Commands, nil
	if now.Inbound = append(slices.Clone(a.Inbound), by.Inbound...); whole {
		now.Inbound = by.Inbound
	}
	if len(a.SensitivePaths) == 0 {
		now.SensitivePaths = by.SensitivePaths
	}
	return &now
}

// dropAccess takes the grants out of an access table: its keys of that name, and the table if nothing else
// is in it.
func (d *document) dropAccess(path, keys []string) error {
	access, rest := d.root.Find(path)
	if len(rest) > 0 || access.Kind != toml.Table {
		return nil
	}
	others := slices.ContainsFunc(access.Keys, func(key string) bool { return !slices.Contains(keys, key) })
	switch {
	case others || access.Dotted():
	case access.Inline:
		return d.removeKey(path)
	case d.header(access) >= 0:
		if err := d.removeTree(append(slices.Clone(path), "commands")); err != nil {
			return err
		}
		if err := d.removeTree(append(slices.Clone(path), "fs")); err != nil {
			return err
		}
		for _, key := range keys {
			if list := d.list(append(slices.Clone(path), key)); list != nil && list.Tables {
				if err := d.removeTree(append(slices.Clone(path), key)); err != nil {
					return err
				}
			}
		}
		access, _ = d.root.Find(path)
		return d.removeBlock(access, "")
	}
	for _, key := range keys {
		if err := d.removeTree(append(slices.Clone(path), key)); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes what is at a path: a key with its value, or all tables with headers.
func (d *document) removeTree(path []string) error {
	for {
		at, rest := d.root.Find(path)
		if len(rest) > 0 {
			return nil
		}
		var err error
		i := slices.IndexFunc(d.all, func(e toml.Expression) bool {
			return e.Header && len(e.Key) >= len(path) && shared(e.Key, path) == len(path)
		})
		switch {
		case i >= 0:
			err = d.removeBlock(d.all[i].Table, "")
		case at.Kind == toml.Table && at.Dotted():
			err = d.removeKey(append(slices.Clone(path), at.Keys[0]))
		default:
			err = d.removeKey(path)
		}
		if err != nil {
			return err
		}
	}
}

// body returns the lines of the block of a header.
func (d *document) body(i int) (lines []string) {
	end := len(d.text)
	if next := d.blockEnd(i); next < len(d.all) {
		end = d.all[next].Start
	}
	text := strings.Trim(string(d.text[d.lineEnd(d.all[i].End):end]), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// addBody adds lines to the table at a path, which may be there already.
// isItem says that they are one more table of a list.
func (d *document) addBody(path []string, lines []string, isItem bool) error {
	if isItem {
		return d.addBlock("[["+spelled(path)+"]]", path, lines, "")
	}
	if at, rest := d.root.Find(path); len(rest) == 0 && at.Kind == toml.Table && d.header(at) >= 0 {
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") { // they are about the whole table
			lines = lines[1:]
		}
		return d.addLine(at, strings.Join(lines, d.nl))
	}
	return d.addBlock("["+spelled(path)+"]", path, lines, "")
}

// create makes the file of a place where it is missing.
func (p *Place) create() error {
	dir, err := private.Make(filepath.Dir(p.Path), ".")
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.OpenFile(filepath.Base(p.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return p.open()
}
