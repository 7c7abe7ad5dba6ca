package wrapping

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// bringing is a command line, and the code that it brings in the words of a message; "" for none.
type bringing struct{ line, brings string }

const (
	github = "@modelcontextprotocol/server-github"
	data   = "--import=data:text/javascript,1"
)

// bringingLines are command lines that name a package with a preset. In a word, % stands for a blank,
// and PROJECT for the directory of the project.
var bringingLines = []bringing{
	{"npx -y " + github, ""},
	{"npx -y " + github + " --node-options=x -r y -c z", ""}, // arguments of the server
	{"env A=1 npx -y " + github, ""},
	{"sh -c npx%-y%" + github, ""},
	{"/usr/bin/env npx -y " + github, ""},
	{"npx -y --node-options=--max-old-space-size=4096 " + github, ""},
	{"npx -p " + github + " mcp-server-github", ""},
	{"uvx --python 3.12 mcp-server-git", ""},
	{"uvx --from mcp-server-git mcp-server-git", ""},

	{"npx -y --node-options=" + data + " " + github, "--node-options"},
	{"npx -y --node-options=-r%./x.js " + github, "--node-options"},
	{"npm exec -y --node-options=" + data + " -- " + github, "--node-options"},
	{"env NODE_OPTIONS=" + data + " npx -y " + github, "NODE_OPTIONS"},
	{"env NODE_OPTIONS=--max-old-space-size=1%--require=./x npx -y " + github, "NODE_OPTIONS"},
	{"sh -c NODE_OPTIONS=" + data + "%npx%-y%" + github, "NODE_OPTIONS"},
	{"env NODE_PATH=. npx -y " + github, "NODE_PATH"},
	{"env LD_PRELOAD=./x.so npx -y " + github, "LD_PRELOAD"},
	{"env PATH=./bin:/usr/bin npx -y " + github, "PATH"},
	{"env PYTHONPATH=. uvx mcp-server-git", "PYTHONPATH"},
	{"env PYTHONSTARTUP=x.py uvx mcp-server-git", "PYTHONSTARTUP"},
	{"./env npx -y " + github, "./env"},
	{"./sh -c npx%-y%" + github, "./sh"},
	{"./npx -y " + github, "./npx"},
	{"PROJECT/env npx -y " + github, "PROJECT/env"},
	{"env PROJECT/npx -y " + github, "PROJECT/npx"},
	{"npx -p " + github + " -p evil mcp-server-github", "the package evil"},
	{"npx -p " + github + " -c mcp-server-github", "--call"},
	{"npx -y --registry=https://evil.test " + github, "--registry"},
	{"env npm_config_registry=https://evil.test npx -y " + github, "--registry"},
	{"uvx --with evil mcp-server-git", "the package evil"},
	{"uvx --with-requirements r.txt mcp-server-git", "--with-requirements"},
	{"uvx --overrides o.txt mcp-server-git", "--overrides"},
	{"uvx --find-links . mcp-server-git", "--find-links"},
	{"uvx --python ./python mcp-server-git", "--python=./python"},
	{"uvx --from mcp-server-git uvicorn evil:app", "the program uvicorn"},
}

// words splits a line of bringingLines.
func (b bringing) words(project string) (words []string) {
	for _, word := range strings.Fields(b.line) {
		words = append(words, strings.ReplaceAll(strings.ReplaceAll(word, "%", " "), "PROJECT", project))
	}
	return words
}

// preset returns the preset of the package that a line names.
func (b bringing) preset() string {
	if strings.Contains(b.line, github) {
		return "github-archived"
	}
	return "git"
}

// planned returns what becomes of an entry in a file of Claude Code.
func planned(t *testing.T, h clients.Host, file string, argv []string, env map[string]string) (ServerChange, Verdict) {
	t.Helper()
	entry := map[string]any{"command": argv[0], "args": argv[1:], "env": env}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": entry}})
	must(t, err)
	write(t, file, string(text))
	f := only(t, h, Selection{Clients: []string{"claude-code"}, Files: []string{file}})
	p := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
	return p, f.Judge(f.Entries[0], Program{Path: program}, h)
}

// start resolves a command line as a session does, below a preset.
func start(t *testing.T, preset string, argv []string, env ...string) error {
	t.Helper()
	made, err := session.Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{Preset: preset, Env: env}, "", "", cmdline.Server{Given: true, Argv: argv})
	if made != nil {
		made.Close()
	}
	return err
}

// startHost makes the host's project the working directory, with launchers in PATH.
func startHost(t *testing.T) clients.Host {
	t.Helper()
	h := newHost(t)
	bin := t.TempDir()
	for _, name := range []string{"npx", "npm", "uvx", "node", "python3", "server"} {
		testkit.WriteFile(t, filepath.Join(bin, name), "#!/bin/sh\n")
		must(t, os.Chmod(filepath.Join(bin, name), 0o755))
	}
	for _, name := range []string{"env", "sh", "npx"} {
		testkit.WriteFile(t, filepath.Join(h.Project, name), "#!/bin/sh\n")
		must(t, os.Chmod(filepath.Join(h.Project, name), 0o755))
	}
	t.Setenv("HOME", h.Home)
	t.Setenv("PATH", bin+":/usr/bin:/bin:"+filepath.Dir(program))
	t.Chdir(h.Project)
	return h
}

// TestBringingLines: a preset goes to the package that a line names if nothing but the package runs.
// Otherwise the user's own gets no preset and no secret, and no session starts with the preset. A project's
// entry never gets one.
func TestBringingLines(t *testing.T) {
	h := startHost(t)
	token := map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "t"}
	for _, c := range bringingLines {
		argv, brings := c.words(h.Project), strings.ReplaceAll(c.brings, "PROJECT", h.Project)
		p, v := planned(t, h, filepath.Join(h.Project, ".mcp.json"), argv, token)
		if p.Preset != "" || p.Flags != nil || p.Left != "" || v.Open {
			t.Errorf("%s, of a project: %q, left %q", c.line, p.Flags, p.Left)
		}
		p, v = planned(t, h, filepath.Join(h.Home, ".claude.json"), argv, token)
		if c.brings == "" && (p.Preset != c.preset() || p.Withheld != "") {
			t.Errorf("%s, of the user: %q, %q", c.line, p.Flags, p.Withheld)
		}
		// Where the user's own file is, no project is known.
		if bad := p.Preset != "" || p.Withheld != c.preset() || !slices.Equal(p.Brings, []string{brings}) || slices.Contains(p.Flags, "GITHUB_PERSONAL_ACCESS_TOKEN") && c.preset() == "github-archived" || p.Left != "" || v.Open; c.brings != "" && bad && !strings.Contains(c.brings, "PROJECT") {
			t.Errorf("%s, of the user: %q, %q, brings %q, left %q", c.line, p.Flags, p.Withheld, p.Brings, p.Left)
		}
		err := start(t, c.preset(), argv)
		if c.brings == "" && err != nil || c.brings != "" && (err == nil || !strings.Contains(err.Error(), "brings its own code ("+brings+")")) {
			t.Errorf("%s, at the start: %v", c.line, err)
		}
	}
}

// TestBroughtVariables: the variables of an entry bring code as those of its line do.
func TestBroughtVariables(t *testing.T) {
	h := startHost(t)
	for _, c := range []struct{ name, value, brings string }{
		{"NODE_ENV", "production", ""}, {"OTHER", "x", ""}, {"NODE_OPTIONS", "--max-old-space-size=4096 --use-system-ca", ""},
		{"NODE_OPTIONS", "--no-warnings " + data, "NODE_OPTIONS"}, {"NODE_OPTIONS", "--max-old-space-size --require=./x", "NODE_OPTIONS"}, {"NODE_PATH", ".", "NODE_PATH"}, {"PYTHONSTARTUP", "x.py", "PYTHONSTARTUP"}, {"OPENSSL_CONF", "x", "OPENSSL_CONF"},
	} {
		argv, env := []string{"npx", "-y", github}, map[string]string{c.name: c.value}
		p, _ := planned(t, h, filepath.Join(h.Home, ".claude.json"), argv, env)
		if got := strings.Join(p.Brings, ", "); got != c.brings || (p.Preset == "") != (c.brings != "") || p.Left != "" {
			t.Errorf("%s=%s, of the user: %q, brings %q, left %q", c.name, c.value, p.Flags, got, p.Left)
		}
		t.Setenv(c.name, c.value)
		if err := start(t, "github-archived", argv); err != nil {
			t.Errorf("%s, which the server does not get: %v", c.name, err)
		}
		if err := start(t, "github-archived", argv, c.name); (err != nil) != (c.brings != "") || err != nil && !strings.Contains(err.Error(), "("+c.brings+")") {
			t.Errorf("%s=%s, at the start: %v", c.name, c.value, err)
		}
		must(t, os.Unsetenv(c.name))
	}
}

// TestProjectsPackage: a package in the node_modules of the project is not the registry's.
func TestProjectsPackage(t *testing.T) {
	h := startHost(t)
	argv := []string{"npx", "-y", github}
	there := filepath.Join(h.Project, "node_modules", github)
	if err := start(t, "github-archived", argv); err != nil {
		t.Errorf("the control: %v", err)
	}
	write(t, filepath.Join(there, "package.json"), "{}")
	if p, _ := planned(t, h, filepath.Join(h.Home, ".claude.json"), argv, nil); p.Preset != "github-archived" {
		t.Errorf("the user's own starts in any directory: %q, left %q", p.Flags, p.Left)
	}
	err := start(t, "github-archived", argv)
	if err == nil || !strings.Contains(err.Error(), "("+there+")") || !strings.HasSuffix(err.Error(), "mcp-jail install -- npx -y "+github) {
		t.Errorf("at the start: %v", err)
	}
	if err := start(t, "", argv); err != nil {
		t.Errorf("without a preset: %v", err)
	}
}

// TestOtherPrograms: which lines without the preset's package have its rights all the same.
func TestOtherPrograms(t *testing.T) {
	h := startHost(t)
	outside := filepath.Join(h.Home, "own", "index.js")
	write(t, outside, "")
	write(t, filepath.Join(h.Project, "index.js"), "")
	must(t, os.Symlink(filepath.Join(h.Project, "npx"), filepath.Join(h.Project, "run.sh")))
	for line, want := range map[string]string{
		"server a": "", "node " + outside: "", "node --enable-source-maps " + outside + " -r x": "", "sh " + outside: "", "python3 -I -u -m mcp_server_git": "",

		"npx -y evil":                        "the line runs evil",
		"npx -y @me/server-github":           "the line runs @me/server-github",
		"npx -y x@npm:evil":                  "the line runs x@npm:evil",
		"uvx " + "server-github":             "the line runs server-github",
		"npx -y git+https://git.test/x/y":    "the line runs git+https://git.test/x/y",
		"npx -y --prefix . " + github:        "does not take apart",
		"node --import ./x.js " + outside:    "(--import)",
		"node --require=./x " + outside:      "(--require)",
		"node -r ./x.js " + outside:          "(-r)",
		"node index.js":                      "(index.js)",
		"node ./index.js":                    "(./index.js)",
		"node " + h.Project + "/index.js":    "(" + h.Project + "/index.js)",
		"node -e 1":                          "(-e)",
		"python3 -c pass":                    "(-c)",
		"python3 -m mcp_server_git":          "(-m)",
		"sh -c server":                       "(-c)",
		"env A=1 server":                     "(what env starts)",
		"timeout 5 npx -y " + github:         "",
		"env -C . npx -y " + github:          "",
		"env -C /elsewhere npx -y " + github: "(env -C /elsewhere)",
		"env -C .. npx -y " + github:         "(env -C ..)",
		"timeout 5 npx -y evil":              "the line runs evil",
		"timeout 5 server":                   "(what timeout starts)",
		"setsid npx -y " + github:            "(what setsid starts)",
		"npm start":                          "(what npm starts)",
		"./run.sh a":                         "(./run.sh)",
	} {
		err := start(t, "github-archived", strings.Fields(line))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", line, err, want)
		}
	}
}

// TestUnfit: status says of a wrapped entry what its start would say.
func TestUnfit(t *testing.T) {
	h := startHost(t)
	for _, c := range []struct{ args, want string }{
		{`"--preset", "github-archived", "--", "npx", "-y", "` + github + `"`, ""},
		{`"--preset", "github-archived", "--env", "NODE_OPTIONS", "--", "npx", "-y", "` + github + `"`, "(NODE_OPTIONS)"},
		{`"--preset", "github-archived", "--", "npx", "-y", "--node-options=` + data + `", "` + github + `"`, "(--node-options)"},
		{`"--preset", "github-archived", "--", "npx", "-y", "evil"`, "the line runs evil"},
	} {
		file := filepath.Join(h.Home, ".claude.json")
		write(t, file, `{"mcpServers": {"s": {"command": "`+program+`", "args": ["run", `+c.args+`], "env": {"NODE_OPTIONS": "`+data+`"}}}}`)
		f := only(t, h, Selection{Clients: []string{"claude-code"}, Files: []string{file}})
		v := f.Judge(f.Entries[0], Program{Path: program}, h)
		var granted []string
		if slices.Contains(v.Line.Flags, "--env") {
			granted = []string{"NODE_OPTIONS"}
		}
		err := f.Unfit(f.Entries[0], v.Line.Argv, "github-archived", granted, h)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}
