package store

import (
	"encoding/json"
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

// someHash returns an integrity that has a letter in it.
func someHash(letter string) string { return "sha512-" + strings.Repeat(letter, 86) + "==" }

// npmLock returns npm's lock file of some packages.
func npmLock(packages string) json.RawMessage {
	return json.RawMessage(`{"lockfileVersion":3,"packages":{"":{"name":"x"},` + packages + `}}`)
}

// theTree are the packages of anEntry.
var theTree = strings.NewReplacer("HASH-A", someHash("A"), "HASH-B", someHash("Q")).Replace(`"node_modules/@a/files":{"version":"1.2.3","integrity":"HASH-A"},` +
	`"node_modules/b":{"name":"c","version":"2.0.0-rc.1+x","integrity":"HASH-B","hasInstallScript":true},` +
	`"node_modules/b/node_modules/d":{"version":"0.1.0","integrity":"HASH-B"}`)

// anEntry has every kind of value of an entry of npm.
func anEntry(t testing.TB, spec string) *Entry {
	return &Entry{
		Key: Key{NPM, spec}, Note: "it's \"ours\"", Name: "@a/files", Version: "1.2.3", Integrity: someHash("A"), Program: "files",
		File: "node_modules/@a/files/dist/index.js", Engines: ">=18", Pinned: someDay, Tree: "sha256:aa", Files: "sha256:bb", ScriptsRan: true,
		Lock: npmLock(theTree),
		Pins: map[string]*toolpin.Pin{
			"default": mustPin(t, `{"name":"read_file","title":"Read","description":"Reads it's\u200b \"file\".\n","inputSchema":{"type":"object","default":"<it's>"},"annotations":{"readOnlyHint":true}},
				{"name":"x.y ä","description":null,"title":"\u0000","outputSchema":{"a":"\\"}},{"name":"empty","description":""},{"name":"twice"},{"name":"twice"}`),
			"": {Tools: []toolpin.Tool{}},
		},
	}
}

// aPython has every kind of value of an entry of PyPI.
func aPython() *Entry {
	return &Entry{
		Key: Key{PyPI, "git"}, Name: "git", Version: "1.0", Integrity: "sha256:0 sha256:1", Pinned: someDay,
		Packages: []Package{{"click", "8.1", []string{"sha256:2"}}, {"git", "1.0", []string{"sha256:0", "sha256:1"}}},
	}
}

func encode(t testing.TB, entries ...*Entry) []byte {
	t.Helper()
	f := &File{}
	for _, e := range entries {
		testkit.Must(t, f.Set(e))
	}
	text := testkit.Get(f.encode())(t)
	return text
}
