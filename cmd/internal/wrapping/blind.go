package wrapping

import (
	"bytes"
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
	More   int // how many others there are of the same kind
}

// Unread returns the files of a selection's clients that exist and are not read. A selection of
// files has none.
func Unread(host clients.Host, sel Selection) (all []Blind) {
	if len(sel.Files) > 0 {
		return nil
	}
	for _, c := range clients.All() {
		if len(sel.Clients) > 0 && !selects(sel, c) {
			continue
		}
		for _, b := range blindOf(c) {
			var found *Blind
			for _, path := range existing(b.Place, host) {
				if !mentions(path, b.Word, b.Place.Scope == clients.Project) {
					continue
				}
				if found == nil {
					all = append(all, Blind{Client: c, Path: path, Why: b.Why})
					found = &all[len(all)-1]
				} else {
					found.More++
				}
			}
		}
	}
	return all
}

func selects(sel Selection, c clients.Client) bool {
	for _, name := range sel.Clients {
		if chosen, err := clients.ByName(name); err == nil && chosen.Name == c.Name {
			return true
		}
	}
	return false
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
func mentions(path, word string, project bool) bool {
	if word == "" {
		return true
	}
	file, err := ownfile.Read(filepath.Clean(path))
	return err != nil || bytes.Contains(file.Data, []byte(word)) ||
		project && slices.ContainsFunc(escapes, func(code []byte) bool { return bytes.Contains(file.Data, code) })
}
