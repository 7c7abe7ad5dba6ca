package lockfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

var someDay = time.Date(2026, 11, 22, 20, 43, 20, 0, time.UTC)

func mustPin(t testing.TB, tools string) *toolpin.Pin {
	t.Helper()
	p, err := toolpin.New(toolpin.NewServer("files", "1.2.3", "Read.\n\u202eThen \"write\".\\"), []byte(`{"tools":[`+tools+`]}`))
	testkit.Must(t, err)
	return p
}

// anEntry has every kind of value.
func anEntry(t testing.TB, spec string) *Entry {
	return &Entry{
		Key: Key{NPM, spec}, Note: "it's \"ours\"", Name: "@a/files", Version: "1.2.3", Integrity: "sha512-AAAA==", Source: FromRegistry, Program: "files",
		File: "node_modules/@a/files/dist/index.js", Engines: ">=18", Pinned: someDay, Tree: "sha256:aa", Files: "sha256:bb",
		Packages: []Package{
			{Path: "node_modules/@a/files", Version: "1.2.3", Integrity: "sha512-AAAA=="},
			{Path: "node_modules/b", Name: "c", Version: "2.0.0-rc.1+x", Resolved: "git+ssh://git@host/c.git#0123", Scripts: ScriptsSkipped},
			{Path: "node_modules/b/node_modules/d", Version: "0.1.0", Integrity: "sha512-BBBB==", Scripts: ScriptsRun},
		},
		Pins: map[string]*toolpin.Pin{
			"default": mustPin(t, `{"name":"read_file","title":"Read","description":"Reads it's\u200b \"file\".\n","inputSchema":{"type":"object","default":"it's"},"annotations":{"readOnlyHint":true}},
				{"name":"x.y ä","description":null,"title":"\ud83d","outputSchema":{"a":"\\"}},{"name":"empty","description":""},{"name":"twice"},{"name":"twice"}`),
			"": {},
		},
	}
}

func encode(t testing.TB, entries ...*Entry) []byte {
	t.Helper()
	f := &File{}
	for _, e := range entries {
		testkit.Must(t, f.Set(e))
	}
	text, err := f.Encode()
	testkit.Must(t, err)
	return text
}

// largeFile returns the keys and the text of a file with 20 packages of 100 dependencies and
// ten tools.
func largeFile(t testing.TB) (keys []Key, text []byte) {
	var entries []*Entry
	for i := range 20 {
		e := anEntry(t, fmt.Sprintf("@scope/server-%d@latest", i))
		e.Packages = nil
		for p := range 100 {
			e.Packages = append(e.Packages, Package{Path: fmt.Sprintf("node_modules/package-%03d", p), Version: "1.2.3", Integrity: "sha512-" + strings.Repeat("Ab3/", 22) + "=="})
		}
		var tools []string
		for i := range 10 {
			tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"It does something with a file.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where it is."}},"required":["path"]}}`, i))
		}
		e.Pins = map[string]*toolpin.Pin{"default": mustPin(t, strings.Join(tools, ","))}
		entries, keys = append(entries, e), append(keys, e.Key)
	}
	return keys, encode(t, entries...)
}
