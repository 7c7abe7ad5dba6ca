package store

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// TestDiff: an update in words.
func TestDiff(t *testing.T) {
	tree := func(old, new string) func(*Entry) {
		return func(e *Entry) { e.Lock = npmLock(strings.Replace(theTree, old, new, 1)) }
	}
	for name, c := range map[string]struct {
		edit func(*Entry)
		want string
	}{
		"nothing": {func(e *Entry) { e.Pinned, e.Note = e.Pinned.AddDate(1, 0, 0), "" }, ""},
		"version": {func(e *Entry) {
			e.Version, e.Integrity, e.Files, e.Tree = "2.0", "sha512-x", "f", "t"
			tree(`"1.2.3"`, `"2.0","hasInstallScript":true`)(e)
		}, "version: @a/files 1.2.3 → 2.0\nscript: @a/files 2.0: it has install scripts now"},
		"name":    {func(e *Entry) { e.Name = "ev\u202eil" }, "version: @a/files 1.2.3 → ev<U+202E>il 1.2.3"},
		"content": {func(e *Entry) { e.Integrity = "sha512-x" }, "integrity: @a/files 1.2.3 has another content, with the same version: HASH-A → sha512-x"},
		"tree":    {func(e *Entry) { e.Tree = "sha256:cc" }, "integrity: the tree of @a/files 1.2.3 has another digest: sha256:aa → sha256:cc"},
		"files":   {func(e *Entry) { e.Files = "" }, "integrity: the files of @a/files 1.2.3 have another digest: sha256:bb → (none)"},
		"program": {func(e *Entry) { e.Program, e.Engines = "x", ">=22" }, "program: its program: files → x\nprogram: the versions that it runs on: >=18 → >=22"},
		"packages": {func(e *Entry) {
			e.Lock = npmLock(strings.ReplaceAll(`"node_modules/@a/files":{"version":"1.2.4",SUM},"node_modules/z":{"version":"1","hasInstallScript":true,SUM},"node_modules/zz":{"version":"1",SUM}`, "SUM", `"integrity":"`+someHash("A")+`"`))
		}, "changed: changed: @a/files 1.2.3 → 1.2.4\nremoved: removed: c (as b) 2.0.0-rc.1+x\nremoved: removed: d (in b) 0.1.0\nadded: added: z 1, with install scripts\nadded: added: zz 1"},
		"scripts ran":  {func(e *Entry) { e.ScriptsRan = false }, "script: its install scripts: they ran → they did not run"},
		"no scripts":   {tree(`,"hasInstallScript":true`, ""), "script: c (as b) 2.0.0-rc.1+x: it has no install scripts any more"},
		"one content":  {tree(`"0.1.0","integrity":"`+someHash("Q"), `"0.1.0","integrity":"`+someHash("A")), "integrity: d (in b) 0.1.0 has another content, with the same version: HASH-B → HASH-A"},
		"another one":  {tree(`"name":"c",`, ""), "changed: changed: c (as b) 2.0.0-rc.1+x → b 2.0.0-rc.1+x"},
		"no lock file": {func(e *Entry) { e.Lock = npmLock(`"node_modules/..":{}`) }, `integrity: the packages cannot be compared: the lock entry of npm a: package-lock.json: "node_modules/.." is no place in a tree of packages`},
		"packages of PyPI": {func(e *Entry) {
			*e = *aPython()
			e.Packages[0].Hashes, e.Packages[1].Version = []string{"sha256:3"}, "1.1"
		}, "integrity: click 8.1 has another content, with the same version: sha256:2 → sha256:3\nchanged: changed: git 1.0 → 1.1"},
		"tools": {func(e *Entry) {
			e.Pins["default"] = mustPin(t, `{"name":"read_file"},{"name":"empty","description":""},{"name":"twice"},{"name":"twice"}`)
		}, `tool: default: tool "read_file" annotations: {"readOnlyHint":true} → (none)
tool: default: tool "read_file" description: "Reads it's<U+200B> \"file\".\n" → (none)
tool: default: tool "read_file" inputSchema: {"default":"<it's>","type":"object"} → (none)
tool: default: tool "read_file" title: "Read" → (none)
tool: default: tool "x.y ä": {"description":null,"name":"x.y ä","outputSchema":{"a":"\\"},"title":"\u0000"} → (none)`},
		"no pin so far":  {func(e *Entry) { e.Pins = map[string]*toolpin.Pin{"other": {}} }, ""},
		"one pin of two": {func(e *Entry) { delete(e.Pins, "default") }, ""},
	} {
		old, e := anEntry(t, "a"), anEntry(t, "a")
		if c.edit(e); e.Ecosystem == PyPI {
			old = aPython()
		}
		var lines []string
		for _, change := range Diff(old, e) {
			lines = append(lines, string(change.Kind)+": "+change.Text)
		}
		if got := strings.NewReplacer(someHash("A"), "HASH-A", someHash("Q"), "HASH-B").Replace(strings.Join(lines, "\n")); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
