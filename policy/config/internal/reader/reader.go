// Package reader reads the values of a configuration's tables, and says of each that is wrong what it
// must be. Package config has the tables.
package reader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Key is one key of a table. What is known of it stands here and nowhere else: the reader, the encoder, the layers
// and the schema for editors range over keys.
type Key struct {
	Name   string
	Value  Value
	Text   string // what it is for
	Preset any    // what holds without it: a bool, an int or a string; nil for nothing
	Needs  string // what is wrong with a table that lacks the key; "" if it may be left out
}

// A Value describes one place of a file: the kinds of values that it may have, and the variable that keeps them.
type Value struct {
	Kind  toml.Kind
	Words []string                // the strings that are accepted; nil for any
	Form  Form                    // of a string, and of the names in a table
	Empty string                  // what is wrong with an empty string or array; "" if it may be empty
	Low   int64                   // of an integer, and High
	High  int64                   //
	Keys  []Key                   // of a table with known keys
	Names func(name string) Value // of a table whose keys the user chooses
	Items func() Value            // of an array

	Any []Value            // the alternatives, the usual one first
	Is  func(n *node) bool // whether a node of this kind is meant as this alternative; nil: it is

	Keep  func(n *node, where string) // keeps the value if it is right, and a table or an array before its parts
	Check func(n *node) error         // of a table or an array whose parts are right
	Write func() string               // returns the kept value as TOML; "" if there is none
}

// A Form is what a text must look like. Its pattern is for schemas, which have nothing but
// regular expressions: it accepts all that the check accepts, and more.
type Form struct {
	Pattern string
	Check   func(text string) error
}

// A Reader reads the values of one file, and collects what is wrong with them.
type Reader struct {
	File     string
	Problems policy.Problems
}

// New returns a Reader of a file, and the root of the file's tree.
func New(data []byte, file string) (*Reader, *node) {
	root, problems := parse(data, file)
	return &Reader{File: file, Problems: problems}, root
}

// Read reads the value of a node. key is its dotted name, "" for the whole file.
func (d *Reader) Read(n *node, key string, v Value) {
	v = v.alternative(n)
	switch {
	case v.Kind == toml.Array && n.Kind == toml.Table && !n.Inline:
		d.add(n, key, "%s must be an array of tables: write [[%s]]", key, key)
		return
	case v.Kind != n.Kind:
		d.add(n, key, "%s must be %s, not %s", key, v.Kind, n.Kind)
		return
	}
	before := len(d.Problems)
	if v.Empty != "" && (n.Kind == toml.String && n.Text == "" || n.Kind == toml.Array && len(n.Items) == 0) {
		d.add(n, key, "%s %s", key, v.Empty)
	}
	switch n.Kind {
	case toml.String:
		d.checkText(n, key, v)
	case toml.Integer:
		d.checkNumber(n, key, v)
	}
	if v.Keep != nil && len(d.Problems) == before {
		v.Keep(n, policy.Position(d.File, n.Line))
	}
	switch {
	case v.Items != nil:
		for _, item := range n.Items {
			d.Read(item, key, v.Items())
		}
	case v.Names != nil:
		d.readNames(n, key, v)
	case n.Kind == toml.Table:
		d.readKeys(n, key, v.Keys)
	}
	if v.Check != nil && len(d.Problems) == before {
		d.check(n, key, v.Check(n))
	}
}

// alternative returns the value that a node is meant as.
func (v Value) alternative(n *node) Value {
	for _, a := range v.Any {
		if a.Kind == n.Kind && (a.Is == nil || a.Is(n)) {
			return a
		}
	}
	if v.Any != nil {
		return v.Any[0].alternative(n)
	}
	return v
}

func (d *Reader) checkText(n *node, key string, v Value) {
	switch {
	case v.Words != nil && !slices.Contains(v.Words, n.Text):
		d.add(n, key, `%s must be "%s", not %q`, key, strings.Join(v.Words, `" or "`), policy.Abbreviate(n.Text))
	case v.Form.Check != nil:
		d.check(n, key, v.Form.Check(n.Text))
	}
}

func (d *Reader) checkNumber(n *node, key string, v Value) {
	switch {
	case v.Low <= n.Int && n.Int <= v.High:
	case v.Low == v.High:
		d.add(n, key, "%s %d is not known; this program reads %s = %d", key, n.Int, key, v.Low)
	default:
		d.add(n, key, "%s must be between %d and %d, not %d", key, v.Low, v.High, n.Int)
	}
}

// readKeys reads a table with known keys. An unknown key is an error that suggests the most
// similar known one.
func (d *Reader) readKeys(n *node, key string, known []Key) {
	for _, name := range n.Keys {
		if strings.IndexByte(name, 0) >= 0 {
			continue // parse has reported it
		}
		at := slices.IndexFunc(known, func(k Key) bool { return k.Name == name })
		if at < 0 {
			d.add(n.Table[name], childKey(key, name), "%s is not a known key; %s", childKey(key, name), instead(key, name, known))
			continue
		}
		d.Read(n.Table[name], childKey(key, name), known[at].Value)
	}
	for _, k := range known {
		if k.Needs != "" && n.Table[k.Name] == nil {
			d.add(n, childKey(key, k.Name), "%s %s", key, k.Needs)
		}
	}
}

// instead says what to write in place of an unknown key of a table.
func instead(table, name string, known []Key) string {
	if advice := foreignKeys[tableName(table)][name]; advice != "" {
		return advice
	}
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	if near := Suggest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "known here: " + strings.Join(names, ", ")
}

func childKey(key, name string) string {
	if key == "" {
		return show.Key(policy.Abbreviate(name))
	}
	return key + "." + show.Key(policy.Abbreviate(name))
}

// readNames reads a table whose keys the user chooses.
func (d *Reader) readNames(n *node, key string, v Value) {
	for _, name := range n.Keys {
		if strings.IndexByte(name, 0) >= 0 {
			continue // parse has reported it
		}
		if v.Form.Check != nil {
			if err := v.Form.Check(name); err != nil {
				d.add(n.Table[name], childKey(key, name), "%s", err)
			}
		}
		d.Read(n.Table[name], childKey(key, name), v.Names(name))
	}
}

// check turns the error of a validation into a problem.
func (d *Reader) check(n *node, key string, err error) {
	if err != nil {
		d.add(n, key, "%s: %s", key, err)
	}
}

func (d *Reader) add(n *node, key, format string, args ...any) {
	if len(d.Problems) < 20*policy.MaxProblems {
		d.Problems = append(d.Problems, policy.Problem{File: d.File, Line: n.Line, Key: key, Message: fmt.Sprintf(format, args...)})
	}
}
