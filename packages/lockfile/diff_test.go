package lockfile

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// TestDiff: an update in words.
func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Entry)
		want string
	}{
		"nothing": {func(e *Entry) { e.Pinned, e.Note = e.Pinned.AddDate(1, 0, 0), "" }, ""},
		"version": {func(e *Entry) { e.Version, e.Integrity, e.Files, e.Tree = "2.0", "sha512-x", "f", "t" }, "version: @a/files 1.2.3 → 2.0"},
		"version of the root": {func(e *Entry) {
			e.Version, e.Packages[0].Version, e.Packages[0].Scripts = "2.0", "2.0", ScriptsRun
		}, "version: @a/files 1.2.3 → 2.0\nscript: @a/files 2.0: no install scripts → install scripts, which were run"},
		"name":    {func(e *Entry) { e.Name = "ev\u202eil" }, "version: @a/files 1.2.3 → ev<U+202E>il 1.2.3"},
		"content": {func(e *Entry) { e.Integrity = "" }, "integrity: @a/files 1.2.3 has another content, with the same version: sha512-AAAA== → (none)"},
		"tree":    {func(e *Entry) { e.Tree = "sha256:cc" }, "integrity: the tree of @a/files 1.2.3 has another digest: sha256:aa → sha256:cc"},
		"files":   {func(e *Entry) { e.Files = "" }, "integrity: the files of @a/files 1.2.3 have another digest: sha256:bb → (none)"},
		"program": {func(e *Entry) { e.Program, e.Engines = "x", ">=22" }, "program: its program: files → x\nprogram: the versions that it runs on: >=18 → >=22"},
		"packages": {func(e *Entry) {
			e.Packages = []Package{{Path: "node_modules/@a/files", Version: "1.2.4", Integrity: "x"}, {Path: "node_modules/z", Version: "1", Scripts: ScriptsRun}, {Path: "zz", Version: "1"}}
		}, "changed: changed: @a/files 1.2.3 → 1.2.4\nremoved: removed: c (as b) 2.0.0-rc.1+x\nremoved: removed: d (in b) 0.1.0\nadded: added: z 1, with install scripts, which were run\nadded: added: zz 1"},
		"scripts":       {func(e *Entry) { e.Packages[1].Scripts, e.Packages[2].Scripts = ScriptsRun, NoScripts }, "script: c (as b) 2.0.0-rc.1+x: install scripts, which were not run → install scripts, which were run\nscript: d (in b) 0.1.0: install scripts, which were run → no install scripts"},
		"one content":   {func(e *Entry) { e.Packages[2].Integrity = "y" }, "integrity: d (in b) 0.1.0 has another content, with the same version: sha512-BBBB== → y"},
		"another place": {func(e *Entry) { e.Packages[1].Resolved = "y" }, "integrity: c (as b) 2.0.0-rc.1+x comes from another place: git+ssh://git@host/c.git#0123 → y"},
		"another one":   {func(e *Entry) { e.Packages[1].Name = "" }, "changed: changed: c (as b) 2.0.0-rc.1+x → b 2.0.0-rc.1+x"},
		"tools": {func(e *Entry) {
			e.Pins["default"] = mustPin(t, `{"name":"read_file"},{"name":"empty","description":""},{"name":"twice"},{"name":"twice"}`)
		}, "tool: default: tool read_file: its title is gone: it was «Read»; its description is gone: it was «Reads it's<U+200B> \"file\".\\n»; its inputSchema is gone: it was «{\"default\":\"it's\",\"type\":\"object\"}»; its annotations is gone: it was «{\"readOnlyHint\":true}»\ntool: default: tool «x.y ä»: it is gone"},
		"no pin so far":  {func(e *Entry) { e.Pins = map[string]*toolpin.Pin{"other": {}} }, ""},
		"one pin of two": {func(e *Entry) { delete(e.Pins, "default") }, ""},
	} {
		old, e := anEntry(t, "a"), anEntry(t, "a")
		c.edit(e)
		var lines []string
		for _, change := range Diff(old, e) {
			lines = append(lines, string(change.Kind)+": "+change.Text)
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
