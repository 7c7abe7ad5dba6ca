package lockfile

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/toolpin"
	"github.com/pelletier/go-toml/v2"
)

// TestEncode shows the format.
func TestEncode(t *testing.T) {
	const want = header + `
[npm."@a/files@^1"]
note = 'it"s ours'
name = "@a/files"
version = "1.2.3"
source = "registry"
program = "files"
file = "node_modules/@a/files/index.js"
pinned = "2026-11-22T20:43:20Z"

[npm."@a/files@^1".packages]
"node_modules/@a/files" = { version = "1.2.3", integrity = "sha512-AA==" }
"node_modules/b" = { version = "2.0.0", integrity = "sha512-BB==", install_scripts = "skipped" }

[npm."@a/files@^1".pins.default]
server = "files"
version = "1.2.3"
instructions = "Read.\n\u202EThen \"write\".\\"
instructions_hash = "INSTRUCTIONS"

[npm."@a/files@^1".pins.default.tools.read_file]
hash = "HASH"
description = "Reads\u200B it."
input_schema = '{"type":"object"}'
annotations = '{"readOnlyHint":true}'

[pypi."mcp-server-git==1.0"]
name = "mcp-server-git"
version = "1.0"
pinned = "2026-11-22T20:43:20Z"
`
	p := mustPin(t, `{"annotations":{"readOnlyHint":true},"name":"read_file","inputSchema":{"type":"object"},"description":"Reads\u200b it."}`)
	e := anEntry(t, "@a/files@^1")
	e.Note, e.File, e.Integrity, e.Engines, e.Tree, e.Files = `it"s ours`, "node_modules/@a/files/index.js", "", "", "", ""
	e.Packages = []Package{{Path: "node_modules/@a/files", Version: "1.2.3", Integrity: "sha512-AA=="}, {Path: "node_modules/b", Version: "2.0.0", Integrity: "sha512-BB==", Scripts: ScriptsSkipped}}
	e.Pins = map[string]*toolpin.Pin{"default": p}
	git := &Entry{Key: Key{PyPI, "mcp-server-git==1.0"}, Name: "mcp-server-git", Version: "1.0", Pinned: someDay.In(time.FixedZone("", 3600)).Add(300)}
	filled := strings.NewReplacer("INSTRUCTIONS", p.Server.Hash, "HASH", p.Tools[0].Hash).Replace(want)
	if got := string(encode(t, git, e)); got != filled {
		t.Errorf("%s", got)
	}
}

// TestRoundTrip: what Encode writes, Parse and Find read, and it is written the same again.
func TestRoundTrip(t *testing.T) {
	a, b := anEntry(t, "@a/files"), anEntry(t, `odd "spec" \ 'ä' `+"\u202e\n\x01")
	text := encode(t, a, b, &Entry{Key: Key{PyPI, "@a/files"}, Name: "n", Version: "1", Pinned: someDay})
	f, err := Parse(text, "x")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []*Entry{a, b} {
		if got := f.Find(want.Key); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
		if got, err := Find(text, want.Key, "x"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Find: %+v, %v", got, err)
		}
	}
	if again, err := f.Encode(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v\n%s\nwas\n%s", err, again, text)
	}
	for _, tool := range f.Find(a.Key).Pins["default"].Tools {
		if !tool.HasText() && tool.Times == 0 {
			t.Errorf("%s lost its text", tool.Name)
		}
	}
	var v map[string]any
	if err := toml.Unmarshal(text, &v); err != nil {
		t.Errorf("another parser: %v", err)
	}
	if f.Remove(Key{NPM, "no"}) || !f.Remove(a.Key) || f.Find(a.Key) != nil || len(f.Entries()) != 2 {
		t.Error("Remove")
	}
	if err := f.Set(&Entry{Key: b.Key, Name: "n", Version: "2", Pinned: someDay}); err != nil || f.Find(b.Key).Note != b.Note {
		t.Errorf("the note is gone, or %v", err)
	}
}

// TestFindNames: Find takes no other entry's name for the one it looks for.
func TestFindNames(t *testing.T) {
	keys, text := largeFile(t)
	for _, key := range keys {
		if e, err := Find(text, key, "x"); err != nil || e == nil || e.Key != key {
			t.Fatalf("%s: %+v, %v", key, e, err)
		}
	}
	for _, spec := range []string{"@scope/server-1", "@scope/server-1@lates", "no", "packages"} {
		if e, err := Find(text, Key{NPM, spec}, "x"); err != nil || e != nil {
			t.Errorf("%s: %+v, %v", spec, e, err)
		}
	}
}

// TestParseRefuses: each fault has its line.
func TestParseRefuses(t *testing.T) {
	const entry = "name = \"n\"\nversion = \"1\"\npinned = \"2026-11-22T20:43:20Z\"\n"
	const good = "version = 1\n[npm.\"a\"]\n" + entry
	var newer *VersionError
	for text, want := range map[string]string{
		"\n":                                    "f:1: there is no version = 2",
		"version = \"1\"\n":                     "f:1: there is no version",
		"version = 1\nx = 1\n":                  "f:2: the key x is not known",
		"version = 1\n[cargo.\"a\"]\n":          "f:2: the key cargo is not known",
		"version = 1\n[npm.\"a\"]\nname =\n":    "f:3: it is not valid TOML",
		good + "colour = \"red\"\n":             "f:6: the key colour is not known to this mcp-jail",
		good + "note = 1\n":                     "f:6: note is an integer, and has to be a string. Correct it, or put an older copy in its place",
		good + "note = [1]\n":                   "f:6: note is another kind of value",
		good + "name = \"n\"\n":                 "f:6: name is there twice, first in line 3",
		good + "[npm.\"a\"]\n":                  "f:6: the section npm.a is there twice, first in line 2",
		good + "[[npm.\"b\"]]\n":                "f:6: a lock file has no array of tables",
		good + "packages = 1\n":                 "f:6: a table is expected here, and this is an integer",
		good + "[npm.\"a\".packages]\nb = 1\n":  "f:7: a table is expected here",
		good + "[npm.\"a\".packages]\nb = {}\n": "f:7: the package b has no version",
		good + "[npm.\"a\".packages]\n\"../b\" = { version = \"1\" }\n":                       "the package ../b is not inside of the tree",
		good + "[npm.\"a\".packages]\nb = { version = \"1\", install_scripts = \"maybe\" }\n": "f:7: the package b has no version, or install_scripts",
		good + "[npm.\"a\".pins.x.tools.t]\ntitle = \"\"\n":                                   "f:6: the tool t has no hash",
		good + "[npm.\"a\".pins.x.tools.t]\ntimes = 1\n":                                      "f:7: times has to be",
		good + "[npm.\"a\".pins.x.tools.t]\ntitle = \"a\"\ntitle_json = \"1\"\n":              "f:8: title is there as text and as JSON",
		good + "file = \"../x\"\n":                                                            "f:2: the lock entry of npm a: the file ../x is not inside",
		good + "file = \"/x\"\n":                                                              "is not inside",
		strings.Replace(good, "2026", "26", 1):                                                "f:2: pinned is",
		strings.Replace(good, "name = \"n\"\n", "", 1):                                        "f:2: the lock entry of npm a: it has no name",
		good + "<<<<<<< ours\n":                                                               "f:6: a merge left a conflict here",
		good + "\x00":                                                                         "it is not text",
		good + "\xff":                                                                         "it is not text",
		good + "p = { a = { b = 1 } }\np.a.c = 1\n":                                           "f:7: p is a table in line 6, and cannot be extended",
		good + "packages.b.version = \"1\"\n[npm.a.packages]\n":                               "f:7: the section npm.a.packages is there twice, first in line 6",
		strings.Repeat("#", maxSize+1):                                                        "a lock file has at most",
	} {
		f, err := Parse([]byte(text), "f")
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200q: %+v, %v; want %s", text, f, err, want)
		}
		if _, err := Find([]byte(text), Key{NPM, "a"}, "f"); err == nil && strings.Contains(want, "npm") {
			t.Errorf("%.200q: Find took it", text)
		}
	}
	if _, err := Find([]byte(strings.Replace(good, "version = 1", "version = 3", 1)), Key{NPM, "a"}, "f"); !errors.As(err, &newer) {
		t.Errorf("a newer file: %v", err)
	}
	for _, text := range []string{"version = 3\nneeds = \"mcp-jail 1.4\"\n[[new]]\nx = [1]\n", "version = 3\nneeds = \"mcp-jail 1.4\"\nx = <1>\n", strings.Replace(good, "version = 1", "version = 3\nneeds = \"mcp-jail 1.4\"", 1), "version = 3\nneeds = \"mcp-jail 1.4\"\n[npm.\"a\"]\nname = 1\n"} {
		_, errA := Parse([]byte(text), "f")
		_, errB := Find([]byte(text), Key{NPM, "a"}, "f")
		if !errors.As(errA, &newer) || !errors.As(errB, &newer) || newer.Error() != "f has format version 3, and this mcp-jail reads version 2; install mcp-jail 1.4" {
			t.Errorf("%v, %v", errA, errB)
		}
	}
}

// TestSetRefuses: what could not be read again is not written.
func TestSetRefuses(t *testing.T) {
	for want, edit := range map[string]func(*Entry){
		"neither npm nor pypi": func(e *Entry) { e.Ecosystem = "cargo" },
		"spec is empty":        func(e *Entry) { e.Spec = "" },
		"no name":              func(e *Entry) { e.Version = "" },
		"no date":              func(e *Entry) { e.Pinned = time.Time{} },
		"not inside":           func(e *Entry) { e.File = "a/../../b" },
		"b is not inside":      func(e *Entry) { e.Packages[0].Path = `C:\b` },
		"not in order":         func(e *Entry) { e.Packages[1] = e.Packages[0] },
		"UTF-8":                func(e *Entry) { e.Note = "\xff" },
		"is nil":               func(e *Entry) { e.Pins["x"] = nil },
		"without a hash":       func(e *Entry) { e.Pins["default"].Tools[0].Hash = "" },
		`are "maybe"`:          func(e *Entry) { e.Packages[0].Scripts = "maybe" },
	} {
		e := anEntry(t, "a")
		edit(e)
		if err := new(File).Set(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
