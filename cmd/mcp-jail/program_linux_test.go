package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// execSession opens a session with the exec server, under the default policy.
func execSession(t *testing.T, w *world) *clientSession {
	t.Helper()
	return open(t, w.jail("--", installed(t, execServer)), nil)
}

// hostPort returns a port on which the host listens.
func hostPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// recipe is a configuration of docs/policy.md "Recipes for programs". The tests run what the page shows.
type recipe struct {
	name   string
	head   string   // the server's own table
	access []string // its access tables, each a rule
	rest   []string // its other tables
}

// readRecipe reads the recipe of a server. swaps are pairs of a text on the page and its
// replacement on this machine.
func readRecipe(t *testing.T, name string, swaps ...string) recipe {
	t.Helper()
	r := recipe{name: name}
	page := testkit.ReadFile(t, filepath.Join("..", "..", "docs", "policy.md"))
	_, text, found := strings.Cut(page, "```toml\n[servers."+name+"]\n")
	text, _, closed := strings.Cut(text, "```")
	if !found || !closed {
		t.Fatalf("docs/policy.md has no server %q", name)
	}
	for i := 0; i < len(swaps); i += 2 {
		if !strings.Contains(text, swaps[i]) {
			t.Fatalf("the recipe of %s does not say %q:\n%s", name, swaps[i], text)
		}
		text = strings.ReplaceAll(text, swaps[i], swaps[i+1])
	}
	text = regexp.MustCompile(`(?m) *#.*$`).ReplaceAllString(text, "")
	for i, table := range regexp.MustCompile(`(?m)^\[`).Split("head\n["+text, -1)[1:] {
		table = "[" + strings.TrimRight(table, "\n ") + "\n"
		switch {
		case i == 0:
			r.head = "[servers." + name + "]\n" + strings.TrimPrefix(table, "[")
		case table == "[servers."+name+".access]\n": // it is written in any case
		case strings.Contains(table, "."+name+".access"):
			r.access = append(r.access, table)
		default:
			r.rest = append(r.rest, table)
		}
	}
	return r
}

// config returns the recipe as a file, with these rules instead of its own.
func (r recipe) config(rules ...string) string {
	return "version = 1\n" + r.head + "[servers." + r.name + ".access]\n" + strings.Join(rules, "") + strings.Join(r.rest, "")
}

// execRecipe returns a recipe with the exec server as its server.
func execRecipe(t *testing.T, name string, swaps ...string) recipe {
	t.Helper()
	return readRecipe(t, name, append(swaps, `command = "node-server"`, fmt.Sprintf("command = %q", installed(t, execServer)))...)
}

// use is one use of a program. The result says whether it worked.
type use func(t *testing.T, w *world, s *clientSession) toolResult

// attempt starts the server with a configuration and uses it. A failed start counts as a
// failed use.
func (w *world) attempt(t *testing.T, server, config string, use use) toolResult {
	t.Helper()
	file := filepath.Join(w.base, "c.toml")
	must(t, os.WriteFile(file, []byte(config), 0o644))
	s := start(t, w.jail("--config", file, server))
	r := toolResult{IsError: true}
	if r.raw = s.greet(); r.raw == nil {
		r = use(t, w, s)
	}
	s.close()
	return r
}

// useRun returns a use that runs a program with an exec server.
func useRun(argv ...string) use {
	return func(_ *testing.T, _ *world, s *clientSession) toolResult {
		return s.tool("run", map[string]any{"argv": argv})
	}
}

// checkRecipe tests that a program works with its recipe, and not without the last rule of that.
func checkRecipe(t *testing.T, recipe func(*testing.T, *world) recipe, use use) {
	t.Helper()
	for name, with := range map[string]bool{"recipe": true, "without its last rule": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := recipe(t, w)
			if !with {
				r.access = r.access[:len(r.access)-1]
			}
			if got := w.attempt(t, r.name, r.config(r.access...), use); got.IsError == with {
				t.Errorf("%s", got.raw)
			}
		})
	}
}

// lastRule tests that an installation works with a recipe, and that what is installed cannot be used without the last rule
// of that.
func (r recipe) lastRule(t *testing.T, w *world, install, later use) {
	t.Helper()
	for _, with := range []struct {
		use   use
		rules []string
		fails bool
	}{{install, r.access, false}, {later, r.access[:len(r.access)-1], true}, {later, r.access, false}} {
		if got := w.attempt(t, r.name, r.config(with.rules...), with.use); got.IsError != with.fails {
			t.Fatalf("with %q: %s", with.rules, got.raw)
		}
	}
}

// inWork returns the absolute path of a path in a rule.
func (w *world) inWork(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.work, path)
}

// diagnosis is the part of a diagnosis that tests look at.
type diagnosis struct {
	Stage, Attribution, Cause, Fix string
	Hints                          []struct {
		Proposal struct {
			Words   []string
			Verdict string
		}
	}
	Words []string `json:"-"` // of what the user can allow
	Grant []string `json:"-"` // the same as lines of a configuration
}

// why returns the last diagnosis of the last session of a server.
func (w *world) why(t *testing.T, server string) (d diagnosis) {
	t.Helper()
	var record struct{ Diagnoses []diagnosis }
	must(t, json.Unmarshal([]byte(w.output(t, "why", "--format", "json", server)), &record))
	if n := len(record.Diagnoses); n > 0 {
		d = record.Diagnoses[n-1]
		for _, h := range d.Hints {
			if slices.Contains([]string{"apart", "ask", "fine", "has"}, h.Proposal.Verdict) {
				d.Words = append(d.Words, h.Proposal.Words...)
			}
		}
		d.Grant = ruleLines(server, d.Words)
		return d
	}
	t.Fatalf("no diagnosis of %s", server)
	return d
}

// lastGrant returns what `why` proposes for the last failure of a server, as lines of a configuration.
func lastGrant(t *testing.T, w *world, server string) string {
	t.Helper()
	d := w.why(t, server)
	if len(d.Grant) == 0 {
		t.Fatalf("no line that would grant it: %+v", d)
	}
	return strings.Join(d.Grant, "\n") + "\n"
}

// ruleLines returns words of mcp-jail grant as lines of a configuration.
func ruleLines(server string, words []string) (lines []string) {
	table := func(list, key, value string, rights ...string) {
		lines = append(lines, "[["+"servers."+server+".access."+list+"]]", key+" = "+strconv.Quote(value))
		for _, right := range rights {
			lines = append(lines, right+" = true")
		}
	}
	for ; len(words) > 1; words = words[2:] {
		switch value := words[1]; words[0] {
		case "--read":
			table("fs", "path", value, "read")
		case "--write":
			table("fs", "path", value, "read", "write")
		case "--execute":
			table("fs", "path", value, "read", "execute")
		case "--env":
			table("env", "name", value, "read")
		case "--net":
			host, port, ok := strings.Cut(value, ":")
			if table("net", "host", host); ok {
				lines = append(lines, "scheme = \"tcp\"", "port = "+port)
			}
			lines = append(lines, "allow = true")
		case "--limit":
			key, n, _ := strings.Cut(value, "=")
			lines = append(lines, "[servers."+server+".limits]", key+" = "+n)
		}
	}
	return lines
}

// TestShell tests shells and coreutils under the default policy.
func TestShell(t *testing.T) {
	need(t, "node")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"words.txt": "b\na\nb\n"})
	s := execSession(t, w)
	for script, want := range testkit.Named[string](t, "shell.txt", "<pid>", fmt.Sprint(os.Getpid()+100000)) {
		if got := s.mustRun("sh", "-c", script); got != want {
			t.Errorf("%s\n got %q\nwant %q", script, got, want)
		}
	}
	s.mustFail("", "sh", "-c", "cat "+w.home+"/.ssh/id_ed25519")
	s.mustFail("", "sh", "-c", "echo x >"+w.base+"/outside")
	s.mustFail("", "sh", "-c", `test -n "$PLANTED_SECRET"`)
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
}

// TestCommands tests that a list of commands must contain every program, also those
// that other programs start.
func TestCommands(t *testing.T) {
	need(t, "node", "git")
	t.Parallel()
	listed := func(t *testing.T, w *world) recipe { return execRecipe(t, "listed") }
	checkRecipe(t, listed, useRun("sh", "-c", "git --version"))
}

// TestCommandsWrapped tests a list of commands with a wrapper script that starts a
// program elsewhere.
func TestCommandsWrapped(t *testing.T) {
	need(t, "npm", "chromium")
	t.Parallel()
	const wrapped = "/usr/lib/chromium/chromium-headless-shell"
	if _, err := os.Stat(wrapped); err != nil {
		testkit.Skip(t, "chromium", "the recipe names Debian's: %v", err)
	}
	checkRecipe(t, func(t *testing.T, w *world) recipe {
		r := readRecipe(t, "wrapped", `"npx"`, `"node"`, `"-y", "`+playwright+`"`, `"`+module(playwright, "cli.js")+`"`)
		return r
	}, func(t *testing.T, w *world, s *clientSession) toolResult {
		return s.tool("browser_navigate", map[string]any{"url": "data:text/html,<title>Listed</title>"})
	})
}

// TestCommandArguments tests the examples of docs/policy.md "Command rules".
func TestCommandArguments(t *testing.T) {
	need(t, "node", "git")
	for _, user := range []bool{false, true} {
		t.Run(fmt.Sprint("ordinary user ", user), func(t *testing.T) {
			if user && os.Getuid() != 0 {
				t.Skip("only root: it runs as another user")
			}
			t.Parallel()
			w := newWorld(t)
			tools := filepath.Join(w.base, "tools")
			show := "#!/bin/sh\necho \"A=${A_VAR-} B=${B_VAR-} OTHER=${OTHER-}\"\n"
			w.plant(t, tools, map[string]string{"cargo": "#!/bin/sh\necho cargo \"$@\"\n", "one": show, "two": show})
			for _, name := range []string{"cargo", "one", "two"} {
				must(t, os.Chmod(filepath.Join(tools, name), 0o755))
			}
			cargo, one, two := tools+"/cargo", tools+"/one", tools+"/two"
			config := filepath.Join(w.base, "commands.toml")
			must(t, os.WriteFile(config, fmt.Appendf(nil, source(t, "commands.toml"), installed(t, execServer), tools, cargo, one, two), 0o644))
			w.env = append(w.env, "A_VAR=a", "B_VAR=b", "GIT_CONFIG_GLOBAL=/dev/null")
			for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "first"}} {
				must(t, w.plain(append([]string{"git"}, args...)...).Run())
			}
			if user {
				w.asOrdinaryUser(t)
			}
			s := open(t, w.jail("--config", config, "s"), nil)
			s.mustRun("git", "status")
			s.mustRun("git", "status", "--short", ".")
			if out := s.mustRun("git", "log", "--oneline", "HEAD"); !strings.Contains(out, "first") {
				t.Errorf("git log: %s", out)
			}
			for _, argv := range []string{"git push", "git log", "git log --oneline", "git -c alias.x=!sh x", "git --exec-path=/tmp status"} {
				if got := s.mustFail("no rule of access.commands allows that", strings.Fields(argv)...); !strings.Contains(got, "mcp-jail help arguments") {
					t.Errorf("%s: %s", argv, got)
				}
			}
			if out := s.mustRun(cargo, "check"); !strings.Contains(out, "cargo check") {
				t.Errorf("cargo: %s", out)
			}
			s.mustFail("no rule of access.commands allows that", cargo, "run")
			s.mustFail("", "sh", "-c", cargo+" check")
			s.mustFail("", "sh", "-c", "git status")
			for program, want := range map[string]string{one: "A=a B= OTHER=", two: "A= B=b OTHER="} {
				if out := s.mustRun(program); !strings.Contains(out, want) {
					t.Errorf("%s: %s, want %s", program, out, want)
				}
			}
			if status := s.close(); status != 0 {
				t.Errorf("exit status %d: %s", status, &s.stderr)
			}
			if why := w.output(t, "why", "--verbose", "s"); !strings.Contains(why, `from starting /usr/bin/git as git -c 'alias.x=!sh' x`) {
				t.Errorf("%s", why)
			}
			w.noneLeft(t)
		})
	}
}
