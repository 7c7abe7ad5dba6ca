package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	burntsushi "github.com/BurntSushi/toml"
	"github.com/pelletier/go-toml/v2"
	tomltest "github.com/toml-lang/toml-test/v2"
)

// refusedTOML holds the valid documents of toml-test that parseDocument refuses on
// purpose, with a part of the message.
var refusedTOML = map[string]string{
	"valid/key/quoted-unicode":    "the key contains a NUL",
	"valid/string/hex-escape":     "contains a NUL",
	"valid/string/quoted-unicode": "contains a NUL",
	"valid/string/unicode-escape": "contains a NUL",
}

// TestTOMLSuite runs parseDocument on the documents of toml-test. It must accept the valid
// ones, with their values, and refuse the others. The comparison is one of syntax: a
// configuration has no floats, dates or times, so a node keeps only the type of such a
// value.
func TestTOMLSuite(t *testing.T) {
	suite := tomltest.TestCases()
	list, err := fs.ReadFile(suite, "files-toml-1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	valid, invalid := 0, 0
	for _, file := range strings.Fields(string(list)) {
		name, isTOML := strings.CutSuffix(file, ".toml")
		if !isTOML {
			continue
		}
		data, err := fs.ReadFile(suite, file)
		if err != nil {
			t.Fatal(err)
		}
		root, problems := parseDocument(data, file)
		if strings.HasPrefix(name, "invalid/") {
			invalid++
			if len(problems) == 0 {
				t.Errorf("%s is accepted:\n%s", name, data)
			}
			continue
		}
		valid++
		if why := refusedTOML[name]; why != "" {
			if len(problems) == 0 || !strings.Contains(problems.Error(), why) {
				t.Errorf("%s: %v, want %q", name, problems, why)
			}
			continue
		}
		if len(problems) > 0 {
			t.Errorf("%s is refused: %v\n%s", name, problems, data)
			continue
		}
		text, err := fs.ReadFile(suite, name+".json")
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if fault := unlikeSuite(root, want); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
	if valid < 200 || invalid < 400 {
		t.Errorf("only %d valid and %d invalid documents were tried", valid, invalid)
	}
}

// unlikeSuite describes where a node differs from the expected value of the suite: tables,
// arrays, and {"type": …, "value": …} for all others.
func unlikeSuite(n *node, want any) string {
	switch want := want.(type) {
	case []any:
		if n.kind != nodeArray || len(n.items) != len(want) {
			return fmt.Sprintf("%s with %d items, want an array of %d", n.kind, len(n.items), len(want))
		}
		for i := range want {
			if fault := unlikeSuite(n.items[i], want[i]); fault != "" {
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
		if n.kind != nodeTable || len(n.table) != len(want) || len(n.keys) != len(want) {
			return fmt.Sprintf("%s with the keys %q, want a table of %d", n.kind, n.keys, len(want))
		}
		for key, value := range want {
			if n.table[key] == nil {
				return fmt.Sprintf("%q is missing", key)
			}
			if fault := unlikeSuite(n.table[key], value); fault != "" {
				return fmt.Sprintf("%q: %s", key, fault)
			}
		}
	}
	return ""
}

// tagged is a value with its type, as far as a node keeps the type.
func (n *node) tagged() string {
	switch n.kind {
	case nodeString:
		return n.kind.String() + " " + strconv.Quote(n.text)
	case nodeInteger:
		return n.kind.String() + " " + strconv.FormatInt(n.num, 10)
	case nodeBool:
		return n.kind.String() + " " + strconv.FormatBool(n.flag)
	}
	return n.kind.String()
}

func taggedOf(kind, value string) string {
	n := &node{}
	switch kind {
	case "string":
		n.kind, n.text = nodeString, value
	case "integer":
		n.kind = nodeInteger
		n.num, _ = strconv.ParseInt(value, 10, 64)
	case "bool":
		n.kind, n.flag = nodeBool, value == "true"
	case "float":
		n.kind = nodeFloat
	default:
		n.kind = nodeDate
	}
	return n.tagged()
}

// onPurpose holds parts of the messages for documents that parseDocument refuses although
// they are TOML.
var onPurpose = []string{"contains a NUL", "nested more than", "the key has more than", "bytes is refused"}

// FuzzTOML compares parseDocument with the decoder of go-toml. Both must accept the same
// documents and read the same values. There is one exception: in go-toml a dotted key
// cannot extend a table that a header created implicitly ([a.b.c], then b.d = 1 in [a]).
// The standard does not decide this, so parseDocument follows the decoder that
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
		root, problems := parseDocument(data, "x.toml")
		want := map[string]any{}
		err := toml.Unmarshal(data, &want)
		if err == nil && len(problems) > 0 && slices.ContainsFunc(onPurpose, func(why string) bool { return strings.Contains(problems.Error(), why) }) {
			return
		}
		if err != nil && len(problems) == 0 && strings.HasSuffix(err.Error(), "is already defined") {
			clear(want)
			err = burntsushi.Unmarshal(data, &want)
		}
		if err != nil && len(problems) == 0 && strings.Contains(err.Error(), "unable to parse float") && strings.Contains(err.Error(), "out of range") {
			return // a node does not keep the value of a float
		}
		if (err == nil) != (len(problems) == 0) {
			t.Fatalf("problems %v, go-toml %v", problems, err)
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
func unlike(n *node, want any) string {
	switch want := want.(type) {
	case map[string]any:
		if n.kind != nodeTable || len(n.table) != len(want) || len(n.keys) != len(want) {
			return fmt.Sprintf("%s with the keys %q, want %v", n.kind, n.keys, want)
		}
		for key, value := range want {
			if n.table[key] == nil {
				return fmt.Sprintf("%q is missing", key)
			}
			if fault := unlike(n.table[key], value); fault != "" {
				return fmt.Sprintf("%q: %s", key, fault)
			}
		}
		return ""
	case []any:
		if n.kind != nodeArray || len(n.items) != len(want) {
			return fmt.Sprintf("%s with %d items, want %v", n.kind, len(n.items), want)
		}
		for i := range want {
			if fault := unlike(n.items[i], want[i]); fault != "" {
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
