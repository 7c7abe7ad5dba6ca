package lockfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// A decoder reads a tree of nodes. It keeps the first fault only.
type decoder struct{ err error }

func (d *decoder) fail(n *toml.Node, format string, args ...any) {
	if d.err == nil {
		d.err = fault(n.Line, format+mend, args...)
	}
}

func (d *decoder) members(n *toml.Node, each func(name string, v *toml.Node)) {
	if n.Kind != toml.Table {
		d.fail(n, "%s is expected here, and this is %s", toml.Table, kindName(n.Kind))
		return
	}
	for _, name := range n.Keys {
		v := n.Table[name]
		if v.Tables {
			d.fail(v, "a lock file has no array of tables")
		}
		if d.err != nil {
			return
		}
		each(name, v)
	}
}

// texts reads a table of strings. into returns nil for a name that it does not know.
func (d *decoder) texts(n *toml.Node, into func(name string) *string) {
	d.members(n, func(name string, v *toml.Node) { d.text(name, v, into(name)) })
}

func (d *decoder) text(name string, v *toml.Node, into *string) {
	switch {
	case into == nil:
		d.fail(v, "the key %s is not known to this mcp-jail; remove it, or install a newer mcp-jail", show.Named(name, 80))
	case v.Kind != toml.String:
		d.fail(v, "%s is %s, and has to be a string", show.Named(name, 80), kindName(v.Kind))
	default:
		*into = v.Text
	}
}

func (d *decoder) find(root *toml.Node, key Key) (found *Entry) {
	packages := root.Table[string(key.Ecosystem)]
	if packages == nil {
		return nil
	}
	d.members(packages, func(spec string, n *toml.Node) {
		if spec == key.Spec {
			found = d.entry(key, n)
		}
	})
	return found
}

func (d *decoder) entry(key Key, n *toml.Node) *Entry {
	e := &Entry{Key: key}
	var pinned, lock string
	fields := map[string]*string{
		"note": &e.Note, "name": &e.Name, "version": &e.Version, "integrity": &e.Integrity, "source": (*string)(&e.Source), "program": &e.Program,
		"file": &e.File, "engines": &e.Engines, "pinned": &pinned, "tree": &e.Tree, "files": &e.Files, "lock": &lock,
	}
	d.members(n, func(name string, v *toml.Node) {
		switch name {
		case "packages":
			e.Packages = make([]Package, 0, len(v.Keys))
			d.members(v, func(path string, v *toml.Node) { e.Packages = append(e.Packages, d.pkg(path, v)) })
		case "pins":
			e.Pins = make(map[string]*toolpin.Pin, len(v.Keys))
			d.members(v, func(name string, v *toml.Node) { e.Pins[name] = d.pin(v) })
		default:
			d.text(name, v, fields[name])
		}
	})
	slices.SortFunc(e.Packages, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	if d.err != nil {
		return e
	}
	if lock != "" {
		e.Lock = json.RawMessage(lock)
	}
	var err error
	if e.Pinned, err = time.Parse(time.RFC3339, pinned); err != nil {
		d.fail(n, "pinned is %q, and has to be a date and time like 2026-11-22T20:00:00Z", show.Named(pinned, 40))
	} else {
		e.Pinned = e.Pinned.UTC()
	}
	if err := e.check(); err != nil {
		d.fail(n, "%s", err)
	}
	return e
}

func (d *decoder) pkg(path string, n *toml.Node) Package {
	p := Package{Path: path}
	d.texts(n, func(name string) *string {
		switch name {
		case "version":
			return &p.Version
		case "name":
			return &p.Name
		case "integrity":
			return &p.Integrity
		case "resolved":
			return &p.Resolved
		case "install_scripts":
			return (*string)(&p.Scripts)
		}
		return nil
	})
	if d.err == nil && (p.Version == "" || !p.Scripts.valid()) {
		d.fail(n, "the package %s has no version, or install_scripts is neither run nor skipped", show.Named(path, 120))
	}
	return p
}

func (d *decoder) pin(n *toml.Node) *toolpin.Pin {
	p := &toolpin.Pin{}
	d.members(n, func(name string, v *toml.Node) {
		var into *string
		switch name {
		case "server":
			into = &p.Server.Name
		case "version":
			into = &p.Server.Version
		case "instructions":
			into = &p.Server.Instructions
		case "instructions_hash":
			into = &p.Server.Hash
		case "tools":
			p.Tools = make([]toolpin.Tool, 0, len(v.Keys))
			d.members(v, func(name string, v *toml.Node) { p.Tools = append(p.Tools, d.tool(name, v)) })
			slices.SortFunc(p.Tools, func(a, b toolpin.Tool) int { return strings.Compare(a.Name, b.Name) })
			return
		}
		d.text(name, v, into)
	})
	return p
}

func (d *decoder) tool(name string, n *toml.Node) toolpin.Tool {
	t := toolpin.Tool{Name: name}
	d.members(n, func(name string, v *toml.Node) {
		into, isText := (*string)(nil), false
		switch name {
		case "hash":
			into = &t.Hash
		case "title", "title_json":
			into, isText = &t.Title, name == "title"
		case "description", "description_json":
			into, isText = &t.Description, name == "description"
		case "input_schema":
			into = &t.InputSchema
		case "output_schema":
			into = &t.OutputSchema
		case "annotations":
			into = &t.Annotations
		case "times":
			var err error
			if t.Times, err = strconv.Atoi(v.Text); err != nil || v.Kind != toml.Integer || t.Times < 2 || t.Times > 1_000_000 {
				d.fail(v, "times has to be an integer from 2 to 1000000")
			}
			return
		}
		if into != nil && *into != "" {
			d.fail(v, "%s is there as text and as JSON", strings.TrimSuffix(name, "_json"))
		}
		d.text(name, v, into)
		// The file has a text; the pin has canonical JSON, over which the hash goes.
		if isText && d.err == nil {
			*into = toolpin.Quote(*into)
		}
	})
	if d.err == nil && t.Hash == "" {
		d.fail(n, "the tool %s has no hash", show.Named(name, 80))
	}
	return t
}

// A VersionError reports a file that a newer mcp-jail wrote.
type VersionError struct {
	File    string
	Version string // of the format
	Needs   string // what the file says that it needs; "" if it does not say
}

func (e *VersionError) Error() string {
	needs := e.Needs
	if needs == "" {
		needs = "a newer mcp-jail"
	}
	file := e.File
	if file == "" {
		file = FileName
	}
	return fmt.Sprintf("%s has format version %s, and this mcp-jail reads version %d; install %s", file, show.Named(e.Version, 20), formatVersion, show.Named(needs, 80))
}

// checkVersion returns an error unless the file has this format version. In a file of a newer
// version, nothing else is certain.
func checkVersion(root *toml.Node) error {
	v := root.Table["version"]
	if v == nil || v.Kind != toml.Integer {
		return fault(1, "there is no version = %d; this is not a lock file of mcp-jail", formatVersion)
	}
	if v.Text == "1" || v.Text == strconv.Itoa(formatVersion) {
		return nil
	}
	e := &VersionError{Version: v.Text}
	if needs := root.Table["needs"]; needs != nil && needs.Kind == toml.String {
		e.Needs = needs.Text
	}
	return e
}
