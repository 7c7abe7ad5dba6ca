package edit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// ambiguities are files that some client reads otherwise than others, with the place that the error
// names. The entry s of the table servers is what mcp-jail sees.
var ambiguities = []struct {
	name   string
	format Format
	text   string
	want   string // of the error, up to the reason
}{
	// Line ends: see checkText for the sources.
	{"CR in a comment", JSON, "{\"servers\": {\"s\": {\"command\": \"a\" // x\r, \"command\": \"b\"\n}}}", "line 1, column 39: a carriage return"},
	{"CR as a line end", JSON, "{\"servers\":\r {\"s\": {\"command\": \"a\"}}}", "line 1, column 12: a carriage return"},
	{"U+2028 in a comment", JSON, "{\"servers\": {\"s\": {\"command\": \"a\" // ü\u2028, \"command\": \"b\"\n}}}", "line 1, column 39: U+2028 ends a line"},
	{"U+2029 in a comment", JSON, "// x\u2029{}\n{\"servers\": {\"s\": {\"command\": \"a\"}}}", "line 1, column 5: U+2029"},
	{"U+0085 in a comment", JSON, "{\n // x\u0085\n\"servers\": {\"s\": {\"command\": \"a\"}}}", "line 2, column 6: U+0085"},
	{"CR behind a quote in a comment", JSON, "{\"servers\": {\"s\": {\"command\": \"a\" // \"\r, \"command\": \"b\"\n}}}", "line 1, column 39: a carriage return"},
	{"CR behind a comment in a comment", JSON, "{\"servers\": {\"s\": {\"command\": \"a\" // /* \"\r, \"command\": \"b\"\n}}}", "line 1, column 42: a carriage return"},
	{"form feed in a comment", JSON, "// x\f\n{\"servers\": {\"s\": {\"command\": \"a\"}}}", "line 1, column 5: U+000C"},
	{"NUL in a comment", JSON, "/* \x00 */ {\"servers\": {\"s\": {\"command\": \"a\"}}}", "line 1, column 4: U+0000 is a blank"},
	{"BOM in a comment", JSON, "/* \ufeff */ {\"servers\": {\"s\": {\"command\": \"a\"}}}", "line 1, column 4: U+FEFF is a blank"},
	{"CR in TOML", TOML, "[servers.s]\ncommand = '''a\r'''\n", ""},
	{"CR in YAML", YAML, "# x\rservers: {s: {command: a}}\n", "line 1, column 4: a carriage return"},
	{"U+2028 in YAML", YAML, "# x\u2028a: 1\nservers: {s: {command: a}}\n", "line 1, column 4: U+2028"},
	{"U+2029 in YAML", YAML, "servers: {s: {command: a}} # x\u2029\n", "line 1, column 31: U+2029"},
	{"U+0085 in YAML", YAML, "servers: {s: {command: \"a\u0085b\"}}\n", "line 1, column 26: U+0085"},
	{"a directive", YAML, "%YAML 1.1\n---\nservers: {s: {command: a}}\n", "line 1, column 1: a directive"},

	// Keys of Object.prototype: JavaScript's parsers set the prototype, or find what no file has.
	{"__proto__ in the entry", JSON, `{"servers": {"s": {"command": "a", "__proto__": {"env": {"X": "1"}}}}}`, `line 1, column 36: the key "__proto__"`},
	{"__proto__ escaped", JSON, `{"servers": {"s": {"command": "a", "\u005f_proto__": {}}}}`, `line 1, column 36: the key "__proto__"`},
	{"__proto__ deep in the entry", JSON, `{"servers": {"s": {"command": "a", "env": {"__proto__": {"X": "1"}}}}}`, `line 1, column 44: the key "__proto__"`},
	{"__proto__ in a list", JSON, `{"servers": {"s": {"command": "a", "x": [{"__proto__": {}}]}}}`, `the key "__proto__"`},
	{"__proto__ in the table", JSON, `{"servers": {"__proto__": {"t": {"command": "b"}}, "s": {"command": "a"}}}`, `line 1, column 14: the key "__proto__"`},
	{"__proto__ at the root", JSON, `{"__proto__": {"servers": {}}, "servers": {"s": {"command": "a"}}}`, `line 1, column 2: the key "__proto__"`},
	{"a server named constructor", JSON, `{"servers": {"constructor": {"command": "a"}, "s": {"command": "a"}}}`, `the key "constructor"`},
	{"toString in YAML", YAML, "servers:\n  s:\n    command: a\n    toString: b\n", `line 4, column 5: the key "toString"`},
	{"prototype in TOML", TOML, "[servers.s]\ncommand = 'a'\nprototype.env = {X = '1'}\n", `line 3, column 1: the key "prototype"`},

	// Letter case: encoding/json of Go compares keys without it.
	{"Command", JSON, `{"servers": {"s": {"command": "a", "Command": "b"}}}`, `line 1, column 36: a client that ignores the case of letters reads the key "Command" as command`},
	{"ENV", JSON, `{"servers": {"s": {"command": "a", "ENV": {}}}}`, "as env"},
	{"long s in args", JSON, `{"servers": {"s": {"command": "a", "arg` + "\u017f" + `": []}}}`, "as args"},
	{"Servers", JSON, `{"Servers": {"s": {"command": "b"}}, "servers": {"s": {"command": "a"}}}`, "line 1, column 2: a client that ignores the case of letters"},
	{"Servers alone", JSON, `{"Servers": {"s": {"command": "b"}}}`, "line 1, column 2: a client that ignores the case of letters"},

	// Keys that are there twice: the first or the last counts, or the file is refused.
	{"server twice", JSON, `{"servers": {"s": {"command": "a"}, "s": {"command": "b"}}}`, `the key "s" stands twice`},
	{"env twice", JSON, `{"servers": {"s": {"command": "a", "env": {"A": "1"}, "env": {}}}}`, `line 1, column 55: the key "env" stands twice`},
	{"variable twice", JSON, `{"servers": {"s": {"command": "a", "env": {"A": "1", "\u0041": "2"}}}}`, `the key "A" stands twice`},
	{"the first of several", JSON, `{"servers": {"s": {"command": "a", "env": {"A": "", "B": "", "C": "", "D": "", "E": "", "A": "", "B": "", "C": "", "D": "", "E": ""}}}}`, `the key "A" stands twice`},

	{"half a pair", JSON, `{"servers": {"s": {"command": "a", "args": ["\ud800"]}}}`, `line 1, column 45: a \u escape is half of a pair`},
	{"half a pair in a key", JSON, `{"servers": {"s": {"command": "a", "env": {"\udc00": "1"}}}}`, "half of a pair"},

	// YAML 1.1 and 1.2, tags, merge keys: yaml.org/type and section 10 of YAML 1.2.2.
	{"sexagesimal", YAML, "servers:\n  s: {command: a, args: [22:22]}\n", "line 2, column 26: \"22:22\" without quotes"},
	{"fraction", YAML, "servers:\n  s: {command: a, args: [3.10]}\n", `"3.10" without quotes`},
	{"yes", YAML, "servers:\n  s: {command: a, args: [yes]}\n", `"yes" without quotes`},
	{"octal", YAML, "servers:\n  s: {command: a, args: [0777]}\n", `"0777" without quotes`},
	{"a tag on a word", YAML, "servers:\n  s: {command: a, args: [!!binary YQ==]}\n", "it has a tag"},
	{"a tag on the table", YAML, "servers: !!omap\n  s: {command: a}\n", "has a tag"},
	{"merge in the table", YAML, "b: &b {t: {command: b}}\nservers:\n  <<: *b\n  s: {command: a}\n", "line 3, column 3: the merge key <<"},
	{"merge at the root", YAML, "<<: {servers: {t: {command: b}}}\nservers: {s: {command: a}}\n", "line 1, column 1: the merge key <<"},
	{"merge in the variables", YAML, "servers:\n  s: {command: a, env: {<<: {HOME: /x}}}\n", "the merge key <<"},
	{"a tag on a key", YAML, "servers:\n  !!str t: {command: b}\n  s: {command: a}\n", "line 2, column 3: it has a tag"},
	{"null as a key", YAML, "servers:\n  s: {command: a, env: {null}}\n", `"null" without quotes`},
	{"a colon at the end", YAML, "servers:\n  s: {command: a, args: [3:]}\n", `"3:" without quotes is a word for some`},
	{"a boolean", JSON, `{"servers": {"s": {"command": "a", "args": [true]}}}`, "line 1, column 45: args holds a boolean"},
	{"minus zero", JSON, `{"servers": {"s": {"command": "a", "args": [-0]}}}`, "args holds a number"},
	{"line end of Windows in a word", TOML, "[servers.s]\r\ncommand = \"\"\"a\r\nb\"\"\"\r\n", "line 2, column 11: it goes on in another line"},
	{"anchor twice", YAML, "a: &a\n  b: &a {X: 1}\nservers:\n  s: {command: a, env: *a}\n", "line 4, column 24: *a stands there"},
	{"a date", TOML, "[servers.s]\ncommand = 'a'\nargs = [2001-01-01]\n", "line 3, column 9: args holds a number"},
	{"a colon after an anchor", YAML, "servers:\n  &0:\n    s: {command: a}\n", "line 2, column 3: it has the anchor"},
	{"a colon after an alias", YAML, "x: &a y\nservers:\n  *a: {command: a}\n", "line 3, column 3: *a stands there"},
	{"an anchor on the table", YAML, "servers: &s\n  s: {command: a}\nother: *s\n", "line 1, column 10: it has the anchor &s"},
	{"an alias for the table", YAML, "other: &s {s: {command: a}}\nservers: *s\n", "line 2, column 10: *s stands there"},
	{"an alias for the entry", YAML, "other: &s {command: a}\nservers: {s: *s}\n", "line 2, column 14: *s stands there"},
	{"an alias for the variables", YAML, "other: &e {A: b}\nservers: {s: {command: a, env: *e}}\n", "line 2, column 32: *e stands there"},
	{"a list as a key", YAML, "servers:\n  ? [a]\n  : {command: b}\n  s: {command: a}\n", ""},
}

// ambiguity returns what the package says about the table of a file, or about its server s.
func ambiguity(format Format, text string) error {
	table := Table{Path: []string{"servers"}}
	f, err := Parse(format, []byte(text))
	if err != nil {
		return err
	}
	if err := f.Ambiguity(table); err != nil {
		return err
	}
	for _, s := range f.Servers(table) {
		if s.Name == "s" && s.Ambiguous != nil {
			if _, err := f.Apply(Change{Server: s, Words: wrapper}); err == nil {
				return fmt.Errorf("changed all the same: %w", s.Ambiguous)
			}
			return s.Ambiguous
		}
	}
	return nil
}

func TestAmbiguous(t *testing.T) {
	for _, c := range ambiguities {
		t.Run(c.format.String()+"/"+c.name, func(t *testing.T) {
			err := ambiguity(c.format, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if a := (*Fault)(nil); c.want != "" && (!errors.As(err, &a) || a.Fix == "") {
				t.Errorf("%#v", err)
			}
		})
	}
}

// TestUnambiguous has what all clients read in one way.
func TestUnambiguous(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
	}{
		{JSON, "\ufeff{ // x\r\n\"servers\": {\"s\": {\"command\": \"a\", /* y\r\n */ \"args\": [\"\u2028\u0085\ufeff \\u2028\\ud83d\\ude00 \ufffd \\uFFFD\"],}}}"},
		{JSON, `{"servers": {"s": {"command": "a", "timeout": 1e400, "env": {"Command": "x", "A": "1", "a": "2"}}, "S": {"command": "b"}}}`},
		{JSON, `{"other": {"__proto__": {}, "x": 1, "x": 2}, "servers": {"s": {"command": "a"}}}`},
		{TOML, "# \u2028 \u0085\r\n[servers.s]\r\ncommand = 'a'\r\nargs = [\"\\u2028\"]\r\n"},
		{YAML, "\ufeffservers:\r\n  s: {command: a, args: [\"\\u2028\\r\", '22:22', -y, -1, 10, 8080:80, 127.0.0.1:80, ./x, 1.2.3, \"yes\", yesterday, 10m]}\r\n"},
		{YAML, "servers:\n  s:\n    command: a\n    args: [a%b]\n    # %YAML\n    enabled: yes\n    since: 2001-01-01\n"},
	} {
		if err := ambiguity(c.format, c.text); err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}
