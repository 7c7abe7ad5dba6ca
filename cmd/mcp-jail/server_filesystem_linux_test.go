package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// A kindOfJail is a way in which a test starts a server: in a jail, in one without namespaces, or in none.
type kindOfJail string

const (
	noJail         kindOfJail = "no jail"
	usualJail      kindOfJail = "a jail"
	hostNamespaces kindOfJail = "a jail without namespaces"
)

// starts returns the command that starts a server in that kind of jail.
func (k kindOfJail) starts(w *world, argv ...string) *exec.Cmd {
	switch k {
	case usualJail:
		return w.jail(append([]string{"--"}, argv...)...)
	case hostNamespaces:
		return withoutUserns(w.jail(slices.Concat(waiveNamespaces, []string{"--"}, argv)...))
	}
	return w.plain(argv...)
}

// TestServerFilesystem plays a session with the official filesystem server, without and
// with a jail of each kind, and compares the results and the files.
func TestServerFilesystem(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	at := func(name string) string { return filepath.Join(w.work, name) }
	script := []step{
		{"list_allowed_directories", nil},
		{"create_directory", map[string]any{"path": at("new/deep/er")}},
		{"write_file", map[string]any{"path": at("new/a.txt"), "content": "one\ntwo\nthree\n"}},
		{"write_file", map[string]any{"path": at("old.txt"), "content": "over it\n"}},
		{"edit_file", map[string]any{"path": at("new/a.txt"), "edits": []map[string]string{{"oldText": "two", "newText": "2"}}}},
		{"edit_file", map[string]any{"path": at("new/a.txt"), "dryRun": true, "edits": []map[string]string{{"oldText": "one", "newText": "1"}}}},
		{"read_file", map[string]any{"path": at("new/a.txt")}},
		{"read_text_file", map[string]any{"path": at("new/a.txt"), "head": 2}},
		{"read_text_file", map[string]any{"path": at("new/a.txt"), "tail": 1}},
		{"read_text_file", map[string]any{"path": at("through")}},
		{"read_media_file", map[string]any{"path": at("dot.png")}},
		{"read_multiple_files", map[string]any{"paths": []string{at("old.txt"), at("sub/b.txt"), at("absent")}}},
		{"move_file", map[string]any{"source": at("new/a.txt"), "destination": at("new/deep/moved.txt")}},
		{"move_file", map[string]any{"source": at("sub"), "destination": at("new/sub")}},
		{"list_directory", map[string]any{"path": w.work}},
		{"list_directory_with_sizes", map[string]any{"path": at("sizes"), "sortBy": "size"}},
		{"directory_tree", map[string]any{"path": at("new")}},
		{"search_files", map[string]any{"path": w.work, "pattern": "**/*.txt"}},
		{"get_file_info", map[string]any{"path": at("old.txt")}},
		// Failures have the same words.
		{"read_text_file", map[string]any{"path": at("absent")}},
		{"move_file", map[string]any{"source": at("absent"), "destination": at("x")}},
		{"read_text_file", map[string]any{"path": filepath.Join(w.base, "outside.txt")}},
	}
	perform := func(kind kindOfJail) (tools []string, results []toolResult, files map[string]string) {
		must(t, os.RemoveAll(w.work))
		w.plant(t, w.base, map[string]string{"outside.txt": "out there"})
		w.plant(t, w.work, map[string]string{
			"old.txt": "old\n", "sub/b.txt": "b\n", "dot.png": "\x89PNG\r\n\x1a\n\x00\xff", "sizes/big": strings.Repeat("x", 5000), "sizes/small": "x",
		})
		must(t, os.Symlink("old.txt", at("through")))
		s := open(t, kind.starts(w, "node", server(filesystem), w.work), nil)
		tools, results = s.tools(), callTools(s, script)
		if status := s.close(); status != 0 {
			t.Errorf("%s: exit status %d\nstderr: %s", kind, status, &s.stderr)
		}
		if strings.Contains(s.stderr.String(), "weaker jail, without namespaces") != (kind == hostNamespaces) {
			t.Errorf("%s: stderr: %s", kind, &s.stderr)
		}
		return tools, results, snapshot(t, w.work)
	}
	tools, plain, plainFiles := perform(noJail)
	_, jailed, jailedFiles := perform(usualJail)
	_, bare, bareFiles := perform(hostNamespaces)
	compareResults(t, script, plain, jailed)
	compareResults(t, script, plain, bare)
	if !maps.Equal(plainFiles, jailedFiles) || !maps.Equal(plainFiles, bareFiles) {
		t.Errorf("the directories differ\n plain  %q\n jailed %q\n without namespaces %q", plainFiles, jailedFiles, bareFiles)
	}

	used := map[string]bool{}
	for i, c := range script {
		used[c.tool] = used[c.tool] || !jailed[i].IsError
	}
	if len(tools) != 14 {
		t.Errorf("the server has %d tools: %q", len(tools), tools)
	}
	for _, tool := range tools {
		if !used[tool] {
			t.Errorf("the tool %s never succeeded in the jail", tool)
		}
	}
}

// TestServerFilesystemOutside tests a server that allows everything, so that only the
// jail protects the rest of the machine.
func TestServerFilesystemOutside(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.base, map[string]string{"outside/o.txt": "out there", "work/in.txt": "in here"})
	argv := []string{"node", server(filesystem), "/"}
	key, outside := filepath.Join(w.home, ".ssh", "id_ed25519"), filepath.Join(w.base, "outside")

	s := open(t, w.plain(argv...), nil) // the control
	for _, file := range []string{key, filepath.Join(outside, "o.txt")} {
		if r := s.tool("read_text_file", map[string]any{"path": file}); r.IsError {
			t.Errorf("the server cannot read %s even outside of a jail: %s", file, r.texts())
		}
	}
	s.close()

	s = open(t, w.jail(append([]string{"--"}, argv...)...), nil)
	if r := s.tool("read_text_file", map[string]any{"path": filepath.Join(w.work, "in.txt")}); r.IsError || !strings.Contains(r.texts(), "in here") {
		t.Errorf("inside of the grant: %s", r.texts())
	}
	for _, c := range []step{
		{"read_text_file", map[string]any{"path": key}},
		{"read_text_file", map[string]any{"path": filepath.Join(outside, "o.txt")}},
		{"read_text_file", map[string]any{"path": filepath.Join(w.home, "notes.txt")}},
		{"list_directory", map[string]any{"path": filepath.Dir(key)}},
		{"list_directory", map[string]any{"path": outside}},
		{"get_file_info", map[string]any{"path": key}},
		{"write_file", map[string]any{"path": filepath.Join(outside, "o.txt"), "content": "overwritten"}},
		{"write_file", map[string]any{"path": filepath.Join(w.home, ".bashrc"), "content": "evil"}},
		{"create_directory", map[string]any{"path": filepath.Join(w.base, "planted")}},
		{"move_file", map[string]any{"source": filepath.Join(w.work, "in.txt"), "destination": filepath.Join(w.base, "out.txt")}},
		{"list_directory", map[string]any{"path": "/root"}},
	} {
		if r := s.tool(c.tool, c.arguments); !r.IsError {
			t.Errorf("%s %v succeeded: %s", c.tool, c.arguments, r.texts())
		}
	}
	// Names beside the grants do not exist.
	for dir, want := range map[string][]string{w.base: {"home", "work"}, w.home: {".local"}, filepath.Dir(w.base): {filepath.Base(w.base)}} {
		var names []string
		for line := range strings.Lines(s.tool("list_directory", map[string]any{"path": dir}).texts()) {
			if f := strings.Fields(line); len(f) == 2 {
				names = append(names, f[1])
			}
		}
		// A parent directory of a grant shows only the way to it, or cannot be listed.
		if slices.Sort(names); len(names) > 0 && !slices.Equal(names, want) {
			t.Errorf("the server sees %q in %s, want %q", names, dir, want)
		}
	}
	s.close()
	if got := testkit.ReadFile(t, filepath.Join(outside, "o.txt")); got != "out there" {
		t.Errorf("a file outside was changed: %q", got)
	}
}

// TestServerFilesystemEscapes tests the published escapes of server-filesystem 2025.3.28:
// CVE-2025-53110 compares paths by prefix, CVE-2025-53109 does not check the target of a
// link. They work without a jail and fail in one of each kind.
func TestServerFilesystemEscapes(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	for _, kind := range []kindOfJail{noJail, usualJail, hostNamespaces} {
		w, jailed := newWorld(t), kind != noJail
		w.plant(t, w.base, map[string]string{"work/in.txt": "in here", "work_secret/s.txt": "the content", "elsewhere/e.txt": "the content", "elsewhere/w.txt": ""})
		must(t, os.Symlink(filepath.Join(w.base, "elsewhere"), filepath.Join(w.work, "link")))
		must(t, os.Symlink(filepath.Join(w.base, "elsewhere", "e.txt"), filepath.Join(w.work, "e")))
		must(t, os.Symlink(filepath.Join(w.base, "elsewhere", "w.txt"), filepath.Join(w.work, "w")))
		s := open(t, kind.starts(w, "node", server(oldFilesystem), w.work), nil)
		if r := s.tool("read_file", map[string]any{"path": filepath.Join(w.work, "in.txt")}); r.IsError {
			t.Errorf("%s: the server does not work: %s", kind, r.texts())
		}
		for _, c := range []struct {
			name, tool, path string
			leaks            string
		}{
			{"prefix, read", "read_file", filepath.Join(w.base, "work_secret", "s.txt"), "the content"},
			{"prefix, list", "list_directory", filepath.Join(w.base, "work_secret"), "s.txt"},
			{"prefix, write", "write_file", filepath.Join(w.base, "work_secret", "new.txt"), ""},
			{"link, read", "read_file", filepath.Join(w.work, "e"), "the content"},
			{"link, write", "write_file", filepath.Join(w.work, "w"), ""},
		} {
			arguments := map[string]any{"path": c.path}
			if c.tool == "write_file" {
				arguments["content"] = "escaped"
			}
			r := s.tool(c.tool, arguments)
			got := r.texts()
			if c.tool == "write_file" {
				// The file on the host decides.
				b, _ := os.ReadFile(map[bool]string{true: filepath.Join(w.base, "elsewhere", "w.txt"), false: c.path}[strings.HasPrefix(c.name, "link")])
				got, c.leaks = string(b), "escaped"
			}
			if escaped := strings.Contains(got, c.leaks); escaped == jailed {
				t.Errorf("%s: %s: escaped %v: %s", kind, c.name, escaped, r.texts())
			}
		}
		s.close()
	}
}

// TestWorkspaceBelowTmp tests that a workspace in /tmp is granted although the jail has a
// /tmp of its own.
func TestWorkspaceBelowTmp(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, "/tmp")
	outside := w.base + "-outside"
	must(t, os.WriteFile(outside, nil, 0o644))
	defer os.Remove(outside)
	w.plant(t, w.work, map[string]string{"in.txt": "in here"})
	s := open(t, w.jail("--", installed(t, execServer)), nil)
	if text := s.mustRun("cat", filepath.Join(w.work, "in.txt")); strings.TrimSpace(text) != "in here" {
		t.Errorf("read: %q", text)
	}
	private := filepath.Join("/tmp", filepath.Base(w.base)+"-private")
	s.mustRun("sh", "-c", `printf new >"$1" && echo x >"$2"`, "sh", filepath.Join(w.work, "new.txt"), private)
	// Other names depend on the host: a jail also shows programs that are below /tmp.
	names := strings.Fields(s.mustRun("ls", "/tmp"))
	for name, want := range map[string]bool{filepath.Base(w.base): true, filepath.Base(private): true, filepath.Base(outside): false} {
		if slices.Contains(names, name) != want {
			t.Errorf("%s is in /tmp of the jail: %v, want %v", name, !want, want)
		}
	}
	s.close()
	if got := testkit.ReadFile(t, filepath.Join(w.work, "new.txt")); got != "new" {
		t.Errorf("the host sees %q", got)
	}
	if _, err := os.Lstat(private); err == nil {
		t.Error("the private /tmp is the host's")
	}
}

var remember = map[string]any{"entities": []map[string]any{{"name": "jail", "entityType": "thing", "observations": []string{"it holds"}}}}

// TestServerMemoryDiagnosed tests the memory server without MEMORY_FILE_PATH. It then
// writes beside its own code, which no rule may grant. The diagnosis says to keep the
// file elsewhere, and that works, also in the next session.
func TestServerMemoryDiagnosed(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	pkg := filepath.Join(w.base, "node_modules")
	w.copyPackage(t, pkg, memory)
	program := filepath.Join(pkg, memory, "dist", "index.js")
	dir := filepath.Dir(program)

	s := open(t, w.jail("--name", "memory", "--", "node", program), nil)
	r := s.tool("create_entities", remember)
	s.close()
	if !r.IsError || !strings.Contains(r.texts(), "[mcp-jail]") || !strings.Contains(r.texts(), dir) || r.Meta["dev.mcp-jail/denials"] == nil {
		t.Fatalf("the failure does not explain itself: %s", r.raw)
	}
	if _, err := os.Stat(filepath.Join(dir, "memory.jsonl")); err == nil {
		t.Fatal("it wrote beside its own code")
	}
	// The server replaces its file by a rename, which needs write access to the directory of
	// its program. No rule may grant that, so the diagnosis has a fix instead of a grant.
	if d := w.why(t, "memory"); len(d.Grant) > 0 || !strings.Contains(d.Fix, "keep its file in another") || !strings.Contains(d.Fix, filepath.Base(program)) {
		t.Fatalf("it proposes %q: %s", d.Grant, d.Fix)
	}
	w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.work, "memory.jsonl"))
	for session := range 2 { // the second session reads the file of the first
		s = open(t, w.jail("--name", "memory", "--env", "MEMORY_FILE_PATH", "--", "node", program), nil)
		if session == 0 {
			if r := s.tool("create_entities", remember); r.IsError {
				t.Fatalf("it still fails: %s\nstderr: %s", r.texts(), &s.stderr)
			}
		}
		if r := s.tool("search_nodes", map[string]any{"query": "hold"}); r.IsError || !strings.Contains(r.texts(), "it holds") {
			t.Errorf("session %d: search_nodes: %s", session, r.texts())
		}
		s.close()
	}
	if got := testkit.ReadFile(t, filepath.Join(w.work, "memory.jsonl")); !strings.Contains(got, "it holds") {
		t.Errorf("the file holds %q", got)
	}
}

// TestServerEnvironment tests that a server has exactly the environment that plan shows.
func TestServerEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	argv := []string{installed(t, execServer)}
	environment := func(cmd *exec.Cmd) map[string]string {
		s := open(t, cmd, nil)
		defer s.close()
		got := map[string]string{}
		for v := range strings.SplitSeq(strings.TrimRight(s.mustRun("env", "-0"), "\x00\n"), "\x00") {
			name, value, _ := strings.Cut(v, "=")
			got[name] = value
		}
		return got
	}
	if environment(w.plain(argv...))["PLANTED_SECRET"] != "hunter2" {
		t.Error("the control: the planted secret is in the environment of a plain server")
	}
	got := environment(w.jail(append([]string{"--"}, argv...)...))
	var plan struct {
		Profile struct {
			Env []struct{ Name, Value string } `json:"env"`
		} `json:"profile"`
	}
	must(t, json.Unmarshal([]byte(w.output(t, append([]string{"plan", "--format", "json", "--"}, argv...)...)), &plan))
	want := map[string]string{}
	for _, v := range plan.Profile.Env {
		want[v.Name] = v.Value
	}
	if _, secret := got["PLANTED_SECRET"]; secret || len(want) < 5 || !maps.Equal(got, want) {
		t.Errorf("the environment is %q\nthe plan says %q", got, want)
	}
}
