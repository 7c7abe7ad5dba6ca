package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// FileName is the name of the lock file, in the directory of the user's configuration.
const FileName = "mcp-jail.lock"

// Ecosystem is a kind of registry, with its own names of packages.
type Ecosystem string

const (
	NPM  Ecosystem = "npm"
	PyPI Ecosystem = "pypi"
)

// A Key finds an entry. Spec is what a launcher's line asks for, as runline.Line.Wanted writes it
// without the ecosystem: "@scope/pkg@latest", "pkg@^1". It may name several packages, and options,
// separated by spaces.
type Key struct {
	Ecosystem Ecosystem `json:"ecosystem"`
	Spec      string    `json:"spec"`
}

func (k Key) String() string { return string(k.Ecosystem) + " " + show.Named(k.Spec, 120) }

// An Entry is what was installed for a key. Only Name, Version and Pinned are always there.
type Entry struct {
	Key
	Note       string    `json:"note,omitzero"` // the user's own
	Name       string    `json:"name"`          // of the package
	Version    string    `json:"version"`       // resolved
	Integrity  string    `json:"integrity,omitzero"`
	Program    string    `json:"program,omitzero"` // the chosen program's name
	File       string    `json:"file,omitzero"`    // the program's file, relative to the tree's root, with slashes
	Engines    string    `json:"engines,omitzero"` // the range of interpreters that the package asks for
	Pinned     time.Time `json:"pinned"`
	Tree       string    `json:"tree,omitzero"`       // digest of the list of packages
	Files      string    `json:"files,omitzero"`      // digest of the unpacked files
	ScriptsRan bool      `json:"scriptsRan,omitzero"` // install scripts ran, or a source was built
	// Lock is npm's package-lock.json of the tree, and Packages are those of a tree of PyPI.
	Lock     json.RawMessage `json:"lock,omitzero"`
	Packages []Package       `json:"packages,omitzero"`
	// Pins are the tool definitions. The caller chooses the names: servers list other tools
	// for other arguments and other capabilities of the client.
	Pins map[string]*toolpin.Pin `json:"pins,omitzero"`
}

// A Package is one package of a tree of PyPI. Hashes are those that its file may have: "sha256:HEX".
type Package struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Hashes  []string `json:"hashes"`
}

// A Part is one package of a tree.
type part struct {
	Path      string // npm: "node_modules/a/node_modules/b"; PyPI: the name
	Name      string
	Version   string
	Integrity string // "" where there is none, as for a package in the archive of another one
	Scripts   bool   // it has install scripts
}

// List returns the packages of an entry's tree, sorted by their paths.
func (e *Entry) List() (list []part, err error) {
	if e.Ecosystem != NPM || e.Lock == nil {
		for _, p := range e.Packages {
			list = append(list, part{Path: p.Name, Name: p.Name, Version: p.Version, Integrity: strings.Join(p.Hashes, " ")})
		}
		return list, nil
	}
	packages, err := npm.ReadLock(e.Lock)
	if err != nil {
		return nil, fmt.Errorf("the lock entry of %s: %w", e.Key, err)
	}
	for _, p := range packages {
		list = append(list, part{p.Path, p.Name, p.Version, p.Integrity, p.HasInstallScript})
	}
	return list, nil
}

// HasScripts reports whether packages of npm have install scripts. Each start asks it, and [Entry.List] would take
// some milliseconds. npm writes the member for these packages alone.
func (e *Entry) HasScripts() bool { return bytes.Contains(e.Lock, []byte(`"hasInstallScript"`)) }

// check returns an error that begins with the key, unless an entry is one that the file may have.
func (e *Entry) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("the entry of %s: %s", e.Key, fmt.Sprintf(format, args...))
	}
	switch {
	case e.Ecosystem != NPM && e.Ecosystem != PyPI:
		return fail("%q is neither npm nor pypi", show.Named(string(e.Ecosystem), 40))
	case e.Spec == "":
		return fail("its spec is empty")
	case e.Name == "" || e.Version == "":
		return fail("it has no name or no version")
	case e.Pinned.IsZero():
		return fail("it has no date")
	case e.File != "" && (!fs.ValidPath(e.File) || e.File == "." || strings.ContainsAny(e.File, "\\:\x00")):
		return fail("the file %s is not inside of the tree", show.Named(e.File, 120))
	}
	for i, p := range e.Packages {
		if p.Name == "" || p.Version == "" {
			return fail("a package has no name or no version")
		}
		if i > 0 && e.Packages[i-1].Name >= p.Name {
			return fail("the package %s is not in order, or is there twice", show.Named(p.Name, 120))
		}
	}
	for name, p := range e.Pins {
		if p == nil {
			return fail("the pin %s is empty", show.Named(name, 80))
		}
		for i, t := range p.Tools {
			if t.Definition == "" || i > 0 && p.Tools[i-1].Name >= t.Name {
				return fail("the pin %s has a tool without a definition, or its tools are not in order", show.Named(name, 80))
			}
		}
	}
	return nil
}
