package wrapping

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestGrants: what the user's own entry shows becomes a policy.
func TestGrants(t *testing.T) {
	h := newHost(t)
	docs, data := filepath.Join(h.Home, "docs"), filepath.Join(h.Home, "data.json")
	must(t, os.Mkdir(docs, 0o700))
	write(t, data, "{}")
	write(t, filepath.Join(h.Home, ".ssh/id_rsa"), "")
	must(t, os.Symlink(filepath.Join(h.Home, ".ssh"), filepath.Join(h.Home, "link")))
	script := filepath.Join(h.Home, "server.js")
	write(t, script, "")
	write(t, filepath.Join(h.Home, "vars.env"), "# a comment\nexport TOKEN=x\nNAME = y\nnot a line\n")
	write(t, filepath.Join(h.Home, ".npm/_npx/0f/node_modules/@modelcontextprotocol/server-memory/dist/memory.json"), "{}")
	for name, c := range map[string]struct {
		client, entry string
		flags, gets   string
		note          string
	}{
		"nothing":                  {"claude-code", `{"command": "mine"}`, "", "the project folder", ""},
		"relative script":          {"claude-code", `{"command": "node", "args": ["--no-warnings", "dist/index.js"]}`, "", "the project folder", "it starts in its private HOME, where dist/index.js is not"},
		"relative program":         {"claude-code", `{"command": "./serve"}`, "", "the project folder", "it starts in its private HOME, where ./serve is not"},
		"variables":                {"cursor", `{"command": "mine", "env": {"B": "1", "A": "2"}}`, "--env A --env B", "the project folder, A, B", ""},
		"paths":                    {"cursor", `{"command": "node", "args": ["` + script + `", "--data=` + data + `", "` + docs + `", "relative", "/v1/api"]}`, "--read " + data + " --read " + docs, "~/data.json (read only), ~/docs (read only)", ""},
		"default of a variable":    {"claude-code", `{"command": "mine", "args": ["${NO_SUCH_DIR:-` + docs + `}"]}`, "--read " + docs, "~/docs (read only)", ""},
		"path in a variable":       {"claude-code", `{"command": "mine", "env": {"THING_PATH": "` + data + `", "EDITOR": "/usr/bin/vi"}}`, "--env EDITOR --env THING_PATH --read " + data, "~/data.json (read only), EDITOR, THING_PATH", ""},
		"beside a path":            {"claude-code", `{"command": "mine", "args": ["` + docs + `"], "env": {"CERT": "` + data + `", "AGAIN": "` + docs + `"}}`, "--read " + docs + " --env AGAIN --env CERT --read " + data, "~/docs (read only), ~/data.json (read only), AGAIN, CERT", ""},
		"in a variable, sensitive": {"claude-code", `{"command": "mine", "env": {"KEY": "` + h.Home + `/.ssh/id_rsa"}}`, "--env KEY", "the project folder, KEY", "the path in the variable KEY is not granted: it is a sensitive path (~/.ssh)"},
		"in a variable, tilde":     {"claude-code", `{"command": "mine", "env": {"KEY": "~/data.json", "U": "/v1/api"}}`, "--env KEY --env U", "the project folder, KEY, U", ""},
		"in a variable, HOME":      {"claude-code", `{"command": "mine", "env": {"ROOT": "` + h.Home + `/"}}`, "--env ROOT", "the project folder, ROOT", "the directory in the variable ROOT is not granted, because it holds your whole home directory"},
		"in a variable, preset":    {"cursor", `{"command": "npx", "args": ["-y", "tavily-mcp@1.2"], "env": {"TAVILY_API_KEY": "k", "DATA_FILE": "` + data + `"}}`, "--preset tavily --env DATA_FILE --read " + data, "~/data.json (read only), api.tavily.com, DATA_FILE", ""},
		"proxies":                  {"claude-code", `{"command": "mine", "env": {"HTTPS_PROXY": "http://127.0.0.1:3128", "no_proxy": "a.test", "A": "1"}}`, "--env A", "the project folder, A", ""},
		"loopback":                 {"claude-code", `{"command": "mine", "env": {"TRACKER_URL": "http://127.0.0.1:8932", "B": "postgres://u:p@LOCALHOST:5432/db", "C": "https://[::1]/x"}}`, "--env B --env C --env TRACKER_URL --write . --net localhost:5432 --net [::1]:443 --net 127.0.0.1:8932", "the project folder, localhost:5432, ::1, 127.0.0.1:8932, B, C, TRACKER_URL", ""},
		"loopback, argument":       {"claude-code", `{"command": "mine", "args": ["--api=http://127.0.0.1:8932/v1"]}`, "--write . --net 127.0.0.1:8932", "the project folder, 127.0.0.1:8932", ""},
		"lists":                    {"claude-code", `{"command": "mine", "args": ["` + docs + `,` + data + `"], "env": {"A": "` + docs + `:` + h.Home + `/.ssh:` + h.Home + `/new", "B": "x,` + docs + `", "C": "http://localhost:1,https://localhost"}}`, "--read " + docs + " --read " + data + " --env A --env B --env C --net localhost:1 --net localhost:443", "~/docs (read only), ~/data.json (read only), localhost:1, localhost, A, B, C", h.Home + "/new in the variable A does not exist"},
		"list, sensitive":          {"claude-code", `{"command": "mine", "env": {"A": "` + docs + `:` + h.Home + `/.ssh"}}`, "--env A --read " + docs, "~/docs (read only), A", h.Home + "/.ssh in the variable A is not granted: it is a sensitive path (~/.ssh)"},
		"a class path":             {"claude-code", `{"command": "mine", "args": ["-cp", "` + docs + `/*:` + data + `"]}`, "--read " + docs + " --read " + data, "~/docs (read only), ~/data.json (read only)", ""},
		"not loopback":             {"claude-code", `{"command": "mine", "env": {"A": "http://a.test:80", "B": "127.0.0.1:80", "C": "redis://127.0.0.1", "D": "http://127.0.0.1:99999"}}`, "--env A --env B --env C --env D", "the project folder, A, B, C, D", ""},
		"missing path":             {"claude-code", `{"command": "mine", "args": ["` + docs + `/new.db"]}`, "", "the project folder", "new.db does not exist, and is not granted"},
		"client's variable":        {"cursor", `{"command": "mine", "args": ["${userHome}/docs"]}`, "--read " + docs, "~/docs (read only)", ""},
		"other variable":           {"roo", `{"command": "mine", "args": ["${env:WHERE}/docs"]}`, "", "the project folder", ""},
		"no variable":              {"codex", `{"command": "mine", "args": ["${userHome}/docs"]}`, "", "the project folder", ""},
		"file of variables":        {"vscode", `{"command": "mine", "envFile": "${userHome}/vars.env"}`, "--env TOKEN --env NAME", "the project folder, TOKEN, NAME", ""},
		"tilde":                    {"claude-code", `{"command": "mine", "args": ["~/docs"]}`, "", "the project folder", "~ is not replaced in arguments: the server gets ~/docs as it is written; a server that replaces it itself finds its private HOME; write '"},
		"sensitive path":           {"claude-code", `{"command": "mine", "args": ["` + h.Home + `/.ssh/id_rsa", "` + h.Home + `/link"]}`, "", "the project folder", "id_rsa is not granted: it is a sensitive path (~/.ssh)"},
		"sensitive, preset":        {"claude-code", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + h.Home + `/.ssh"]}`, "--preset filesystem", "", "/.ssh is not granted: it decides what a jail grants"},
		"replaced value":           {"claude-code", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "${HOME}/docs/m.json"}}`, "--preset memory", "~/docs, MEMORY_FILE_PATH", ""},
		"tilde, preset":            {"claude-code", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "~/docs/m.json"}}`, "--preset memory", "MEMORY_FILE_PATH", "MEMORY_FILE_PATH: \"~/docs/m.json\": ~ is not replaced in a variable"},
		"preset":                   {"cursor", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + docs + `"]}`, "--preset filesystem", "~/docs", ""},
		"hosts below one":          {"cursor", `{"command": "npx", "args": ["-y", "slack-mcp-server"]}`, "--preset slack-user", "slack.com, *.slack.com", ""},
		"any host":                 {"cursor", `{"command": "uvx", "args": ["mcp-server-fetch"]}`, "--preset fetch", "every host", ""},
		"preset and more":          {"cursor", `{"command": "npx", "args": ["-y", "tavily-mcp@1.2"], "env": {"TAVILY_API_KEY": "k", "PAGER": "less"}}`, "--preset tavily --env PAGER", "api.tavily.com, PAGER", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := ".cursor/mcp.json"
			text := `{"mcpServers": {"s": ` + c.entry + `}}`
			switch c.client {
			case "claude-code":
				file = ".claude.json"
			case "roo":
				file = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
			case "vscode":
				file, text = ".config/Code/User/mcp.json", `{"servers": {"s": `+c.entry+`}}`
			case "codex":
				file, text = ".codex/config.toml", "[mcp_servers.s]\n"+tomlOf(t, c.entry)
			}
			write(t, filepath.Join(h.Home, file), text)
			f := only(t, h, Selection{Clients: []string{c.client}, Files: []string{filepath.Join(h.Home, file)}})
			p := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
			if got := strings.Join(p.Flags, " "); got != c.flags || p.Left != "" {
				t.Errorf("flags %q, want %q; left %s", got, c.flags, p.Left)
			}
			if got := strings.Join(p.Gets, ", "); got != c.gets {
				t.Errorf("gets %q, want %q", got, c.gets)
			}
			if !strings.Contains(strings.Join(append(p.Notes, p.Remarks...), "\n"), c.note) {
				t.Errorf("no %q in %q", c.note, p.Notes)
			}
		})
	}
}

// TestSharedDirectory: an entry is left if its preset would grant the shared directory around a file.
// Other grants of the home directory, or of one around it, have the warning of a start.
func TestSharedDirectory(t *testing.T) {
	h := newHost(t)
	link := filepath.Join(h.Home, "link")
	must(t, os.Symlink(h.Home, link))
	must(t, os.Mkdir(filepath.Join(h.Home, "own"), 0o700))
	memory := func(file string) string {
		return `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "` + file + `"}}`
	}
	sqlite := func(file string) string {
		return `{"command": "uvx", "args": ["mcp-server-sqlite", "--db-path", "` + file + `"]}`
	}
	const left, wide, neither = "left", "wide", "neither"
	for entry, want := range map[string]string{
		memory(h.Home + "/m.json"): left, memory("${userHome}/m.json"): left, memory("~/m.json"): neither, memory(link + "/m.json"): left, memory("/tmp/m.json"): left, memory(h.Home + "/own/../m.json"): left,
		sqlite(h.Home + "/t.db"): left, sqlite("~/t.db"): left, sqlite("/t.db"): left, sqlite(h.Home + "/.config/t.db"): left,
		memory(h.Home + "/own/m.json"): neither, sqlite(h.Home + "/own/t.db"): neither, sqlite("t.db"): neither,
		`{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + h.Home + `"]}`:     wide,
		`{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/"]}`:                  wide,
		`{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + h.Home + `/own"]}`: neither,
		`{"command": "npx", "args": ["-y", "mcp-obsidian", "` + filepath.Dir(h.Home) + `"]}`:                  wide,
		`{"command": "mine", "args": ["--dir=` + h.Home + `"]}`:                                               wide,
		`{"command": "mine", "args": ["--dir=` + h.Home + `/own"]}`:                                           neither,
	} {
		file := filepath.Join(h.Home, ".cursor/mcp.json")
		write(t, file, `{"mcpServers": {"s": `+entry+`}}`)
		change := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{file}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
		p, got := change.Servers[0], neither
		switch {
		case strings.Contains(p.Left, "would not start in the jail: preset "):
			got = left
		case strings.Contains(strings.Join(p.Notes, "\n"), "to everything below "):
			got = wide
		}
		if got != want || (p.Left != "") != (want == left) || (len(change.Changed()) == 0) != (want == left) {
			t.Errorf("%s: %s, want %s; left %q, notes %q", entry, got, want, p.Left, p.Notes)
		}
		if want == left && (!strings.Contains(p.Left, "such as ~/mcp-") || string(change.After) != string(change.File.own.Data)) {
			t.Errorf("%s: %s\n%s", entry, p.Left, change.After)
		}
	}
}

// TestUnasked: which rows of the judge of harm hold for what a user's own entry names, and what --yes leaves out of it.
func TestUnasked(t *testing.T) {
	h := newHost(t)
	for _, file := range []string{"docs/a.txt", "docs/server.pem", "docs/new", ".npm/x", ".bashrc"} {
		write(t, filepath.Join(h.Home, file), "")
	}
	files := func(path string) string {
		return `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + h.Home + path + `"]}`
	}
	for entry, want := range map[string]struct{ path, asked, unasked string }{
		`{"command": "mine", "args": ["` + h.Home + `/docs"]}`:                {"/docs", "", ""}, // directly in the home directory
		`{"command": "mine", "env": {"F": "` + h.Home + `/docs/a.txt"}}`:      {"/docs/a.txt", "", ""},
		`{"command": "mine", "env": {"F": "` + h.Home + `/docs/server.pem"}}`: {"/docs/server.pem", "the path in the variable F: it has the name of a file with a key", "mcp-jail grant s --read " + h.Home + "/docs/server.pem"},
		files("/docs"):    {"/docs", "", ""},
		files("/.npm"):    {"/.npm", "it gives a hold on", "mcp-jail grant s --write " + h.Home + "/.npm"},
		files("/.bashrc"): {"", "is not granted: it decides", "is not granted: it decides"},
	} {
		path := filepath.Join(h.Home, ".cursor/mcp.json")
		write(t, path, `{"mcpServers": {"s": `+entry+`}}`)
		for _, unasked := range []bool{false, true} {
			p := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{path}}).Wrap(Program{Path: program}, Selection{Unasked: unasked}, h, newIDs(h)).Servers[0]
			note, gets := want.asked, want.path != ""
			if unasked {
				note, gets = want.unasked, want.path != "" && want.asked == ""
			}
			if got := slices.ContainsFunc(p.Gets, func(text string) bool { return strings.HasPrefix(text, "~"+want.path) }); got != gets || !strings.Contains(strings.Join(append(p.Notes, p.Careful...), "\n"), note) || note == "" && len(p.Notes) > 0 {
				t.Errorf("%s, unasked %t: gets %q, notes %q", entry, unasked, p.Gets, p.Notes)
			}
			if text := string(p.Own.Encode()); want.path != "" && strings.Contains(text, `path = "`+h.Home+want.path+`"`) != gets {
				t.Errorf("%s, unasked %t: its file\n%s", entry, unasked, text)
			}
		}
	}
}

// tomlOf writes the texts and lists of an entry as TOML.
func tomlOf(t *testing.T, entry string) (text string) {
	t.Helper()
	var all map[string]any
	must(t, json.Unmarshal([]byte(entry), &all))
	for key, value := range all {
		b, err := json.Marshal(value)
		must(t, err)
		text += fmt.Sprintf("%s = %s\n", key, b)
	}
	return text
}

// TestWrapSensitive tests that an entry gets no file of a secret of the user's configuration, no
// sensitive path of the user's defaults, and nothing of mcp-jail's own, by links either.
func TestWrapSensitive(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Home, ".config/mcp-jail/config.toml"), `version = 1
[defaults]
sensitive_paths = ["~/vault"]
[servers.lab]
command = "x"
[[servers.lab.access.net]]
host = "gitlab.example"
allow = true
secret = { env = "T", file = "~/token" }
`)
	for _, file := range []string{"token", "vault/a.txt", ".local/state/mcp-jail/trust.toml", "notes/a.txt"} {
		write(t, filepath.Join(h.Home, file), "x")
	}
	must(t, os.Symlink(filepath.Join(h.Home, ".local/state"), filepath.Join(h.Project, "state")))
	for file, why := range map[string]string{
		filepath.Join(h.Home, "token"): "sensitive path (~/token)", filepath.Join(h.Home, "vault/a.txt"): "sensitive path (~/vault)", filepath.Join(h.Project, "state/mcp-jail"): "decides what a jail grants",
		filepath.Join(h.Home, ".config/mcp-jail"): "decides what a jail grants", filepath.Join(h.Home, "notes/a.txt"): "",
	} {
		write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {"s": {"command": "mine", "args": ["`+file+`"]}}}`)
		p := only(t, h, Selection{Clients: []string{"cursor"}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if got := slices.Contains(p.Flags, file); got != (why == "") || !strings.Contains(strings.Join(p.Notes, "\n"), why) {
			t.Errorf("%s: %q, %q", file, p.Flags, p.Notes)
		}
	}
}

// TestNoteHidden: a sensitive file that a project's entry names is noted, with its whole path.
func TestNoteHidden(t *testing.T) {
	h := newHost(t)
	env := filepath.Join(h.Project, ".env")
	write(t, env, "K=v")
	for word, noted := range map[string]bool{"--env-file=.env": true, ".env": true, env: true, "--env-file=none.env": false, "-e": false, "": false} {
		write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {"s": {"command": "mine", "args": ["`+word+`"]}}}`)
		p := only(t, h, Selection{Clients: []string{"claude-code"}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if got := strings.Contains(strings.Join(p.Notes, "\n"), "mcp-jail grant s --read "+env); got != noted {
			t.Errorf("%s: %q", word, p.Notes)
		}
	}
}

// TestMissingProgram: which programs are said to be missing, and how. mcp-jail starts the packages of
// launchers without the launcher.
func TestMissingProgram(t *testing.T) {
	h := newHost(t)
	bin := t.TempDir()
	for _, file := range []string{filepath.Join(bin, "npx"), filepath.Join(bin, "a b"), filepath.Join(h.Home, "tool")} {
		write(t, file, "#!/bin/sh\n")
		must(t, os.Chmod(file, 0o700))
	}
	h.Env = func(name string) string { return map[string]string{"PATH": bin}[name] }
	const missing, oneWord = "the server cannot start, with a jail or without", "is a whole line in one word"
	for entry, want := range map[string]string{
		`{"command": "npx", "args": ["-y", "pkg"]}`:        "",
		`{"command": "bunx", "args": ["pkg"]}`:             missing,
		`{"command": "cmd", "args": ["/c", "npx", "pkg"]}`: "",
		`{"command": "uvx", "args": ["pkg"]}`:              "",
		`{"command": "mine", "args": ["x"]}`:               missing,
		`{"command": "` + bin + `/mine"}`:                  missing,
		`{"command": "npx -y pkg"}`:                        oneWord,
		`{"command": "npx -y @scope/pkg"}`:                 oneWord,
		`{"command": "uvx pkg"}`:                           oneWord,
		`{"command": "` + bin + `/npx -y pkg"}`:            oneWord,
		`{"command": "` + bin + `/a b"}`:                   "",
		`{"command": "` + bin + `/a b --flag"}`:            oneWord,
		`{"command": "~/tool --flag"}`:                     oneWord,
		`{"command": "~/other --flag"}`:                    "",
		`{"command": "mine -y pkg"}`:                       missing,
		`{"command": "./mine", "args": ["x"]}`:             "",
	} {
		write(t, filepath.Join(h.Home, ".cursor", "mcp.json"), `{"mcpServers": {"s": `+entry+`}}`)
		f := only(t, h, Selection{})
		ch := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
		notes := strings.Join(ch.Servers[0].Notes, "\n")
		if strings.Contains(notes, missing) != (want == missing) || strings.Contains(notes, oneWord) != (want == oneWord) {
			t.Errorf("%s: %q, want %q", entry, notes, want)
		}
	}
}

// TestWholeLineWritten: what to write in place of a whole line in one word, in the form of the file and
// without secrets.
func TestWholeLineWritten(t *testing.T) {
	for file, c := range testkit.Named[struct{ text, want string }](t, "whole-lines.txt") {
		h := newHost(t)
		path := filepath.Join(h.Home, file)
		write(t, path, c.text)
		ch := only(t, h, Selection{Files: []string{path}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
		notes := strings.Join(ch.Servers[0].Notes, "\n")
		if !strings.Contains(notes, c.want) {
			t.Errorf("%s: %q, want %q", file, notes, c.want)
		}
		if all := notes + ch.Diff() + terminal.ShownLine(ch.Servers[0].Argv()); strings.Contains(all, "hunter22") {
			t.Errorf("%s: the secret is shown:\n%s", file, all)
		}
	}
}
