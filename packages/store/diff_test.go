package store

import (
	"strings"
	"testing"
)

// TestDiff: what an update changes, line by line.
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
		}, "@a/files: 1.2.3 → 2.0\ninstall scripts of @a/files 2.0: no → yes"},
		"name": {func(e *Entry) {
			e.Name = "ev\u202eil"
			tree(`@a/files"`, `ev\u202eil"`)(e)
		}, "ev<U+202E>il: @a/files@1.2.3 → 1.2.3"},
		"content":      {func(e *Entry) { e.Integrity = "sha512-x" }, "content of @a/files 1.2.3: HASH-A → sha512-x"},
		"two contents": {func(e *Entry) { e.Integrity += " " + someHash("Q") }, "content of @a/files 1.2.3: HASH-A → HASH-A HASH-B"},
		"tree":         {func(e *Entry) { e.Tree = "sha256:cc" }, "tree of @a/files 1.2.3: sha256:aa → sha256:cc"},
		"files":        {func(e *Entry) { e.Files = "" }, "files of @a/files 1.2.3: sha256:bb → (none)"},
		"files, and the versions of the interpreter": {func(e *Entry) { e.Files, e.Engines = "", "" }, "files of @a/files 1.2.3: sha256:bb → (none)\nversions of the interpreter: >=18 → (none)"},
		"program": {func(e *Entry) { e.Program, e.File, e.Engines = "x", "", ">=22" }, "program: files → x\nfile of the program: node_modules/@a/files/dist/index.js → (none)\nversions of the interpreter: >=18 → >=22"},
		"packages": {func(e *Entry) {
			e.Version = "1.2.4"
			e.Lock = npmLock(strings.ReplaceAll(`"node_modules/@a/files":{"version":"1.2.4",SUM},"node_modules/z":{"version":"1","hasInstallScript":true,SUM},"node_modules/zz":{"version":"1",SUM}`, "SUM", `"integrity":"`+someHash("A")+`"`))
		}, "@a/files: 1.2.3 → 1.2.4\nb: c@2.0.0-rc.1+x → (none)\nb/node_modules/d: 0.1.0 → (none)\nz: (none) → 1\ninstall scripts of z 1: no → yes\nzz: (none) → 1"},
		"scripts ran":  {func(e *Entry) { e.ScriptsRan = false }, "install scripts ran: yes → no"},
		"no scripts":   {tree(`,"hasInstallScript":true`, ""), "install scripts of b 2.0.0-rc.1+x: yes → no"},
		"one content":  {tree(`"0.1.0","integrity":"`+someHash("Q"), `"0.1.0","integrity":"`+someHash("A")), "content of b/node_modules/d 0.1.0: HASH-B → HASH-A"},
		"another one":  {tree(`"name":"c",`, ""), "b: c@2.0.0-rc.1+x → 2.0.0-rc.1+x"},
		"no lock file": {func(e *Entry) { e.Version, e.Lock = "2.0", npmLock(`"node_modules/..":{}`) }, `the packages cannot be compared: the lock entry of npm a: package-lock.json: "node_modules/.." is no place in a tree of packages` + "\n@a/files: 1.2.3 → 2.0"},
		"packages of PyPI": {func(e *Entry) {
			*e = *aPython()
			e.Packages[0].Hashes, e.Packages[1].Version, e.Version = []string{"sha256:3"}, "1.1", "1.1"
		}, "git: 1.0 → 1.1\ncontent of click 8.1: sha256:2 → sha256:3"},
		"tools": {func(e *Entry) { e.Pins = nil }, ""},
	} {
		old, e := anEntry(t, "a"), anEntry(t, "a")
		if c.edit(e); e.Ecosystem == PyPI {
			old = aPython()
		}
		if got := strings.NewReplacer(someHash("A"), "HASH-A", someHash("Q"), "HASH-B").Replace(strings.Join(Diff(old, e), "\n")); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
