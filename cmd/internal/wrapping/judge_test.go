package wrapping

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// judged is an entry in the form of a client, as a project's file and as the user's own. Its begin of
// the reason is "yes" for an entry that starts in mcp-jail.
type judged struct{ entry, project, user string }

const (
	acts   = "sets "
	odd    = string(oddName) + ": "
	others = "starts a program called mcp-jail that is not this one"
	gone   = "starts /gone/mcp-jail, which does not exist any more"
	byWay  = "starts mcp-jail through another program, which may take another version each time"
)

// judgedEntries are the same for each client. OURS, BIN and REPO stand for the program, its
// directory, and the project.
var judgedEntries = map[string]judged{
	"by its path":            {`"command": "OURS", "args": ["run", "--name", "a", "--", "x"]`, "yes", "yes"},
	"by its name":            {`"command": "mcp-jail", "args": ["run", "--", "x"]`, "yes", "yes"},
	"its other path":         {`"command": "HOME/lasting/mcp-jail", "args": ["run", "--", "x"]`, "yes", "yes"},
	"a server's variable":    {`"command": "OURS", "args": ["run", "--env", "TOKEN", "--", "x"], "env": {"TOKEN": "t", "GITHUB_TOKEN": "t"}`, "yes", "yes"},
	"variables of a prefix":  {`"command": "OURS", "args": ["run", "--env", "TO*", "--", "x"], "env": {"TOKEN": "t"}`, "yes", "yes"},
	"variables of a preset":  {`"command": "OURS", "args": ["run", "--preset", "memory", "--", "x"], "env": {"MEMORY_FILE_PATH": "t"}`, "yes", "yes"},
	"not the server's":       {`"command": "OURS", "args": ["run", "--env", "T", "--preset", "memory", "--", "x"], "env": {"TOKEN": "t"}`, "yes", "yes"},
	"removed":                {`"command": "OURS", "args": ["run", "--", "x"], "env": {"TOKEN": null}`, "yes", "yes"},
	"a name with =":          {`"command": "OURS", "args": ["run", "--", "x"], "env": {"HTTPS_PROXY=http://e:1/": ""}`, odd + `"HTTPS_PROXY=http://e:1/"`, odd},
	"a granted one with =":   {`"command": "OURS", "args": ["run", "--env", "A*", "--", "x"], "env": {"A=\u0000SSL_CERT_DIR=x": "/e"}`, odd, odd},
	"HOME with =":            {`"command": "OURS", "args": ["run", "a"], "env": {"HOME=/proc/self/cwd/e": ""}`, odd, odd},
	"no name":                {`"command": "OURS", "args": ["run", "--", "x"], "env": {"": "x"}`, odd, odd},
	"a name with a blank":    {`"command": "OURS", "args": ["run", "--env", "*", "--", "x"], "env": {"\ufeffHTTPS_PROXY": "x"}`, odd, odd},
	"a name with a letter":   {`"command": "OURS", "args": ["run", "--env", "*", "--", "x"], "env": {"\u212AUBECONFIG": "x"}`, odd, odd},
	"a name with a sign":     {`"command": "OURS", "args": ["run", "--env", "*", "--", "x"], "env": {"a.b": "x"}`, odd, "yes"},
	"a name of Windows":      {`"command": "OURS", "args": ["run", "--env", "ProgramFiles(x86)", "--", "x"], "env": {"ProgramFiles(x86)": "x"}`, "yes", "yes"},
	"grants":                 {`"command": "OURS", "args": ["run", "--write", "~/data", "--net", "a.test", "--", "x", "--config", "y"]`, "yes", "yes"},
	"no jail":                {`"command": "x"`, "", ""},
	"env before it":          {`"command": "env", "args": ["OURS", "run", "--", "x"]`, byWay, byWay},
	"a variable before it":   {`"command": "env", "args": ["A=B", "OURS", "run", "--", "x"]`, "", ""},
	"npx before it":          {`"command": "npx", "args": ["-y", "mcp-jail@latest", "run", "--", "x"]`, byWay + " (npx -y mcp-jail@latest)", byWay},
	"npx, and a waiver":      {`"command": "npx", "args": ["mcp-jail", "run", "--waive", "fs", "--", "x"]`, byWay + " (npx mcp-jail)", byWay},
	"PATH":                   {`"command": "mcp-jail", "args": ["run", "--", "x"], "env": {"PATH": "REPO/bin:/usr/bin"}`, others, others},
	"PATH without it":        {`"command": "mcp-jail", "args": ["run", "--", "x"], "env": {"PATH": "/nonexistent"}`, acts + "PATH", "yes"},
	"PATH to it":             {`"command": "mcp-jail", "args": ["run", "--", "x"], "env": {"PATH": "BIN"}`, acts + "PATH", "yes"},
	"no PATH":                {`"command": "mcp-jail", "args": ["run", "--", "x"], "env": {"PATH": null}`, acts + "PATH", "yes"},
	"another's path":         {`"command": "REPO/bin/mcp-jail", "args": ["run", "--", "x"]`, others, others},
	"a missing path":         {`"command": "/gone/mcp-jail", "args": ["run", "--", "x"]`, gone, gone},
	"gone, and a waiver":     {`"command": "/gone/mcp-jail", "args": ["run", "--waive", "fs", "--", "x"]`, gone, gone},
	"gone, and code":         {`"command": "/gone/mcp-jail", "args": ["run", "--", "x"], "env": {"LD_PRELOAD": "/e"}`, gone, gone + "; wrap does not"},
	"gone, configured":       {`"command": "/gone/mcp-jail", "args": ["run", "a"]`, gone, gone},
	"a path in the project":  {`"command": "REPO/link/mcp-jail", "args": ["run", "--", "x"]`, "starts a program in the project", "yes"},
	"relative":               {`"command": "./link/mcp-jail", "args": ["run", "--", "x"]`, "", "yes"}, // of the project: see below
	"relative to another":    {`"command": "bin/mcp-jail", "args": ["run", "--", "x"]`, "", others},
	"relative to its cwd":    {`"command": "./mcp-jail", "args": ["run", "--", "x"], "cwd": "REPO/bin"`, others, others},
	"configuration":          {`"command": "OURS", "args": ["run", "a"], "env": {"XDG_CONFIG_HOME": "/e"}`, acts + "XDG_CONFIG_HOME", acts + "XDG_CONFIG_HOME"},
	"HOME":                   {`"command": "OURS", "args": ["run", "a"], "env": {"HOME": "/e"}`, acts + "HOME", acts + "HOME"},
	"no HOME":                {`"command": "OURS", "args": ["run", "a"], "env": {"HOME": null}`, acts + "HOME", acts + "HOME"},
	"code":                   {`"command": "OURS", "args": ["run", "--", "x"], "env": {"LD_PRELOAD": "/e"}`, acts + "LD_PRELOAD", acts + "LD_PRELOAD"},
	"registry":               {`"command": "OURS", "args": ["run", "--", "npx", "x"], "env": {"npm_config_registry": "http://e"}`, acts + "npm_config_registry", "yes"},
	"managers":               {`"command": "OURS", "args": ["run", "--", "npx", "x"], "env": {"FNM_DIR": "/e"}`, acts + "FNM_DIR", "yes"},
	"a secret's command":     {`"command": "OURS", "args": ["run", "a"], "env": {"GNUPGHOME": "/e"}`, acts + "GNUPGHOME for a server of your configuration", "yes"},
	"its host":               {`"command": "OURS", "args": ["run", "a"], "env": {"GRAFANA_URL": "http://e"}`, acts + "GRAFANA_URL for a server of your configuration", "yes"},
	"a host of its own":      {`"command": "OURS", "args": ["run", "--preset", "grafana", "--", "x"], "env": {"GRAFANA_URL": "http://e"}`, "yes", "yes"},
	"its variable":           {`"command": "OURS", "args": ["run", "a"], "env": {"TOKEN": "t"}`, acts + "TOKEN for a server of your configuration", "yes"},
	"its variable, removed":  {`"command": "OURS", "args": ["run", "a"], "env": {"TOKEN": null}`, acts + "TOKEN for a server of your configuration", "yes"},
	"the width of its text":  {`"command": "OURS", "args": ["run", "a"], "env": {"COLUMNS": "80"}`, "yes", "yes"},
	"no configured server":   {`"command": "OURS", "args": ["run", "--", "x"], "env": {"GNUPGHOME": "/e"}`, "yes", "yes"},
	"its own configuration":  {`"command": "OURS", "args": ["run", "--config", "e.toml", "a"]`, "names a configuration", "yes"},
	"in one word":            {`"command": "OURS", "args": ["run", "--config=e.toml", "a"]`, "names a configuration", "yes"},
	"its own waiver":         {`"command": "OURS", "args": ["run", "--name", "a", "--waive", "fs", "--", "x"]`, "has --waive", "yes"},
	"a value that is a name": {`"command": "OURS", "args": ["run", "--workspace", "--waive", "--", "x"]`, "has flags that mcp-jail does not accept", "yes"},
	"its own log":            {`"command": "OURS", "args": ["run", "--name", "a", "--log-file", "e", "--", "x"]`, "has --log-file", "yes"},
	"a log in one word":      {`"command": "OURS", "args": ["run", "--log-file=e", "--", "x"]`, "has --log-file", "yes"},
	"an unknown flag":        {`"command": "OURS", "args": ["run", "--new", "e", "--", "x"]`, "has flags that mcp-jail does not accept", "yes"},
}

// judgedForms are entries that one client reads in its own way.
var judgedForms = map[string]map[string]judged{
	"vscode": {
		"its place":      {`"command": "${workspaceFolder}/bin/mcp-jail", "args": ["run", "--", "x"]`, others, "has a program whose path"},
		"other folder":   {`"command": "${workspaceFolder:other}/mcp-jail", "args": ["run", "--", "x"]`, "has a program whose path", "has a program whose path"},
		"home":           {`"command": "${userHome}/own/mcp-jail", "args": ["run", "--", "x"]`, "yes", "yes"},
		"asked for":      {`"command": "${input:a}/mcp-jail", "args": ["run", "--", "x"]`, "has a program whose path", "has a program whose path"},
		"cwd":            {`"command": "./mcp-jail", "args": ["run", "--", "x"], "cwd": "${workspaceFolder}/bin"`, others, string(unknownDir)},
		"unknown cwd":    {`"command": "./mcp-jail", "args": ["run", "--", "x"], "cwd": "${env:A}"`, string(unknownDir), string(unknownDir)},
		"flag":           {`"command": "OURS", "args": ["run", "${input:a}", "--", "x"]`, "has a flag for mcp-jail that only", "yes"},
		"value":          {`"command": "OURS", "args": ["run", "--workspace", "${workspaceFolder}", "--", "x"]`, "yes", "yes"},
		"file":           {`"command": "OURS", "args": ["run", "--", "x"], "envFile": "REPO/bad.env"`, acts + "FNM_DIR", "yes"},
		"harmless file":  {`"command": "OURS", "args": ["run", "--", "x"], "envFile": "REPO/good.env"`, "yes", "yes"},
		"dangerous file": {`"command": "OURS", "args": ["run", "--", "x"], "envFile": "REPO/worse.env"`, acts + "LD_AUDIT", acts + "LD_AUDIT"},
		"command":        {`"command": "OURS", "args": ["run", "--", "x", "${command:e}"]`, "has a command in a text, which Visual Studio Code runs", "yes"},
		"unknown file":   {`"command": "OURS", "args": ["run", "--", "x"], "envFile": "${env:A}"`, "has a file of variables that is not known", "yes"},
	},
	"crush": {
		"command":        {`"command": "OURS", "args": ["run", "--", "x", "a$(./e)"]`, "has a command in a text, which Crush runs", "yes"},
		"in a value":     {`"command": "OURS", "args": ["run", "--env", "A", "--", "x"], "env": {"A": "${B:-$(./e)}"}`, "has a command in a text, which Crush runs", "yes"},
		"with backticks": {`"command": "OURS", "args": ["run", "--", "x", "` + "`./e`" + `"]`, "has a command in a text, which Crush runs", "yes"},
		"arithmetic":     {`"command": "OURS", "args": ["run", "--", "x", "$((1+1))"]`, "has a command in a text, which Crush runs", "yes"},
		"a variable":     {`"command": "OURS", "args": ["run", "--env", "A", "--", "x"], "env": {"A": "$B (c)"}`, "yes", "yes"},
		"letter case":    {`"command": "OURS", "args": ["run", "--", "x"], "Command": "./e"`, "can be read in two ways", "can be read in two ways"},
		"its variables":  {`"command": "OURS", "args": ["run", "--", "x"], "ENV": {"LD_AUDIT": "e"}`, "can be read in two ways", "can be read in two ways"},
	},
	"claude-code": {
		"default": {`"command": "OURS", "args": ["run", "${A:---config=e.toml}", "--", "x"]`, "has a flag for mcp-jail that only", "yes"},
		"home":    {`"command": "${HOME}/own/mcp-jail", "args": ["run", "--", "x"]`, "has a program whose path", "yes"}, // others read that file, too
		"ours":    {`"command": "${A:-BIN}/mcp-jail", "args": ["run", "--", "x"]`, "has a program whose path", "has a program whose path"},
		"path":    {`"command": "${A:-/usr}/mcp-jail", "args": ["run", "--", "x"]`, "has a program whose path", "has a program whose path"},
	},
}

// TestJudge: an entry starts in mcp-jail only if nothing of it can make its command line start
// another program, or give mcp-jail a configuration that is not the user's.
func TestJudge(t *testing.T) {
	h := newHost(t)
	bin := filepath.Join(h.Home, "bin")
	ours, lasting := filepath.Join(bin, "mcp-jail"), filepath.Join(h.Home, "lasting", "mcp-jail")
	for _, file := range []string{ours, lasting, filepath.Join(h.Project, "bin", "mcp-jail")} {
		write(t, file, file)
		must(t, os.Chmod(file, 0o700))
	}
	for _, dir := range []string{filepath.Join(h.Project, "link"), filepath.Join(h.Home, "own")} {
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.Symlink(ours, filepath.Join(dir, "mcp-jail")))
	}
	for name, text := range map[string]string{"good.env": "TOKEN=x\n", "bad.env": "FNM_DIR=x\n", "worse.env": "LD_AUDIT=x\n"} {
		write(t, filepath.Join(h.Project, name), text)
	}
	t.Setenv("PATH", bin)
	t.Chdir(h.Project)
	program := Program{Path: ours, Also: []string{lasting}}
	fill := strings.NewReplacer("OURS", ours, "BIN", bin, "REPO", h.Project, "HOME/", h.Home+"/")
	places := map[string][3]string{ // the project's file, the user's, the table
		"crush": {"crush.json", ".config/crush/crush.json", "mcp"}, "vscode": {".vscode/mcp.json", ".config/Code/User/mcp.json", "servers"}, "cursor": {".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"}, "claude-code": {".mcp.json", ".claude.json", "mcpServers"},
	}
	for client, place := range places {
		judge := func(name string, row judged) {
			for i, root := range []string{h.Project, h.Home} {
				path := filepath.Join(root, place[i])
				write(t, path, `{"`+place[2]+`": {"a": {`+fill.Replace(row.entry)+`}}}`)
				f := only(t, h, Selection{Files: []string{path}, Clients: []string{client}})
				v := f.Judge(f.Entries[0], program, h)
				want := [2]string{row.project, row.user}[i]
				got := string(v.Why)
				if v.Jailed {
					got = "yes"
				}
				if v.Jailed && v.Unclear || !strings.HasPrefix(got, want) || (want == "") != (got == "") {
					t.Errorf("%s, %s, %s's entry: %q, want %q", client, name, f.Place.Scope, got, want)
				}
				c := f.Wrap(program, Selection{}, h, newIDs(h)).Servers[0]
				switch {
				case i == 1 && v.Line.Argv != nil && (v.Jailed || v.Repair != nil) && c.Left == "": // wrap writes the words of an id in front
					line, _ := clients.ParseWrapped(c.After)
					if line.ID == "" || !slices.Equal(line.Flags, []string{"--id", line.ID}) || !slices.Equal(line.Argv, v.Line.Argv) || v.Repair != nil && line.Program != ours || (c.Repair != nil) != (v.Repair != nil) {
						t.Errorf("%s, %s: %q becomes %q", client, name, c.Argv(), c.After)
					}
				case v.Repair != nil:
					if rest := c.Argv()[len(v.Line.Launcher)+1:]; i == 0 || c.Left != "" || c.Repair == nil || c.Open || !slices.Equal(c.After, append([]string{ours}, rest...)) {
						t.Errorf("%s, %s: %q becomes %q: left %q", client, name, c.Argv(), c.After, c.Left)
					}
				case v.Jailed:
					if !strings.HasPrefix(c.Left, string(clients.Jailed)) && !(i == 1 && strings.HasPrefix(c.Left, "cannot be wrapped: ")) {
						t.Errorf("%s, %s: wrap says %q", client, name, c.Left)
					}
				case got != "" && c.Left != string(v.Why):
					t.Errorf("%s, %s: wrap says %q, want %q", client, name, c.Left, v.Why)
				}
				must(t, os.Remove(path))
			}
		}
		for name, row := range judgedEntries {
			if row.project == "" && row.user != "" { // where the client starts it counts
				row.project = map[string]string{"vscode": "starts a program in the project", "claude-code": "starts a program in the project", "crush": "starts a program in the project", "cursor": string(unknownDir)}[client]
				if strings.Contains(row.entry, `"bin/`) && client != "cursor" {
					row.project = others
				}
			}
			if client != "vscode" && strings.Contains(row.entry, `"cwd"`) {
				continue // the others know no cwd
			}
			judge(name, row)
		}
		for name, row := range judgedForms[client] {
			judge(name, row)
		}
	}
}

// TestFlagsOfProjects: each flag of run is one that a project's entry may have, or may not.
func TestFlagsOfProjects(t *testing.T) {
	seen := 0
	for _, flag := range (&cmdline.RunFlags{}).Flags() {
		seen++
		if why := forbiddenFlags[flag.Name]; slices.Contains(allowedFlags, flag.Name) == (why != "") {
			t.Errorf("--%s: it is in both lists, or in none", flag.Name)
		}
	}
	if seen != len(allowedFlags)+len(forbiddenFlags) {
		t.Errorf("%d flags, and the lists have others", seen)
	}
}

// TestJudgeOpen: only an entry that is known to start nothing counts as one that needs no jail.
func TestJudgeOpen(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(h.Home, "x", ".vscode", "mcp.json")
	for entry, open := range testkit.Named[bool](t, "judged-open.txt") {
		write(t, file, `{"servers": {`+entry+`}}`)
		f := only(t, h, Selection{Files: []string{file}})
		if len(f.Entries) == 0 && !open {
			continue
		}
		v := f.Judge(f.Entries[0], Program{Path: program}, h)
		p := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if v.Open != open || p.Open != open || v.Why == "" || v.Jailed {
			t.Errorf("%s: %+v, and wrap says %v, want %v", entry, v, p.Open, open)
		}
	}
}
