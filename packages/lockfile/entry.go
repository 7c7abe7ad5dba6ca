package lockfile

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// maxSize is the largest lock file that is read or written.
const maxSize = 8 << 20

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
	Ecosystem Ecosystem
	Spec      string
}

func (k Key) String() string { return string(k.Ecosystem) + " " + show.Named(k.Spec, 120) }

// An Entry is what was installed for a key. Only Name, Version and Pinned are always there.
type Entry struct {
	Key
	Note      string // the user's own
	Name      string // of the package
	Version   string // resolved
	Integrity string // of the package, as its registry writes it
	Source    Source
	Program   string // the chosen program's name
	File      string // the program's file, relative to the tree's root, with slashes
	Engines   string // the range of interpreters that the package asks for
	Pinned    time.Time
	Tree      string          // digest of the list of packages
	Files     string          // digest of the unpacked files
	Lock      json.RawMessage // npm's own package-lock.json, whole
	// Packages is sorted by Path, and no Path is in it twice.
	Packages []Package
	// Pins are the tool definitions. The caller chooses the names: servers list other tools
	// for other arguments and other capabilities of the client.
	Pins map[string]*toolpin.Pin
}

// Source tells what decided about the integrities of an entry. Up to version 1 of the format, that
// may have been npm's cache, which a server may have written.
type Source string

const (
	FromCache    Source = ""         // npm's cache or the registry: an older mcp-jail has written the entry
	FromRegistry Source = "registry" // the registry
	Disputed     Source = "disputed" // the registry has something else now
)

// Proven reports whether the registry decided about the integrities of an entry. The caches of pip
// and uv never counted.
func (e *Entry) Proven() bool { return e.Ecosystem != NPM || e.Source == FromRegistry }

// A Package is one package of a tree.
type Package struct {
	Path      string // npm: "node_modules/a/node_modules/b"; PyPI: the name
	Name      string // "" if Path says it
	Version   string
	Integrity string // "sha512-…", "sha256:…"; "" where there is none, as for git
	Resolved  string // where it came from, if not from a registry
	Scripts   Scripts
}

// Scripts tells about the install scripts of a package.
type Scripts string

const (
	NoScripts      Scripts = ""        // it has none
	ScriptsRun     Scripts = "run"     // they were run
	ScriptsSkipped Scripts = "skipped" // they were not run
)

func (e *Entry) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("the lock entry of %s: %s", e.Key, fmt.Sprintf(format, args...))
	}
	switch {
	case e.Ecosystem != NPM && e.Ecosystem != PyPI:
		return fail("%q is neither npm nor pypi", string(e.Ecosystem))
	case e.Spec == "":
		return fail("the spec is empty")
	case e.Name == "" || e.Version == "":
		return fail("it has no name or no version")
	case e.Pinned.IsZero():
		return fail("it has no date")
	case e.Source != FromCache && e.Source != FromRegistry && e.Source != Disputed:
		return fail("its source is %q", show.Named(string(e.Source), 40))
	case e.File != "" && !isLocal(e.File):
		return fail("the file %s is not inside of the tree", show.Named(e.File, 120))
	}
	texts := []string{e.Spec, e.Note, e.Name, e.Version, e.Integrity, e.Program, e.File, e.Engines, e.Tree, e.Files}
	for i, p := range e.Packages {
		if p.Path == "" || p.Version == "" {
			return fail("a package has no path or no version")
		}
		if !isLocal(p.Path) {
			return fail("the package %s is not inside of the tree", show.Named(p.Path, 120))
		}
		if !p.Scripts.valid() {
			return fail("the scripts of %s are %q", show.Named(p.Path, 120), string(p.Scripts))
		}
		if i > 0 && e.Packages[i-1].Path >= p.Path {
			return fail("the package %s is not in order, or is there twice", show.Named(p.Path, 120))
		}
		texts = append(texts, p.Path, p.Name, p.Version, p.Integrity, p.Resolved)
	}
	for name, p := range e.Pins {
		if p == nil {
			return fail("the pin %s is nil", show.Named(name, 80))
		}
		texts = append(texts, name, p.Server.Name, p.Server.Version, p.Server.Instructions, p.Server.Hash)
		for i, t := range p.Tools {
			if t.Hash == "" || i > 0 && p.Tools[i-1].Name >= t.Name {
				return fail("the pin %s has a tool without a hash, or its tools are not in order", show.Named(name, 80))
			}
			texts = append(texts, t.Name, t.Hash, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations)
		}
	}
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return fail("the text %s is not valid UTF-8, or contains a NUL", show.Named(text, 80))
		}
	}
	return nil
}

func (s Scripts) valid() bool { return s == NoScripts || s == ScriptsRun || s == ScriptsSkipped }

func isLocal(p string) bool {
	return p == path.Clean(p) && p != "." && p != ".." && !strings.HasPrefix(p, "../") && !strings.HasPrefix(p, "/") && !strings.ContainsAny(p, "\\:\x00")
}
