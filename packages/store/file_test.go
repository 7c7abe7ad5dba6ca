package store

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestRoundTrip: what Encode writes is read, and it is written the same again.
func TestRoundTrip(t *testing.T) {
	a, b, c := anEntry(t, "@a/files"), anEntry(t, `odd "spec" \ 'ä' `+"\u202e\n\x01\x00"), aPython()
	text := encode(t, b, c, a)
	const begin = "{\n  \"version\": 1,\n  \"packages\": [\n    {\n      \"ecosystem\": \"npm\",\n      \"spec\": \"@a/files\",\n"
	if !bytes.HasPrefix(text, []byte(begin)) {
		t.Errorf("%s", text)
	}
	f, err := parse(text, "x")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	testkit.Equal(t, "", testkit.Get(f.encode())(t), text)
	for _, want := range []*Entry{a, b, c} {
		got := f.Find(want.Key)
		if got.Lock != nil { // the file has it indented
			var compact bytes.Buffer
			testkit.Must(t, json.Compact(&compact, got.Lock))
			got.Lock = compact.Bytes()
		}
		testkit.Equal(t, "", got, want)
	}
	if f.Remove(Key{NPM, "no"}) || !f.Remove(a.Key) || f.Find(a.Key) != nil || len(f.Entries()) != 2 {
		t.Error("Remove")
	}
	if err := f.Set(&Entry{Key: b.Key, Name: "n", Version: "2", Pinned: someDay}); err != nil || f.Find(b.Key).Note != b.Note {
		t.Errorf("the note is gone, or %v", err)
	}
}

// TestRefuses: what is no lock file, and why.
func TestRefuses(t *testing.T) {
	const entry = `"ecosystem":"npm","spec":"a","name":"n","version":"1","pinned":"2026-11-22T20:43:20Z"`
	const tool = `{"name":"t","definition":{}}`
	file := func(members string) string { return "{\"version\":1,\n\"packages\":[{" + entry + members + "}]}" }
	testkit.Works(t, "control", testkit.ErrorOf(parse([]byte(file(`,"pins":{"x":{"tools":[`+tool+`]}}`)), "f")))
	for text, want := range map[string]string{
		"# a comment\nversion = 2\n[npm.\"a\"]": "f is no lock file of this version of mcp-jail: line 1 is no JSON: ",
		`{`:                                     "line 1 is no JSON: unexpected EOF",
		`[]`:                                    "the value of the text is not what is expected there",
		`{}`:                                    "its version is 0",
		`{"version":2,"packages":[]}`:           "its version is 2, and this mcp-jail reads 1. Correct it, or move it away: packages are then fetched and pinned again",
		`{"version":1,"packages":[null]}`:       "is neither npm nor pypi",
		file("") + "x":                          "line 2 is no JSON",
		file(`,"colour":"red"`):                 "the entry of npm a: it has the member colour, which is not known",
		file(`,"Note":"x"`):                     "the member Note",
		file(`,"note":1`):                       "the entry of npm a: the value of /note is not what is",
		file(`,"name":"m"`):                     "line 2 has the member name for the second time",
		file(`},{` + entry):                     "npm a is there twice",
		file(`,"file":"../x"`):                  "the file ../x is not inside of the tree",
		file(`,"file":"a\\b"`):                  `is not inside of the tree`,
		file(`,"packages":[{"name":"p"}]`):      "a package has no name or no version",
		file(`,"packages":[{"name":"p","version":"1"},{"name":"p","version":"1"}]`): "the package p is not in order, or is there twice",
		file(`,"pins":{"x":null}`):                                        "the pin x is empty",
		file(`,"pins":{"x":{"tools":[` + tool + `,` + tool + `]}}`):       "its tools are not in order",
		file(`,"pins":{"x":{"tools":[{"name":"t"}]}}`):                    "a tool without a definition",
		file(`,"pins":{"x":{"tools":[{"name":"t","definition":1e999}]}}`): "/pins/x/tools/0/definition is not what",
		strings.Replace(file(""), `"npm"`, `"cargo"`, 1):                  `"cargo" is neither npm nor pypi`,
		strings.Replace(file(""), `"spec":"a"`, `"spec":""`, 1):           "its spec is empty",
		strings.Replace(file(""), `"version":"1"`, `"version":""`, 1):     "it has no name or no version",
		strings.Replace(file(""), `"2026-`, `"26-`, 1):                    "/pinned is not what",
		strings.Replace(file(""), `"n"`, "\"\xff\"", 1):                   "UTF-8",
	} {
		testkit.Fails(t, text, testkit.ErrorOf(parse([]byte(text), "f")), want)
	}
	for lock, want := range map[string]string{`{"lockfileVersion":1}`: "its lockfileVersion is", string(npmLock(`"node_modules/..":{}`)): "no place"} {
		e := anEntry(t, "a")
		e.Lock = json.RawMessage(lock)
		testkit.Fails(t, lock, (&File{}).Set(e), want)
	}
}
