package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	goccy "github.com/goccy/go-yaml"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	gotoml "github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// clientFiles have the shape of real clients' files, with many oddities.
var clientFiles = []struct {
	name   string
	format Format
	tables []Table
}{
	{"claude.json", JSON, []Table{{Path: []string{"mcpServers"}}, {Path: []string{"projects", "*", "mcpServers"}}}},
	{"vscode.jsonc", JSON, []Table{{Path: []string{"servers"}}}},
	{"opencode.jsonc", JSON, []Table{{Path: []string{"mcp"}, Env: "environment"}}},
	{"cline.json", JSON, []Table{{Path: []string{"mcpServers"}, Nested: "transport"}}},
	{"codex.toml", TOML, []Table{{Path: []string{"mcp_servers"}}}},
	{"vibe.toml", TOML, []Table{{Path: []string{"mcp_servers"}}}},
	{"jp.toml", TOML, []Table{{Path: []string{"providers", "mcp"}, Args: "arguments"}}},
	{"goose.yaml", YAML, []Table{{Path: []string{"extensions"}, Command: "cmd", Env: "envs"}}},
	{"continue.yaml", YAML, []Table{{Path: []string{"mcpServers"}}}},
}

// inFront are the words for one server.
func inFront(s Server) []string {
	return []string{"/home/u/bin/mcp-jail", "run", "--name", s.Name, "--env", `A"\`, "--"}
}

// TestClientFiles puts words in front of all servers of a file at once. It does so also with
// the line ends of Windows and a byte order mark. Golden files hold the servers and the
// result, whose values independent parsers compare. Then it removes the words again.
func TestClientFiles(t *testing.T) {
	for _, c := range clientFiles {
		src, err := os.ReadFile(filepath.Join("testdata", "files", c.name))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) {
			f, err := Parse(c.format, src)
			if err != nil {
				t.Fatal(err)
			}
			wrapped, changed := wrapAll(t, f, c.tables)
			testkit.Golden(t, "files/"+c.name+".wrapped", wrapped)
			testkit.Golden(t, "files/"+c.name+".servers", describe(f, c.tables))
			compareIndependently(t, c.format, src, wrapped, changed)
		})
		t.Run(c.name+" of Windows", func(t *testing.T) {
			windows := func(text []byte) []byte {
				return append([]byte(byteOrderMark), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))...)
			}
			f, err := Parse(c.format, windows(src))
			if err != nil {
				t.Fatal(err)
			}
			wrapped, _ := wrapAll(t, f, c.tables)
			unix, err := os.ReadFile(filepath.Join("testdata", "files", c.name+".wrapped"))
			if err != nil || !bytes.Equal(wrapped, windows(unix)) {
				t.Errorf("%v:\n%s", err, Diff("windows", windows(unix), wrapped, 1))
			}
		})
	}
}

// wrapAll changes every server that may be changed, and checks that unwrapping is exact.
func wrapAll(t *testing.T, f *File, tables []Table) (wrapped []byte, changed []Server) {
	t.Helper()
	var changes []Change
	for _, table := range tables {
		for _, s := range f.Servers(table) {
			if s.Refused == nil {
				if _, err := f.Apply(Change{Server: s, Words: inFront(s)}); err != nil {
					continue
				}
				changes, changed = append(changes, Change{Server: s, Words: inFront(s)}), append(changed, s)
			}
		}
	}
	wrapped, err := f.Apply(changes...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Parse(f.format, wrapped)
	if err != nil {
		t.Fatal(err)
	}
	var back []Change
	for _, table := range tables {
		for _, s := range g.Servers(table) {
			if len(s.Words) > 6 && s.Words[1] == "run" {
				back = append(back, Change{Server: s, Drop: 7})
			}
		}
	}
	if len(back) != len(changes) {
		t.Fatalf("%d servers are wrapped, want %d", len(back), len(changes))
	}
	original, err := g.Apply(back...)
	if err != nil || !bytes.Equal(original, f.src) {
		t.Errorf("unwrapped: %v\n%s", err, Diff("file", f.src, original, 1))
	}
	return wrapped, changed
}

// describe lists the servers for a golden file.
func describe(f *File, tables []Table) string {
	var b strings.Builder
	for _, table := range tables {
		for _, s := range f.Servers(table) {
			fmt.Fprintf(&b, "%d %s: %q", s.Line, strings.Join(s.Path, " / "), s.Words)
			if s.List {
				b.WriteString(" (one list)")
			}
			if s.URL != "" {
				b.WriteString(" url " + s.URL)
			}
			if s.Disabled {
				b.WriteString(" disabled")
			}
			b.WriteByte('\n')
			for _, v := range s.Env {
				fmt.Fprintf(&b, "    %d env %s = %#v\n", v.Line, v.Name, v.Value)
			}
			for _, v := range s.Other {
				fmt.Fprintf(&b, "    %d %s: %#v\n", v.Line, v.Name, v.Value)
			}
			if _, err := f.Apply(Change{Server: s, Words: inFront(s)}); err != nil {
				fmt.Fprintf(&b, "    %v\n", err)
			}
		}
	}
	return b.String()
}

// compareIndependently reads both versions with parsers that package edit does not use, and
// makes the change in the values of the first.
func compareIndependently(t *testing.T, format Format, before, after []byte, changed []Server) {
	t.Helper()
	want, got := readIndependently(t, format, before), readIndependently(t, format, after)
	for _, s := range changed {
		at := want
		path := s.Path
		if s.nested != "" {
			path = append(slices.Clone(path), s.nested)
		}
		for _, key := range path {
			if list, ok := at.([]any); ok {
				i, _ := strconv.Atoi(key)
				at = list[i]
			} else {
				at = at.(map[string]any)[key]
			}
		}
		entry := at.(map[string]any)
		words := inFront(s)
		var line []any
		for _, w := range words {
			line = append(line, w)
		}
		if list, ok := entry[s.table.Command].([]any); ok {
			entry[s.table.Command] = append(line, list...)
			continue
		}
		args, _ := entry[s.table.Args].([]any)
		entry[s.table.Args] = append(append(line[1:], entry[s.table.Command]), args...)
		entry[s.table.Command] = words[0]
	}
	// Formatted, because NaN does not equal itself.
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w && !reflect.DeepEqual(got, want) {
		t.Errorf("an independent parser reads\n%v\nwant\n%v", got, want)
	}
}

func readIndependently(t *testing.T, format Format, text []byte) (v any) {
	t.Helper()
	var err error
	switch format {
	case JSON:
		if text, err = hujson.Standardize(bytes.Clone(text)); err == nil {
			err = json.Unmarshal(text, &v)
		}
	case TOML:
		err = gotoml.Unmarshal(text, &v)
	case YAML:
		err = goccy.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLookup(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("testdata", "files", "vscode.jsonc"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(JSON, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path []string
		line int
		want any
	}{
		{[]string{"servers", "files", "sandboxEnabled"}, 28, false},
		{[]string{"servers", "files", "args", "0"}, 20, "-y"},
		{[]string{"servers", "files", "args", "9"}, 0, nil},
		{[]string{"inputs"}, 4, []any{map[string]any{"type": "promptString", "id": "token", "description": "Token", "password": true}}},
		{[]string{"no"}, 0, nil},
	} {
		if got, line, found := f.Lookup(c.path...); line != c.line || found != (c.line != 0) || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v in line %d, want %v in line %d", c.path, got, line, c.want, c.line)
		}
	}
}

func TestRefusedErrorText(t *testing.T) {
	f, s := one(t, YAML, "servers:\n  s:\n    command: |\n      x\n", Table{Path: []string{"servers"}})
	_, err := f.Apply(Change{Server: s, Words: wrapper})
	const want = `the server "s" is not changed: line 3: the program is a block scalar, has a tag or an anchor, or goes on in another line; write it in one line, between double quotes`
	if e := (*RefusedError)(nil); !errors.As(err, &e) || e.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
