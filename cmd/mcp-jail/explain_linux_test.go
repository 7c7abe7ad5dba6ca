package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/docs"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// explainWorld returns a world with a project below its home, whose configuration has the
// server notes with further lines.
func explainWorld(t *testing.T, lines string) *world {
	t.Helper()
	w := newWorld(t)
	w.work = filepath.Join(w.home, "project")
	w.plant(t, w.work, map[string]string{"todo.txt": "buy milk"})
	w.writeConfig(t, lines)
	return w
}

// writeConfig writes the configuration of the user with the server notes.
func (w *world) writeConfig(t *testing.T, lines string) {
	t.Helper()
	config := fmt.Sprintf("version = 1\n[servers.notes]\ncommand = %q\narguments = []\n%s", installed(t, execServer), lines)
	w.plant(t, w.home, map[string]string{".config/mcp-jail/config.toml.new": config})
	file := filepath.Join(w.home, ".config", "mcp-jail", "config.toml")
	must(t, os.Rename(file+".new", file))
}

// example compares the example of a page with what mcp-jail has said in a session.
func (w *world) example(t *testing.T, page, said string, match ...string) {
	t.Helper()
	text := strings.NewReplacer(w.home, "/home/you", w.base, "/home").Replace(said)
	if err := checkExample(page, text, match...); err != nil {
		t.Error(err)
	}
}

// remedy runs the commands of a topic.
func (w *world) remedy(t *testing.T, topic string) {
	t.Helper()
	_, section, _, err := topicOf(topic)
	must(t, err)
	for _, line := range remedies(section) {
		if out, err := w.mcpJail(strings.Fields(line)[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// jailLines matches the lines of a diagnosis but what the server said.
const jailLines = `^mcp-jail: ([a-z_-]+ (of|ended|has) |the |  (The jail|T[^h]|[^T]))`

// TestExplainNetwork makes the examples of the pages about hosts.
func TestExplainNetwork(t *testing.T) {
	need(t, "curl")
	workspace := "[[servers.notes.access.fs]]\npath = \".\"\nread = true\nwrite = true\n"
	granted := workspace + "[[servers.notes.access.net]]\nhost = \"" + internetHost + "\"\nscheme = \"https\"\nallow = true\n"
	for page, c := range map[string]struct{ config, script, env string }{
		"net-address":     {strings.Replace(granted, internetHost, privateHost, 1), "curl -sS https://" + privateHost + "/", ""},
		"net-name":        {granted, "curl -sS --connect-to evil.example:443:" + internetHost + ":443 https://evil.example/", ""},
		"net-scheme":      {granted, "curl -sS http://" + internetHost + ":443/", ""},
		"net-request":     {granted + "path_prefix = \"/repos/you/\"\nmethods = [\"GET\"]\n", "curl -sS --fail https://" + internetHost + "/user", ""},
		"net-limit":       {strings.Replace(granted, internetHost, "*."+internetHost, 1), "curl -sS https://" + strings.Repeat("a", 51) + "." + strings.Repeat("b", 50) + "." + internetHost + "/", ""},
		"net-unreachable": {granted, "curl -sS https://" + internetHost + "/", "HTTPS_PROXY=socks4://127.0.0.1:1080"},
		"secret":          {granted + "secret = { env = \"API_TOKEN\" }\n", "curl -sS --fail -H \"X-Note: $API_TOKEN\" https://" + internetHost + "/", "API_TOKEN=q7Zr-41bc-9Xw2"},
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			w := explainWorld(t, c.config)
			newHosts(t, w, "none", []string{internetHost})
			if c.env != "" {
				w.env = append(w.env, c.env)
			}
			s := open(t, w.jail("notes"), nil)
			out, _ := s.run("sh", "-c", c.script)
			s.close()
			t.Log(out)
			w.example(t, page, s.stderr.String(), jailLines)
		})
	}
}

// TestExplainReload makes the example of the page about changes during a session.
func TestExplainReload(t *testing.T) {
	t.Parallel()
	w := explainWorld(t, "")
	s := open(t, w.jail("notes"), nil)
	s.mustRun("true")
	w.writeConfig(t, "[[servers.notes.access.fs]]\npath = \".\"\nread = true\n")
	time.Sleep(refreshPause)
	s.mustRun("true")
	s.close()
	w.example(t, "reload", s.stderr.String(), "^mcp-jail: warning")
	w.remedy(t, "reload")
}

// TestExplainNamespaces makes the example of the page about user namespaces.
func TestExplainNamespaces(t *testing.T) {
	t.Parallel()
	w := explainWorld(t, "")
	filter := w.copySelf(t, withoutNamespaces)
	if os.Getuid() == 0 { // for root the plan has one gap more: the kernel does not apply RLIMIT_NPROC to root
		w.asOrdinaryUser(t)
	}
	cmd := w.jail("notes")
	cmd.Args = append([]string{withoutNamespaces, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = filter
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err == nil {
		t.Error("the server was started")
	}
	w.example(t, "userns", said.String(), "^mcp-jail: ")
}

// TestRemedies tests that the commands of each topic are run after its example.
func TestRemedies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "explain", "*.txtar"))
	must(t, err)
	tests, err := filepath.Glob("explain*_test.go")
	must(t, err)
	run := ""
	for _, file := range append(files, tests...) {
		run += testkit.ReadFile(t, file)
	}
	elsewhere := map[string]string{"userns": "TestSystemPackages parses the profile; no test changes the AppArmor of the host"}
	for _, topic := range docs.Topics() {
		name := topic.Name
		_, section, _, err := topicOf(name)
		must(t, err)
		has := len(remedies(section)) > 0
		runs := strings.Contains(run, "remedy "+name+"\n") || strings.Contains(run, `remedy(t, "`+name+`")`)
		if has && !runs && elsewhere[name] == "" || !has && runs {
			t.Errorf("the topic %s has commands: %v, and a test runs them: %v", name, has, runs)
		}
	}
}

// conflicting makes the workspace a repository with two branches that cannot be merged.
func conflicting(t *testing.T, w *world) {
	t.Helper()
	git := repository(t, w, w.work)
	git("branch", "side")
	for _, branch := range []string{"main", "side"} {
		git("checkout", "-q", branch)
		w.plant(t, w.work, map[string]string{"a.txt": branch + "\n"})
		git("commit", "-qam", branch)
	}
}

// TestOtherFailuresUnchanged tests that failures of real programs which only look as if the jail
// caused them reach the client as without a jail, byte for byte.
func TestOtherFailuresUnchanged(t *testing.T) {
	need(t, "jail", "node", "git", "/usr/bin/python3")
	t.Parallel()
	w := newWorld(t)
	conflicting(t, w)
	w.plant(t, w.work, map[string]string{"in.txt": "in here\n", "closed.txt": "x", "run.sh": "#!/bin/sh\n", "shut/": ""})
	must(t, os.Chmod(filepath.Join(w.work, "closed.txt"), 0))
	if os.Getuid() == 0 { // root would read the closed file
		w.asOrdinaryUser(t)
	}
	argv := []string{installed(t, execServer)}
	plain, jailed := open(t, w.plain(argv...), nil), open(t, w.jail(append([]string{"--"}, argv...)...), nil)
	for _, script := range testkit.Table[string](t, "no-advice.txt") {
		run := map[string]any{"argv": []string{"sh", "-c", script}}
		p, j := plain.tool("run", run), jailed.tool("run", run)
		if !p.IsError || string(p.raw) != string(j.raw) {
			t.Errorf("%s: the jail makes a difference:\n plain  %s\n jailed %s", script, p.raw, j.raw)
		}
	}
	// The control: this one the jail causes.
	run := map[string]any{"argv": []string{"cat", filepath.Join(w.home, ".ssh", "id_ed25519")}}
	if got := jailed.tool("run", run); !strings.Contains(got.texts(), "[mcp-jail]") {
		t.Errorf("nothing is said of a refused file: %s", got.raw)
	}
	plain.close()
	jailed.close()
}

// TestGrantedHostFails tests that the answer names a granted host that this machine cannot reach.
func TestGrantedHostFails(t *testing.T) {
	need(t, "jail", "/usr/bin/python3")
	t.Parallel()
	port := ""
	t.Run("unused port", func(t *testing.T) { port = hostPort(t) }) // nothing listens once the subtest has ended
	for host, want := range map[string]string{
		"localhost:" + port: "could not connect to it: connection refused",
		"absent.invalid":    "could not resolve it: ",
	} {
		w := newWorld(t)
		s := open(t, w.jail("--net", host, "--", installed(t, execServer)), nil)
		name, at, _ := strings.Cut(host+":443", ":")
		at, _, _ = strings.Cut(at, ":")
		got := s.tool("run", map[string]any{"argv": []string{"/usr/bin/python3", "-c", `import socket; socket.create_connection(("` + name + `", ` + at + `)).recv(1)`}})
		if text := got.texts(); !strings.Contains(text, "[mcp-jail] The jail blocked nothing here: "+host+" is allowed, and this machine "+want) {
			t.Errorf("%s: %s", host, text)
		}
		s.close()
	}
}
