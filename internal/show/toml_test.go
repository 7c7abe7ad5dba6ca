package show

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	burntsushi "github.com/BurntSushi/toml"
	gotoml "github.com/pelletier/go-toml/v2"
	tomltest "github.com/toml-lang/toml-test/v2"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// refusedTOML holds the valid documents of toml-test that Parse reports on
// purpose, with what it reports.
var refusedTOML = map[string]faultKind{
	"valid/key/quoted-unicode":    NULInKey,
	"valid/string/hex-escape":     NULInText,
	"valid/string/quoted-unicode": NULInText,
	"valid/string/unicode-escape": NULInText,
}

// TestTOMLSuite runs Parse on the documents of toml-test. It must accept the valid
// ones, with their values, and refuse the others. The comparison is one of syntax: a
// configuration has no floats, dates or times, so a node keeps only the type of such a
// value.
func TestTOMLSuite(t *testing.T) {
	suite := tomltest.TestCases()
	list, err := fs.ReadFile(suite, "files-toml-1.1.0")
	testkit.Must(t, err)
	valid, invalid := 0, 0
	for _, file := range strings.Fields(string(list)) {
		name, isTOML := strings.CutSuffix(file, ".toml")
		if !isTOML {
			continue
		}
		data, err := fs.ReadFile(suite, file)
		testkit.Must(t, err)
		root, faults := Parse(data, 16)
		if strings.HasPrefix(name, "invalid/") {
			invalid++
			if len(faults) == 0 {
				t.Errorf("%s is accepted:\n%s", name, data)
			}
			continue
		}
		valid++
		if why := refusedTOML[name]; why != 0 {
			if len(faults) == 0 || faults[0].What != why {
				t.Errorf("%s: %v, want %d", name, faults, why)
			}
			continue
		}
		if len(faults) > 0 {
			t.Errorf("%s is refused: %v\n%s", name, faults, data)
			continue
		}
		text, err := fs.ReadFile(suite, name+".json")
		testkit.Must(t, err)
		var want any
		testkit.Must(t, json.Unmarshal(text, &want))
		if fault := unlikeSuite(root, want); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
		checkPlaces(t, name, data, root)
	}
	if valid < 200 || invalid < 400 {
		t.Errorf("only %d valid and %d invalid documents were tried", valid, invalid)
	}
}

// checkPlaces tests that what a document has at the place of a value is the value.
func checkPlaces(t *testing.T, name string, data []byte, n *Node) {
	t.Helper()
	all := n.Items
	for _, key := range n.Keys {
		all = append(all, n.Table[key])
	}
	for _, v := range all {
		if v.End >= 0 {
			again, faults := Parse(append([]byte("k = "), data[v.Start:v.End]...), 16)
			if got := again.Table["k"]; len(faults) > 0 || got == nil || !slices.Equal(got.Keys, v.Keys) || len(got.Items) != len(v.Items) || got.tagged() != v.tagged() {
				t.Errorf("%s: %q is at the place of %+v", name, data[v.Start:v.End], v)
			}
		} else if v.Inline {
			t.Errorf("%s: %+v has no place", name, v)
		}
		checkPlaces(t, name, data, v)
	}
}

// unlikeSuite describes where a node differs from the expected value of the suite: tables,
// arrays, and {"type": …, "value": …} for all others.
func unlikeSuite(n *Node, want any) string {
	switch want := want.(type) {
	case []any:
		if n.Kind != Array || len(n.Items) != len(want) {
			return fmt.Sprintf("%s with %d items, want an array of %d", n.Kind, len(n.Items), len(want))
		}
		for i := range want {
			if fault := unlikeSuite(n.Items[i], want[i]); fault != "" {
				return fmt.Sprintf("[%d]: %s", i, fault)
			}
		}
	case map[string]any:
		kind, isText := want["type"].(string)
		value, isValue := want["value"].(string)
		if isText && isValue && len(want) == 2 {
			if got := n.tagged(); got != taggedOf(kind, value) {
				return fmt.Sprintf("%s, want %s %q", got, kind, value)
			}
			return ""
		}
		if n.Kind != Table || len(n.Table) != len(want) || len(n.Keys) != len(want) {
			return fmt.Sprintf("%s with the keys %q, want a table of %d", n.Kind, n.Keys, len(want))
		}
		for key, value := range want {
			if n.Table[key] == nil {
				return fmt.Sprintf("%q is missing", key)
			}
			if fault := unlikeSuite(n.Table[key], value); fault != "" {
				return fmt.Sprintf("%q: %s", key, fault)
			}
		}
	}
	return ""
}

// tagged is a value with its type, as far as a node keeps the type.
func (n *Node) tagged() string {
	switch n.Kind {
	case String:
		return n.Kind.String() + " " + strconv.Quote(n.Text)
	case Integer:
		return n.Kind.String() + " " + strconv.FormatInt(n.Int, 10)
	case Bool:
		return n.Kind.String() + " " + strconv.FormatBool(n.Bool)
	}
	return n.Kind.String()
}

func taggedOf(kind, value string) string {
	n := &Node{}
	switch kind {
	case "string":
		n.Kind, n.Text = String, value
	case "integer":
		n.Kind = Integer
		n.Int, _ = strconv.ParseInt(value, 10, 64)
	case "bool":
		n.Kind, n.Bool = Bool, value == "true"
	case "float":
		n.Kind = float
	default:
		n.Kind = date
	}
	return n.tagged()
}

// onPurpose holds the faults of documents that are TOML.
var onPurpose = []faultKind{NULInKey, NULInText, DeepValue, LongKey}

// FuzzTOML compares Parse with the decoder of go-toml. Both must accept the same
// documents and read the same values. There is one exception: in go-toml a dotted key
// cannot extend a table that a header created implicitly ([a.b.c], then b.d = 1 in [a]).
// The standard does not decide this, so Parse follows the decoder that
// toml-test is built on.
func FuzzTOML(f *testing.F) {
	suite := tomltest.TestCases()
	err := fs.WalkDir(suite, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".toml") {
			return err
		}
		data, err := fs.ReadFile(suite, file)
		f.Add(data)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("[a.b.c]\n[a]\nb.d = 1"))
	f.Add([]byte("a = 1E700"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, faults := Parse(data, 16)
		want := map[string]any{}
		err := gotoml.Unmarshal(data, &want)
		if err == nil && len(faults) > 0 && slices.ContainsFunc(faults, func(f Fault) bool { return slices.Contains(onPurpose, f.What) }) {
			return
		}
		if err != nil && len(faults) == 0 && strings.HasSuffix(err.Error(), "is already defined") {
			clear(want)
			err = burntsushi.Unmarshal(data, &want)
		}
		if err != nil && len(faults) == 0 && strings.Contains(err.Error(), "unable to parse float") && strings.Contains(err.Error(), "out of range") {
			return // a node does not keep the value of a float
		}
		if (err == nil) != (len(faults) == 0) {
			t.Fatalf("faults %v, go-toml %v", faults, err)
		}
		if err != nil {
			return
		}
		if fault := unlike(root, want); fault != "" {
			t.Error(fault)
		}
	})
}

// unlike describes where a node differs from a value of go-toml.
func unlike(n *Node, want any) string {
	switch want := want.(type) {
	case map[string]any:
		if n.Kind != Table || len(n.Table) != len(want) || len(n.Keys) != len(want) {
			return fmt.Sprintf("%s with the keys %q, want %v", n.Kind, n.Keys, want)
		}
		for key, value := range want {
			if n.Table[key] == nil {
				return fmt.Sprintf("%q is missing", key)
			}
			if fault := unlike(n.Table[key], value); fault != "" {
				return fmt.Sprintf("%q: %s", key, fault)
			}
		}
		return ""
	case []any:
		if n.Kind != Array || len(n.Items) != len(want) {
			return fmt.Sprintf("%s with %d items, want %v", n.Kind, len(n.Items), want)
		}
		for i := range want {
			if fault := unlike(n.Items[i], want[i]); fault != "" {
				return fmt.Sprintf("[%d]: %s", i, fault)
			}
		}
		return ""
	}
	if tables, ok := want.([]map[string]any); ok { // as BurntSushi has them
		list := make([]any, len(tables))
		for i := range tables {
			list[i] = tables[i]
		}
		return unlike(n, list)
	}
	kinds := map[string]string{"string": "string", "int64": "integer", "bool": "bool", "float64": "float"}
	if got := n.tagged(); got != taggedOf(kinds[fmt.Sprintf("%T", want)], fmt.Sprint(want)) {
		return fmt.Sprintf("%s, want %T %v", got, want, want)
	}
	return ""
}

// TestFaultsOfEachKind tests that many faults of one kind hide no fault of another.
func TestFaultsOfEachKind(t *testing.T) {
	text := "k = 1\nk = 2\nz = [" + strings.Repeat(`"\u0000",`, 2*maxFaults) + "]\n[a\n"
	count := map[faultKind]int{}
	_, faults := Parse([]byte(text), 16)
	for _, f := range faults {
		count[f.What]++
	}
	if count[NULInText] != maxFaults || count[KeyTwice] != 1 || count[syntax] != 1 {
		t.Errorf("%v", count)
	}
}
