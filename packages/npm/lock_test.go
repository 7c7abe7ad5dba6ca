package npm

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// Integrities of the right length.
const (
	sha512a = "sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
	sha512b = "sha512-BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
	sha256a = "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	sha1    = "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// lockOf returns a lock file with entries "PLACE: MEMBERS".
func lockOf(entries ...string) []byte {
	var out []string
	for _, e := range entries {
		place, text, _ := strings.Cut(e, ": ")
		name, _ := json.Marshal(place)
		out = append(out, string(name)+":{"+text+"}")
	}
	return []byte(`{"lockfileVersion":3,"packages":{` + strings.Join(out, ",") + `}}`)
}

func TestReadLock(t *testing.T) {
	got, err := ReadLock(lockOf(
		`: "name":"root","dependencies":{"b":"1"}`,
		`node_modules/b: "version":"1.0.0","resolved":"https://r.example/b.tgz","integrity":"`+sha512a+`","hasInstallScript":true,"license":{"type":"MIT"},"deprecated":"no"`,
		`node_modules/b/node_modules/@s/c: "version":"2.0.0","inBundle":true`,
		`node_modules/a: "name":"@x/real","version":"3.0.0","integrity":"`+sha1+" "+sha512b+" "+sha512a+`?x","optional":true,"os":["darwin"],"cpu":"arm64","libc":["musl"],"license":"ISC"`,
		`node_modules/d: "version":"1.0.0","resolved":"file:d.tgz","integrity":"`+sha256a+`"`,
	))
	want := []Package{
		{Path: "node_modules/a", Name: "@x/real", Version: "3.0.0", Integrity: sha512a + " " + sha512b, Optional: true, OS: []string{"darwin"}, CPU: []string{"arm64"}, Libc: []string{"musl"}, License: "ISC"},
		{Path: "node_modules/b", Name: "b", Version: "1.0.0", Integrity: sha512a, Resolved: "https://r.example/b.tgz", HasInstallScript: true, Deprecated: "no", License: "MIT"},
		{Path: "node_modules/b/node_modules/@s/c", Name: "@s/c", Version: "2.0.0", Bundled: true},
		{Path: "node_modules/d", Name: "d", Version: "1.0.0", Integrity: sha256a, Resolved: "file:d.tgz"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\n%v", got, err)
	}
}

func TestReadLockNamesWhatIsNotFixed(t *testing.T) {
	for _, c := range []struct {
		name, entry string
		want        error
	}{
		{"git over ssh", `node_modules/a: "resolved":"git+ssh://git@h.example/a.git#0123"`, ErrGit},
		{"git", `node_modules/a: "resolved":"git://h.example/a.git#0123"`, ErrGit},
		{"a folder", `node_modules/a: "resolved":"file:../a"`, ErrFile},
		{"a folder outside the tree", `../a: "version":"1.0.0"`, ErrFile},
		{"a workspace", `packages/a: "version":"1.0.0","integrity":"` + sha512a + `"`, ErrFile},
		{"a link", `node_modules/a: "resolved":"packages/a","link":true,"integrity":"` + sha512a + `"`, ErrLink},
		{"nothing", `node_modules/a: "version":"1.0.0"`, ErrNoIntegrity},
		{"in another case of letters", `node_modules/a: "Integrity":"` + sha512a + `"`, ErrNoIntegrity},
		{"bundled with nothing", `node_modules/a: "inBundle":true`, ErrNoIntegrity},
		{"bundled with a package without integrity", `node_modules/x/node_modules/a: "inBundle":true`, ErrNoIntegrity},
		{"SHA-1", `node_modules/a: "integrity":"` + sha1 + `"`, ErrWeak},
		{"a digest that is too short", `node_modules/a: "integrity":"sha512-AAAA"`, ErrWeak},
	} {
		list, err := ReadLock(lockOf(c.entry))
		var unpinned *UnpinnedError
		if !errors.As(err, &unpinned) || len(unpinned.Packages) != 1 || !errors.Is(err, c.want) || len(list) != 1 {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	many := make([]string, 7)
	for i := range many {
		many[i] = "node_modules/" + string(rune('a'+i)) + `: "resolved":"git:x"`
	}
	_, err := ReadLock(lockOf(many...))
	if s := message(err); !strings.HasPrefix(s, "the lock file does not fix what is installed: node_modules/a: it comes from git, and nothing fixes its content; node_modules/b:") ||
		!strings.HasSuffix(s, " and 2 more; use a version from a registry") {
		t.Error(s)
	}
}

func TestReadLockRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"no JSON", `x`, "it is not a JSON object"},
		{"version 1", `{"lockfileVersion":1,"dependencies":{}}`, `its lockfileVersion is "1"`},
		{"no version", `{"packages":{}}`, `its lockfileVersion is ""`},
		{"a list", `{"lockfileVersion":3,"packages":[]}`, "its list of packages cannot be read"},
		{"a place that leads out", string(lockOf(`node_modules/../a: "version":"1"`)), "no place in a tree"},
		{"a place inside a package", string(lockOf(`node_modules/a/dist: "version":"1"`)), "no place in a tree"},
		{"a scope alone", string(lockOf(`node_modules/@a: "version":"1"`)), "no place in a tree"},
		{"a hidden name", string(lockOf(`node_modules/.bin: "version":"1"`)), "no place in a tree"},
		{"a backslash", string(lockOf(`node_modules/a\b: "version":"1"`)), "no place in a tree"},
	} {
		if list, err := ReadLock([]byte(c.file)); list != nil || !strings.Contains(message(err), c.want) || !strings.HasPrefix(message(err), "package-lock.json: ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestDigestCountsContentOnly(t *testing.T) {
	base := []Package{
		{Path: "node_modules/a", Name: "a", Version: "1.0.0", Integrity: sha512a, OS: []string{"linux", "darwin"}},
		{Path: "node_modules/b", Name: "b", Version: "1.0.0", Integrity: sha512b},
	}
	want := Digest(base)
	if len(want) != len("sha256:")+64 {
		t.Error(want)
	}
	for name, c := range map[string]struct {
		same   bool
		change func(p []Package) []Package
	}{
		"another order":         {true, func(p []Package) []Package { return []Package{p[1], p[0]} }},
		"another address":       {true, func(p []Package) []Package { p[0].Resolved = "https://mirror.example"; return p }},
		"a deprecation":         {true, func(p []Package) []Package { p[0].Deprecated = "x"; return p }},
		"another version":       {false, func(p []Package) []Package { p[0].Version = "1.0.1"; return p }},
		"another integrity":     {false, func(p []Package) []Package { p[0].Integrity = sha512b; return p }},
		"another place":         {false, func(p []Package) []Package { p[0].Path = "node_modules/c"; return p }},
		"an alias":              {false, func(p []Package) []Package { p[0].Name = "c"; return p }},
		"one more":              {false, func(p []Package) []Package { return append(p, Package{Path: "node_modules/c"}) }},
		"one twice":             {false, func(p []Package) []Package { return append(p, p[0]) }},
		"one fewer":             {false, func(p []Package) []Package { return p[:1] }},
		"another system":        {false, func(p []Package) []Package { p[0].OS = []string{"linux"}; return p }},
		"a comma in a system":   {false, func(p []Package) []Package { p[0].OS = []string{"linux,darwin"}; return p }},
		"the CPU of a system":   {false, func(p []Package) []Package { p[0].CPU, p[0].OS = p[0].OS, nil; return p }},
		"optional":              {false, func(p []Package) []Package { p[0].Optional = true; return p }},
		"a border that moves":   {false, func(p []Package) []Package { p[0].Path, p[0].Name = "node_modules/a a", ""; return p }},
		"a line inside a value": {false, func(p []Package) []Package { p[0].Name = "a\"\n\""; return p }},
	} {
		if got := Digest(c.change(slices.Clone(base))); (got == want) != c.same {
			t.Errorf("%s: same %v", name, got == want)
		}
	}
}

func TestReadLockOfRealServers(t *testing.T) {
	data, err := os.ReadFile("../../testdata/npm/package-lock.json")
	testkit.Must(t, err)
	var lock struct{ Packages map[string]json.RawMessage }
	testkit.Must(t, json.Unmarshal(data, &lock))
	list, err := ReadLock(data)
	if want := len(lock.Packages) - 1; err != nil || len(list) != want { // "" is the project itself
		t.Fatalf("%d packages, want %d: %v", len(list), want, err)
	}
	i := slices.IndexFunc(list, func(p Package) bool { return p.Path == "node_modules/filesystem-2025-3-28" })
	if i < 0 || list[i].Name != "@modelcontextprotocol/server-filesystem" || list[i].Version != "2025.3.28" {
		t.Error(list[i])
	}
	for _, p := range list {
		if !strings.HasPrefix(p.Integrity, "sha512-") || p.License == "" {
			t.Errorf("%+v", p)
		}
	}
}

func FuzzReadLock(f *testing.F) {
	f.Add(lockOf(`node_modules/a: "integrity":"`+sha512a+`","os":["!x"]`, `node_modules/a/node_modules/@b/c: "inBundle":true`, `x: "link":true`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ReadLock(data)
		for _, p := range list {
			if err == nil && !isPlace(p.Path) || p.Name == "" {
				t.Errorf("%+v", p)
			}
		}
		if !slices.IsSortedFunc(list, func(a, b Package) int { return strings.Compare(a.Path, b.Path) }) {
			t.Error("not sorted")
		}
		if a, b := Digest(list), Digest(list); a != b {
			t.Error(a, b)
		}
	})
}
