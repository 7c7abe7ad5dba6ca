package npm

import (
	"encoding/json"
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
	out := []string{`"":{"dependencies":{"b":"1.0.0"}}`}
	for _, e := range entries {
		place, text, _ := strings.Cut(e, ": ")
		name, _ := json.Marshal(place)
		out = append(out, string(name)+":{"+text+"}")
	}
	return []byte(`{"lockfileVersion":3,"packages":{` + strings.Join(out, ",") + `}}`)
}

func TestReadLock(t *testing.T) {
	got, err := ReadLock(lockOf(
		`node_modules/b: "version":"1.0.0","resolved":"https://r.example/b.tgz","integrity":"`+sha512a+`","hasInstallScript":true,"deprecated":"no"`,
		`node_modules/b/node_modules/@s/c: "version":"2.0.0","inBundle":true`,
		`node_modules/a: "name":"@x/real","version":"3.0.0","integrity":"`+sha1+" "+sha256a+" "+sha512b+`?x","optional":true`,
		`node_modules/d: "version":"1.0.0","integrity":"`+sha256a+`"`,
	))
	want := []Package{
		{Path: "node_modules/a", Name: "@x/real", Version: "3.0.0", Integrity: sha512b},
		{Path: "node_modules/b", Name: "b", Version: "1.0.0", Integrity: sha512a, HasInstallScript: true},
		{Path: "node_modules/b/node_modules/@s/c", Name: "@s/c", Version: "2.0.0"},
		{Path: "node_modules/d", Name: "d", Version: "1.0.0", Integrity: sha256a},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\n%v", got, err)
	}
	// npm takes any of several hashes, so the registry could exchange the archive later.
	_, err = ReadLock(lockOf(`node_modules/a: "version":"1.0.0","integrity":"` + sha512b + " " + sha512a + `"`))
	testkit.Fails(t, "two hashes", err, "more than one hash")
	testkit.Equal(t, "", string(testkit.Get(Manifest(lockOf()))(t)), `{"dependencies":{"b":"1.0.0"}}`)
	if _, err := Manifest([]byte(`{"lockfileVersion":3,"packages":{}}`)); !strings.Contains(message(err), "for which packages it was made") {
		t.Error(err)
	}
}

// TestLean: what npm ci does not need is left out, with the optional packages that are not there and the extraneous ones.
func TestLean(t *testing.T) {
	lock := lockOf(`node_modules/a: "version":"1.0.0","license":"MIT","optionalDependencies":{"gone":"1","b":"1","c":"1"},"hasInstallScript":true`,
		`node_modules/a/node_modules/c: "version":"1.0.0","optionalDependencies":{"gone":"1"},"engines":{}`,
		`node_modules/b: "version":"1.0.0"`, `node_modules/gone/node_modules/gone: "version":"1.0.0","extraneous":true`)
	lean, extraneous, err := Lean(lock)
	testkit.Must(t, err)
	want := `{"lockfileVersion":3,"packages":{"":{"dependencies":{"b":"1.0.0"}},"node_modules/a":{"hasInstallScript":true,"optionalDependencies":{"b":"1","c":"1"},"version":"1.0.0"},` +
		`"node_modules/a/node_modules/c":{"version":"1.0.0"},"node_modules/b":{"version":"1.0.0"}},"requires":true}`
	testkit.Equal(t, "", string(lean), want)
	again, more, err := Lean(lean)
	if err != nil || !extraneous || more || string(again) != want {
		t.Errorf("%v, %v, %s, %v", extraneous, more, again, err)
	}
}

func TestReadLockNamesWhatIsNotFixed(t *testing.T) {
	for name, entry := range testkit.Named[string](t, "read-lock-names-what-is-not-fixed.txt") {
		list, err := ReadLock(lockOf(`node_modules/a: "version":"1.0.0",` + entry))
		if list != nil || message(err) != "the registry gives no SHA-512 of the archive of a@1.0.0, so nothing fixes what is in it" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadLockRefuses(t *testing.T) {
	for _, c := range testkit.Table[struct{ name, file, want string }](t, "read-lock-refuses.txt") {
		if list, err := ReadLock([]byte(c.file)); list != nil || !strings.Contains(message(err), c.want) || !strings.HasPrefix(message(err), "package-lock.json: ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestDigest(t *testing.T) {
	base := []Package{{Path: "node_modules/a", Name: "a", Version: "1.0.0", Integrity: sha512a}}
	for name, change := range map[string]func(p *Package){
		"another version":       func(p *Package) { p.Version = "1.0.1" },
		"another integrity":     func(p *Package) { p.Integrity = sha512b },
		"another place":         func(p *Package) { p.Path = "node_modules/c" },
		"an alias":              func(p *Package) { p.Name = "c" },
		"a border that moves":   func(p *Package) { p.Path, p.Name = "node_modules/a a", "" },
		"a line inside a value": func(p *Package) { p.Name = "a\"\n\"" },
	} {
		changed := slices.Clone(base)
		change(&changed[0])
		if Digest(changed) == Digest(base) || Digest(changed) != Digest(slices.Clone(changed)) {
			t.Errorf("%s: %s", name, Digest(changed))
		}
	}
}

func TestReadLockOfRealServers(t *testing.T) {
	data := testkit.Get(os.ReadFile("../../testdata/npm/package-lock.json"))(t)
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
		if !strings.HasPrefix(p.Integrity, "sha512-") {
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
	})
}
