package lockfile

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// TestFindAgrees builds files from lines that are hard to tell apart. Whenever a file is
// valid, another parser takes it, and Find reads what Parse reads, of each section. A part of the
// files must be valid, and a part of those must have the sections.
func TestFindAgrees(t *testing.T) {
	lines := []string{
		`[npm."a"]`, `[npm."a".packages]`, `[npm."a".pins.x]`, `[npm."a".pins.x.tools.t]`, `[npm."b"]`, `[npm."b".packages]`, `[pypi."a"]`, `[npm]`, `[pypi]`,
		`[npm.a]`, `[npm.'a']`, `[npm.'a'.packages]`, `[npm.a.pins]`, `[npm . "a"]`, ` [npm."a"]`, `[npm."\u0061"]`, `[npm."\u0061".pins.y]`, `[[npm."a"]]`, `["npm"."a"]`,
		`note = "x"`, `note = 'y'`, `note = """`, `note = '''`, `"""`, `'''`, `note = "\""" # "`, `note = ["""`, `]`, `p = { version = "1" }`, `p = { version = "1", install_scripts = "run" }`,
		`packages.q.version = "1"`, `"p" = { version = '2' }`, `hash = "h"`, `times = 3`, `times = 03`, `server = "s" # c`, `# [npm."a"]`, ``, "\r", "title = \"a\tb\"", `title = "\u0000"`, `packages = {}`, `pins = { z = {} }`,
	}
	const entry = "name = \"n\"\nversion = \"1\"\npinned = \"2026-11-22T20:43:20Z\"\n"
	random := rand.New(rand.NewPCG(22, 5))
	valid, found := 0, 0
	for range 100_000 {
		text := "version = 1\n"
		for range 1 + random.IntN(6) {
			line := lines[random.IntN(len(lines))]
			if text += line + "\n"; strings.HasSuffix(line, `a"]`) || strings.HasSuffix(line, `b"]`) || strings.HasSuffix(line, "a]") || strings.HasSuffix(line, "a']") || strings.HasSuffix(line, `61"]`) {
				text += entry
			}
		}
		f, err := Parse([]byte(text), "f")
		if err != nil {
			continue
		}
		valid++
		var v map[string]any
		if err := toml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: another parser refuses it: %v", text, err)
		}
		for _, key := range []Key{{NPM, "a"}, {NPM, "b"}, {PyPI, "a"}} {
			got, err := Find([]byte(text), key, "f")
			if err != nil || !reflect.DeepEqual(got, f.Find(key)) {
				t.Fatalf("%s: Find %s: %+v, %v; want %+v", text, key, got, err, f.Find(key))
			}
			if got != nil {
				found++
			}
		}
	}
	if valid < 5000 || found < 1000 {
		t.Errorf("%d files were valid, and had %d sections", valid, found)
	}
}

// TestFindRefuses tests that a file with a fault is refused if the fault may hide the entry: it could
// be in a section with a misspelt name, or after the place where the parser stopped.
func TestFindRefuses(t *testing.T) {
	const entry = "name = \"n\"\nversion = \"1\"\npinned = \"2026-11-22T20:43:20Z\"\n"
	tools := "[npm.\"c\"]\n" + entry + "[npm.\"c\".pins.s.tools]\n"
	for i := range 1500 { // a server may describe tools so
		tools += fmt.Sprintf("t%d = { title = \"\\u0000\", hash = \"h\" }\n", i)
	}
	key := Key{NPM, "b"}
	if e, err := Find([]byte("version = 2\n"+tools+"[npm.\"b\"]\n"+entry), key, "f"); err != nil || e == nil {
		t.Errorf("control: %v, %v", e, err)
	}
	for _, end := range []string{"[nmp.\"b\"]\n" + entry, "[npm.\"b\"\n" + entry, "[npm.\"d\"]\nname = \"n\"\n" + entry} {
		if e, err := Find([]byte("version = 2\n"+tools+end), key, "f"); err == nil {
			t.Errorf("%q is accepted, and has %v", end, e)
		}
	}
}
