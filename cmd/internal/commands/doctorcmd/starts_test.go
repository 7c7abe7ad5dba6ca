package doctorcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestStarts tests what doctor says of an entry: each case has something that is gone, and each first
// case of a kind has it there.
func TestStarts(t *testing.T) {
	for name, c := range map[string]struct{ file, entry, want string }{
		"jailed":                  {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--", "BIN/server"]`, ""},
		"mcp-jail is gone":        {".cursor/mcp.json", `"command": "HOME/clone/bin/mcp-jail", "args": ["run", "--", "BIN/server"]`, "! ~/clone/bin/mcp-jail does not exist [it]"},
		"mcp-jail is a directory": {".cursor/mcp.json", `"command": "HOME/dir/mcp-jail", "args": ["run", "--", "BIN/server"]`, "! ~/dir/mcp-jail is not a program [it]"},
		"mcp-jail by its name":    {".cursor/mcp.json", `"command": "mcp-jail", "args": ["run", "--", "BIN/server"]`, ""},
		"not executable":          {".cursor/mcp.json", `"command": "HOME/plain", "args": []`, "! ~/plain cannot be executed [it]"},
		"its server is gone":      {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--", "BIN/gone"]`, "! DIR/bin/gone does not exist [it]"},
		"its server is a shim": {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--", "shim"], "env": {"PATH": "HOME/.nodenv/shims"}`,
			"! DIR/home/.nodenv/shims/shim is a shim, and no installed version that it could start was found [it]"},
		"its server is not found": {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--", "no-such-server"]`, "! no-such-server was not found in PATH [it]"},
		"a program":               {".cursor/mcp.json", `"command": "server"`, ""},
		"no program":              {".cursor/mcp.json", `"command": "no-such-server"`, "! no-such-server was not found in PATH [it]"},
		"its own PATH":            {".cursor/mcp.json", `"command": "only", "env": {"PATH": "HOME/own"}`, ""},
		"a variable":              {".cursor/mcp.json", `"command": "${userHome}/own/only"`, ""},
		"a variable, gone":        {".cursor/mcp.json", `"command": "${userHome}/own/gone"`, "! ~/own/gone does not exist [it]"},
		"known to the client":     {".cursor/mcp.json", `"command": "${env:NO_SUCH_VARIABLE}/server"`, ""},
		"a script":                {".cursor/mcp.json", `"command": "python3", "args": ["HOME/there.py"]`, ""},
		"no script":               {".cursor/mcp.json", `"command": "python3", "args": ["HOME/gone.py"]`, "! the script ~/gone.py does not exist [it]"},
		"a script of a variable":  {".cursor/mcp.json", `"command": "python3", "args": ["HOME/${env:NO_SUCH_VARIABLE}/gone.py"]`, ""},
		"no script in a jail":     {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--", "python3", "-u", "HOME/gone.py"]`, "! the script ~/gone.py does not exist [it]"},
		"a module":                {".cursor/mcp.json", `"command": "python3", "args": ["-m", "gone"]`, "its code depends on the directory in which the client starts it, and in another one it has another HOME [it]"},
		"a module, not there":     {".cursor/mcp.json", `"command": "python3", "args": ["-P", "-m", "gone"]`, ""},
		"a script of a directory": {".gemini/settings.json", `"command": "python3", "args": ["there.py"], "cwd": "HOME"`, ""},
		"a script of any one":     {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--", "python3", "there.py"]`, "its code depends on the directory in which the client starts it, and in another one it has another HOME [it]"},
		"its file":                {".cursor/mcp.json", `"command": "server", "envFile": "HOME/plain"`, ""},
		"its file is gone":        {".cursor/mcp.json", `"command": "server", "envFile": "HOME/gone.env"`, "~/gone.env does not exist [it]"},
		"its directory":           {".gemini/settings.json", `"command": "server", "cwd": "HOME/dir"`, ""},
		"its directory is gone":   {".gemini/settings.json", `"command": "server", "cwd": "HOME/gone"`, "! the directory ~/gone does not exist [it]"},
		"a preset":                {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--preset", "memory", "--", "npx", "-y", "@modelcontextprotocol/server-memory"]`, ""},
		"no preset":               {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--preset", "gone", "--", "BIN/server"]`, `! this mcp-jail has no preset "gone" [it]`},
		"a flag of a newer one":   {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--of-tomorrow", "x", "--", "BIN/server"]`, "! unknown flag --of-tomorrow [it]"},
		"a flag without a value":  {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--read", "--", "BIN/server"]`, "! the line starts mcp-jail, and is not one that it runs [it]"},
		"without run":             {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["BIN/server"]`, "! the line starts mcp-jail, and is not one that it runs [it]"},
		"config and a command":    {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--config", "HOME/plain", "--", "BIN/server"]`, "! --config has no effect on a command after -- [it]"},
		"a URL":                   {".cursor/mcp.json", `"url": "https://example.com/mcp"`, ""},
		"turned off":              {".gemini/settings.json", `"command": "server", "disabled": true`, ""},
		"packages":                {".cursor/mcp.json", `"command": "BIN/mcp-jail", "args": ["run", "--", "npx", "-y", "p"]`, ""}, // mcp-jail starts them itself
		"packages without npx":    {".cursor/mcp.json", `"command": "npx", "args": ["-y", "p"]`, "! npx was not found in PATH [it]"},
		"not JSON":                {".cursor/mcp.json", `"command": `, "! DIR/home/.cursor/mcp.json: "},
	} {
		t.Run(name, func(t *testing.T) {
			i, dir := newInstallation(t)
			testkit.PlantBelow(t, dir, "bin/mcp-jail", "bin/server", "bin/python3", "home/own/only", "home/dir/mcp-jail/", "home/there.py", "home/.nodenv/shims/shim", "home/.nodenv/versions/")
			testkit.WriteFile(t, dir+"/home/plain", "x")
			testkit.Must(t, os.Chmod(dir+"/home/plain", 0o644))
			entry := strings.NewReplacer("HOME", dir+"/home", "BIN", dir+"/bin").Replace(c.entry)
			testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, "home", c.file)), 0o755))
			testkit.WriteFile(t, filepath.Join(dir, "home", c.file), `{"mcpServers": {"it": {`+entry+`}}}`)
			i.find(t)
			got := strings.ReplaceAll(texts(i.checkStarts()), dir, "DIR")
			if got != c.want && (name != "not JSON" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}

// TestStartsJoined tests that entries with the same fault are told together, and that each line of the
// list has what the client starts.
func TestStartsJoined(t *testing.T) {
	i, dir := newInstallation(t)
	testkit.PlantBelow(t, dir, "bin/mcp-jail", "bin/server", "home/.cursor/")
	testkit.WriteFile(t, dir+"/home/.cursor/mcp.json", `{"mcpServers": {
		"a": {"command": "`+dir+`/gone/mcp-jail", "args": ["run", "--", "server"]},
		"b": {"command": "`+dir+`/gone/mcp-jail", "args": ["run", "--", "npx", "-y", "p"]},
		"c": {"command": "mcp-jail", "args": ["run", "--", "server"]},
		"d": {"command": "server"}}}`)
	i.find(t)
	if got := strings.ReplaceAll(texts(i.checkStarts()), dir, "DIR"); got != "! DIR/gone/mcp-jail does not exist [a b]" {
		t.Errorf("says %s", got)
	}
	var lines []string
	for _, s := range i.starts {
		lines = append(lines, strings.Join([]string{s.Server, s.Jail, s.Starts, s.Runs}, " "))
	}
	want := "a - DIR/gone/mcp-jail DIR/bin/server\nb - DIR/gone/mcp-jail p\nc yes DIR/bin/mcp-jail DIR/bin/server\nd no DIR/bin/server "
	if got := strings.ReplaceAll(strings.Join(lines, "\n"), dir, "DIR"); got != want {
		t.Errorf("starts\n%s\nwant\n%s", got, want)
	}
}

// TestDesktop tests the note about a client that is started from the desktop, which has the PATH of the
// login.
func TestDesktop(t *testing.T) {
	for name, c := range map[string]struct {
		file, command string
		desktop       []string
		want          string
	}{
		"found there":   {".cursor/mcp.json", "server", []string{"BIN"}, ""},
		"not there":     {".cursor/mcp.json", "server", []string{"/nowhere"}, "server is in PATH of this shell (DIR/bin), and not in that of your login [it]"},
		"a whole path":  {".cursor/mcp.json", "BIN/server", []string{"/nowhere"}, ""},
		"not known":     {".cursor/mcp.json", "server", nil, ""},
		"its own PATH":  {".cursor/mcp.json", `server", "env": {"PATH": "BIN"}, "x": "`, []string{"/nowhere"}, ""},
		"of a terminal": {".gemini/settings.json", "server", []string{"/nowhere"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i, dir := newInstallation(t)
			testkit.PlantBelow(t, dir, "bin/mcp-jail", "bin/server", "home/.cursor/", "home/.gemini/")
			for _, d := range c.desktop {
				i.login.Desktop = append(i.login.Desktop, strings.ReplaceAll(d, "BIN", dir+"/bin"))
			}
			testkit.WriteFile(t, filepath.Join(dir, "home", c.file), `{"mcpServers": {"it": {"command": "`+strings.ReplaceAll(c.command, "BIN", dir+"/bin")+`"}}}`)
			i.find(t)
			if got := strings.ReplaceAll(texts(i.checkStarts()), dir, "DIR"); got != c.want {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}

// TestConfigured tests what doctor says of entries that start servers of the configuration: it looks at
// the programs of the user's own.
func TestConfigured(t *testing.T) {
	i, dir := newInstallation(t)
	testkit.PlantBelow(t, dir, "bin/mcp-jail", "bin/server", "home/.cursor/", "home/.config/mcp-jail/")
	testkit.WriteFile(t, dir+"/home/.config/mcp-jail/config.toml", `[servers.there]
command = "server"
[servers.gone]
command = "`+dir+`/home/gone"
[servers.package]
command = "npx"
arguments = ["-y", "p"]
[servers.below]
command = "gone"
workspace = "~/below"
`)
	var entries []string
	for _, name := range []string{"there", "gone", "package", "below", "unknown"} {
		entries = append(entries, `"`+name+`": {"command": "mcp-jail", "args": ["run", "`+name+`"]}`)
	}
	testkit.WriteFile(t, dir+"/home/.cursor/mcp.json", `{"mcpServers": {`+strings.Join(entries, ",")+`, "other": {"command": "mcp-jail", "args": ["run", "--config", "x", "gone"]}}}`)
	var err error
	i.config, _, err = session.LoadTrusted(config.LoadOptions{}, i.host)
	testkit.Must(t, err)
	i.find(t)
	if got, want := texts(i.checkStarts()), "! ~/gone does not exist [gone]"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
	var lines []string
	for _, s := range i.starts {
		lines = append(lines, s.Server+": "+strings.ReplaceAll(s.Runs, dir, "DIR"))
	}
	want := "there: DIR/bin/server\ngone: DIR/home/gone\npackage: p\nbelow: below, configured\nunknown: unknown, configured\nother: gone, configured"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("runs\n%s\nwant\n%s", got, want)
	}
}
