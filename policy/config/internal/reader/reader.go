// Package reader reads the values of a configuration's tables, and says of each that is wrong what it
// must be. Package config has the tables. A [TrustStore] keeps which project files the user accepted, and
// a [Stamp] tells whether files have changed.
//
// It reads the files that it is given, and writes the trust store alone. Begin at [New].
package reader

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
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
	Kind  show.Kind
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
type reader struct {
	File     string
	Problems policy.Problems
}

// New returns a Reader of a file, and the root of the file's tree.
func New(data []byte, file string) (*reader, *node) {
	root, problems := parse(data, file)
	return &reader{File: file, Problems: problems}, root
}

// Read reads the value of a node. key is its dotted name, "" for the whole file.
func (d *reader) Read(n *node, key string, v Value) {
	v = v.alternative(n)
	switch {
	case v.Kind == show.Array && n.Kind == show.Table && !n.Inline:
		d.add(n, key, "%s must be an array of tables: write [[%s]]", key, key)
		return
	case v.Kind != n.Kind:
		d.add(n, key, "%s must be %s, not %s", key, v.Kind, n.Kind)
		return
	}
	before := len(d.Problems)
	if v.Empty != "" && (n.Kind == show.String && n.Text == "" || n.Kind == show.Array && len(n.Items) == 0) {
		d.add(n, key, "%s %s", key, v.Empty)
	}
	switch n.Kind {
	case show.String:
		d.checkText(n, key, v)
	case show.Integer:
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
	case n.Kind == show.Table:
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

func (d *reader) checkText(n *node, key string, v Value) {
	switch {
	case v.Words != nil && !slices.Contains(v.Words, n.Text):
		d.add(n, key, `%s must be "%s", not %q`, key, strings.Join(v.Words, `" or "`), policy.Abbreviate(n.Text))
	case v.Form.Check != nil:
		d.check(n, key, v.Form.Check(n.Text))
	}
}

func (d *reader) checkNumber(n *node, key string, v Value) {
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
func (d *reader) readKeys(n *node, key string, known []Key) {
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
	if advice := foreignAdvice(tableName(table), name); advice != "" {
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
func (d *reader) readNames(n *node, key string, v Value) {
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
func (d *reader) check(n *node, key string, err error) {
	if err != nil {
		d.add(n, key, "%s: %s", key, err)
	}
}

func (d *reader) add(n *node, key, format string, args ...any) {
	if len(d.Problems) < 20*policy.MaxProblems {
		d.Problems = append(d.Problems, policy.Problem{File: d.File, Line: n.Line, Key: key, Message: fmt.Sprintf(format, args...)})
	}
}

//go:embed foreign.txt
var foreign string

// foreignAdvice returns advice for a key of another program's configuration, or one in the wrong table. Many
// configurations are copied from the files of clients, or of programs that limit tools.
func foreignAdvice(table, key string) string {
	for line := range strings.Lines(foreign) {
		left, advice, _ := strings.Cut(strings.TrimSpace(line), " : ")
		if words := strings.Fields(left); line[0] != '#' && words[0] == table && slices.Contains(words[1:], key) {
			return advice
		}
	}
	return ""
}

// tableName returns the table of foreign.txt for a dotted key.
func tableName(key string) string {
	parts := strings.Split(key, ".")
	switch {
	case key == "":
		return "-"
	case len(parts) == 2 && parts[0] == "servers":
		return "server"
	}
	return parts[len(parts)-1]
}

// Suggest returns the candidate that word most likely means: the one with the smallest edit
// distance. The distance may be two, or a third of the candidate's length if that is more. A word of
// three letters must begin as the candidate does. The first of equal candidates wins. Suggest returns "" if none is close.
func Suggest(word string, candidates []string) string {
	if len(word) > 64 {
		return "" // a hostile key is not a typing error
	}
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		most := max(2, (len(c)+1)/3)
		// The lengths alone are too far apart, or too many words differ as little.
		if n := len(word) - len(c); max(n, -n) > most || len(word) < 4 && word != "" && !strings.HasPrefix(c, word[:1]) {
			continue
		}
		if d := editDistance(word, c); d <= most && d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	before := make([]int, len(b)+1) // the row before the previous one, for swaps
	prev := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}

const (
	MaxFileSize = 1 << 20 // docs/reference.md "Configuration"
	maxDepth    = 16      // of nested tables and arrays, and of the parts of a key
)

type node = show.Node

func parse(data []byte, file string) (root *node, problems policy.Problems) {
	if len(data) > MaxFileSize {
		message := fmt.Sprintf("is %d bytes; a configuration of more than %d bytes is refused", len(data), MaxFileSize)
		return &node{Kind: show.Table, Line: 1}, policy.Problems{{File: file, Message: message}}
	}
	if at := bytes.IndexByte(data, 0); at >= 0 && utf8.Valid(data) {
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return &node{Kind: show.Table, Line: 1}, policy.Problems{{File: file, Line: line, Message: "contains a NUL byte"}}
	}
	root, faults := show.Parse(data, maxDepth)
	for _, f := range faults {
		key, message := describeFault(f)
		problems = append(problems, policy.Problem{File: file, Line: f.Line, Key: key, Message: message})
	}
	return root, problems
}

func describeFault(f show.Fault) (key, message string) {
	key = policy.JoinKey(f.Key)
	taken := policy.JoinKey(f.Key[:f.At])
	switch f.What {
	case show.NotUTF8:
		message = "is not valid UTF-8 (byte " + f.Text + ")"
	case show.Crash:
		message = "cannot be parsed: " + f.Text
	case show.LongKey:
		message = fmt.Sprintf("the key has more than %d parts", maxDepth)
	case show.NULInKey:
		message = "the key contains a NUL"
	case show.NULInText:
		message = "contains a NUL"
	case show.DeepValue:
		message = fmt.Sprintf("arrays and tables are nested more than %d deep", maxDepth)
	case show.BadNumber:
		message = fmt.Sprintf("the number %s is out of range", policy.Abbreviate(f.Text))
	case show.BadDate:
		message = policy.Abbreviate(f.Text) + " is not a date or time"
	case show.NotTables:
		message = fmt.Sprintf("[[%s]] is already defined in line %d, and not as an array of tables", key, f.Node.Line)
	case show.NotTable:
		kind := f.Node.Kind.String()
		if f.Node.Kind == show.Table {
			kind = "an inline table"
		}
		message = fmt.Sprintf("[%s] cannot be a table: %s is %s in line %d", key, taken, kind, f.Node.Line)
	case show.HeaderTwice:
		message = fmt.Sprintf("[%s] is defined twice, first in line %d", key, f.Node.Line)
	case show.NotExtendable:
		message = fmt.Sprintf("%s cannot be extended here: it is defined in line %d", taken, f.Node.Line)
	case show.KeyTwice:
		message = fmt.Sprintf("%s is given twice, first in line %d", key, f.Node.Line)
	default:
		message = "is not valid TOML: " + f.Text
	}
	return key, message
}
