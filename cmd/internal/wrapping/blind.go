package wrapping

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
)

// Blind is a file from which a client takes servers, and which mcp-jail does not read.
type Blind struct {
	Client clients.Client
	Path   string
	Why    string
	More   int  // how many others there are of the same kind
	Starts bool // it is known to start a server
}

// Unread returns the files of a selection's clients that exist and are not read, and the servers of
// their plugins that are in no file. A selection of files has none.
func Unread(host clients.Host, sel Selection) (all []Blind) {
	if len(sel.Files) > 0 {
		return nil
	}
	of := slices.DeleteFunc(clients.All(), func(c clients.Client) bool { return !sel.selects(c) })
	read := map[string]bool{}
	for _, c := range of {
		for _, p := range pluginsOf(c, host) {
			for _, f := range p.Files {
				read[f.Path] = true
			}
			for _, n := range p.Named {
				all = append(all, Blind{Client: c, Path: n.What, Why: "of " + p.Title() + ": " + n.Why, Starts: p.Off == ""})
			}
		}
	}
	return append(unreadOf(host, of, read), all...)
}

// selects reports whether the selection means the files of a client.
func (s Selection) selects(c clients.Client) bool {
	return len(s.Clients) == 0 || slices.ContainsFunc(s.Clients, func(name string) bool {
		chosen, err := clients.ByName(name)
		return err == nil && chosen.Name == c.Name
	})
}

// unreadOf returns the files of clients that exist and are not read. The paths of read are read all the same.
func unreadOf(host clients.Host, of []clients.Client, read map[string]bool) (all []Blind) {
	for _, c := range of {
		for _, b := range blindOf(c) {
			var found *Blind
			for _, path := range existing(b.Place, host) {
				if read[path] || !mentions(path, b, host) {
					continue
				}
				starts := b.Word == clients.Providers
				if starts && isObsolete(path) {
					continue
				}
				if found == nil || starts {
					all = append(all, Blind{Client: c, Path: path, Why: b.Why, Starts: starts})
					found = &all[len(all)-1]
				} else {
					found.More++
				}
			}
		}
	}
	return all
}

// blindOf returns the files of a client that are not read. Those of the system and of administrators
// are among them.
func blindOf(c clients.Client) []clients.Blind {
	all := c.Blind
	for _, p := range c.Places {
		switch p.Scope {
		case clients.System:
			all = append(all, clients.Blind{Place: p, Why: "it is for all users"})
		case clients.Managed:
			all = append(all, clients.Blind{Place: p, Why: "it comes from an administrator"})
		}
	}
	return all
}

// escapes are how YAML, TOML and JSON begin the code of a character.
var escapes = [][]byte{[]byte(`\u`), []byte(`\U`), []byte(`\x`), []byte("\\\n"), []byte("\\\r")}

// mentions reports whether a file has a word. One that cannot be read may have it, and so may one of
// a project that spells characters by their codes.
func mentions(path string, b clients.Blind, host clients.Host) bool {
	if b.Word == "" {
		return true
	}
	file, err := readPlace(filepath.Clean(path), b.Place)
	return err != nil || bytes.Contains(file.Data, []byte(b.Word)) ||
		b.Place.Scope == clients.Project && slices.ContainsFunc(escapes, func(code []byte) bool { return bytes.Contains(file.Data, code) })
}

// isObsolete reports whether the editor has replaced or removed the extension of a manifest, and only not
// yet deleted it.
func isObsolete(manifest string) bool {
	dir := filepath.Dir(manifest)
	file, err := ownfile.Read(filepath.Join(filepath.Dir(dir), ".obsolete"))
	var gone map[string]bool
	return err == nil && json.Unmarshal(file.Data, &gone) == nil && gone[filepath.Base(dir)]
}
