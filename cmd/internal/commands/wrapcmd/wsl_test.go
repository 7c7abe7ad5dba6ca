package wrapcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wsl"
)

// ofWindows is a file of a client on Windows, with its line ends and escapes.
const ofWindows = "\ufeff{\r\n  \"mcpServers\": {\r\n" +
	`    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "C:\\Users\\me\\\u00e4 b"], "env": {"DIR": "C:\\x"}},` + "\r\n" +
	`    "cmd": {"command": "cmd", "args": ["/c", "npx", "-y", "@scope/server"]},` + "\r\n" +
	`    "exe": {"command": "C:\\tools\\server.exe"},` + "\r\n" +
	`    "share": {"command": "npx", "args": ["-y", "s", "\\\\host\\share"]},` + "\r\n" +
	`    "cwd": {"command": "npx", "args": ["-y", "s"], "cwd": "C:\\x"}` + "\r\n  }\r\n}\r\n"

// TestMoveToLinux: wrap --wsl names the distribution, keeps the words of each entry, leaves what cannot run
// there with its reason, and unwrap gives back every byte.
func TestMoveToLinux(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "mcp.json")
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := clients.Host{OS: "linux", Home: home, Env: func(string) string { return "" }}
	program := wrapping.Program{Path: filepath.Join(home, "mcp-jail")}
	if err := os.WriteFile(program.Path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	sel := wrapping.Selection{Files: []string{path}, Clients: []string{"gemini-cli"}}
	find := func() []*wrapping.File {
		files, err := wrapping.Find(host, sel)
		if err != nil || len(files) != 1 || files[0].Err != nil {
			t.Fatal(files, err)
		}
		return files
	}
	wrap := func(target string) *wrapping.Change {
		files := find()
		if target != "" {
			to, err := wsl.ParseTarget(target)
			if err != nil {
				t.Fatal(err)
			}
			moveToLinux(files, sel, to, program, host)
		}
		return files[0].Wrap(program, sel, host, wrapping.NewNames(files, nil))
	}
	write([]byte(ofWindows))
	c := wrap("Debian:/win")
	for _, s := range c.Servers {
		after, _ := clients.ParseWrapped(s.After)
		switch s.Server {
		case "files", "cmd":
			if s.Left != "" || !strings.Contains(strings.Join(after.Flags, " "), "--wsl Debian:/win") || strings.Join(after.Argv, " ") != strings.Join(s.Argv(), " ") || runsHere(s) {
				t.Errorf("%s: %s, %q", s.Server, s.Left, s.After)
			}
		default:
			if want := map[string]string{"exe": "is a program of Windows", "share": "is a path that Linux does not have", "cwd": "has a directory of Windows"}[s.Server]; !strings.Contains(s.Left, want) {
				t.Errorf("%s: %q", s.Server, s.Left)
			}
		}
	}
	write(c.After)
	for _, e := range find()[0].Entries {
		if v := find()[0].Judge(e, program, host); v.Jailed != (e.Server == "files" || e.Server == "cmd") {
			t.Errorf("%s: %+v", e.Server, v)
		}
	}
	if again := wrap("Debian:/win"); len(again.Changed()) > 0 {
		t.Error("it is moved again:", again.Diff())
	}
	// Another distribution, and then the way back.
	write(wrap("Ubuntu").After)
	if data, _ := os.ReadFile(path); bytes.Count(data, []byte(`"--wsl", "Ubuntu"`)) != 2 || bytes.Contains(data, []byte("Debian")) {
		t.Errorf("%s", data)
	}
	write(find()[0].Unwrap(sel, nil).After)
	if data, _ := os.ReadFile(path); string(data) != ofWindows {
		t.Errorf("unwrap gives\n%s", data)
	}
	// An entry with flags that mean nothing in Linux is left too.
	entry := func(flags string) string {
		return `{"command": "` + program.Path + `", "args": ["run", "--name", ` + flags + `, "--", "npx", "-y", "s"]}`
	}
	write([]byte(`{"mcpServers": {"all": ` + entry(`"all", "--env", "*"`) + `, "share": ` + entry(`"share", "--read", "\\\\host\\share"`) + `, "good": ` + entry(`"good", "--read", "C:\\x"`) + `}}`))
	for _, s := range wrap("Debian").Servers {
		if want := map[string]string{"all": "cannot run in Linux: --env '*' would pass every", "share": "path that Linux does not have"}[s.Server]; !strings.Contains(s.Left, want) || (s.Left == "") != (s.Server == "good") {
			t.Errorf("%s: %q", s.Server, s.Left)
		}
	}
}

// TestInLinux: what Windows cannot enforce is not accepted in Linux.
func TestInLinux(t *testing.T) {
	for flags, want := range map[string]string{
		"":                          "--wsl Debian",
		"--name x --waive windows":  "--name x --wsl Debian",
		"--wsl Old:/a --read C:\\a": "--read C:\\a --wsl Debian",
		"--wsl=Old --waive=fs":      "--wsl Debian",
	} {
		if got := strings.Join(inLinux(strings.Fields(flags), wsl.Target{Name: "Debian", Root: "/mnt"}), " "); got != want {
			t.Errorf("%s: %s", flags, got)
		}
	}
}
