package meaning_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestFetched: what the jail refuses at each start is told, and not what may be on the disk.
func TestFetched(t *testing.T) {
	for line, want := range testkit.Named[string](t, "fetched.txt") {
		got := strings.Join(meaning.Fetched(strings.Split(line, "|")), "\n")
		if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestLaunchers: what starts in front of a server is named with what to do, and no line proposes to
// open the network for it.
func TestLaunchers(t *testing.T) {
	for line, want := range testkit.Named[string](t, "launchers.txt") {
		got := strings.Join(meaning.Launchers(strings.Split(line, "|")), "\n")
		if strings.Contains(got, "--net") || want == "" && got != "" {
			t.Errorf("%s: %s", line, got)
		}
		for part := range strings.SplitSeq(want, "; ") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", line, got, part)
			}
		}
	}
}

// TestOtherMachine: an entry names another machine in each of its parts and in each spelling, and addresses
// and paths of this machine are none.
func TestOtherMachine(t *testing.T) {
	for word, want := range testkit.Named[bool](t, "machines.txt") {
		for name, e := range map[string]clients.Entry{
			"command": {Command: word}, "argument": {Command: "node", Args: []string{"-x", word}}, "directory": {Command: "node", Cwd: word}, "file of variables": {Command: "node", EnvFile: word},
			"variable": {Command: "node", Env: []clients.Variable{{Name: "A", Value: word}}},
		} {
			if err := meaning.CheckLook(e, clients.Host{OS: "windows"}, true, asWritten); (err != nil) != want {
				t.Errorf("%s %q: %v", name, word, err)
			}
		}
	}
}

func asWritten(word string) []string { return []string{word} }

// TestCheckLook: what a project's file says is not looked at on Windows. What the user's own file says is, and so
// is what another system finds.
func TestCheckLook(t *testing.T) {
	e := clients.Entry{Server: "s", Command: `\\evil\share\x.exe`}
	for _, c := range []struct {
		host      clients.Host
		isProject bool
		refused   bool
	}{{clients.Host{OS: "windows"}, true, true}, {clients.Host{OS: "windows"}, false, false}, {clients.Host{OS: "windows", Mounted: true}, true, false}, {clients.Host{OS: "linux"}, true, false}} {
		if err := meaning.CheckLook(e, c.host, c.isProject, asWritten); (err != nil) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := meaning.CheckLook(clients.Entry{Command: "node"}, clients.Host{OS: "windows"}, true, asWritten); err != nil {
		t.Error(err)
	}
}

// TestHosts: the home directories of people, below the drive C of a WSL alone.
func TestHosts(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"proc/sys/kernel/osrelease": "5.15-microsoft-standard\n", "mnt/c/Users/desktop.ini": ""} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o777))
		testkit.Must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	users := filepath.Join(root, "mnt/c/Users")
	for _, name := range []string{"me", "Public", "Default"} {
		testkit.Must(t, os.Mkdir(filepath.Join(users, name), 0o777))
	}
	testkit.Must(t, os.Symlink("me", filepath.Join(users, "All Users")))
	hosts := meaning.WindowsHosts(root)
	if len(hosts) != 1 || hosts[0].Home != filepath.Join(users, "me") {
		t.Fatal(hosts)
	}
	c, err := clients.ByName("claude-desktop")
	testkit.Must(t, err)
	if got, ok := c.Places[0].Locate(hosts[0]); !ok || got.File != filepath.Join(users, "me/AppData/Roaming/Claude/claude_desktop_config.json") {
		t.Error(got)
	}
	testkit.Must(t, os.WriteFile(filepath.Join(root, "proc/sys/kernel/osrelease"), []byte("6.1-amd64"), 0o600))
	if hosts := meaning.WindowsHosts(root); hosts != nil {
		t.Error("not WSL:", hosts)
	}
}

// TestLeft: what of an entry keeps it from starting in Linux.
func TestLeft(t *testing.T) {
	t.Setenv("WSL_DISTRO_NAME", "Debian")
	c, err := clients.ByName("cursor")
	testkit.Must(t, err)
	set := func(pairs ...string) (env []clients.Variable) {
		for i := 0; i < len(pairs); i += 2 {
			env = append(env, clients.Variable{Name: pairs[i], Value: pairs[i+1]})
		}
		return env
	}
	for _, one := range []struct {
		line string
		env  []clients.Variable
		want string
	}{
		{"npx -y a https://h.test/x /mnt/c/x", nil, ""},
		{"cmd /c npx -y a", nil, ""},
		{`C:\\bin\\uvx.exe a`, nil, ""},
		{"sh x", nil, ""},
		{`npx a C:\\x`, nil, "path of Windows"},
		{`npx a --dir=d:/x`, nil, "path of Windows"},
		{`npx a \\\\host\\share`, nil, "path of Windows"},
		{"node.exe x", nil, "program of Windows"},
		{"cmd /c node x", nil, "program of Windows"},
		{"no-such-program-here", nil, "does not have in its PATH"},
		{"npx a ${env:X}", nil, "in place of which"},
		{"npx a", set("A", "1"), `"WSLENV": "A/u"`},
		{"npx a", set("A", "1", "B", "2", "WSLENV", "A/u:C"), `"WSLENV": "B/u"`},
		{"npx a", set("A", "1", "B", "2", "WSLENV", "A:B/up"), ""},
	} {
		words := strings.Fields(strings.ReplaceAll(one.line, `\\`, `\`))
		got := string(meaning.LeftToWindows(c, clients.Entry{Command: words[0], Args: words[1:], Env: one.env, Shape: clients.Shape{Env: "env"}}))
		if one.want == "" && got != "" || !strings.Contains(got, one.want) {
			t.Errorf("%s: %q, want %q", one.line, got, one.want)
		}
	}
}

// TestOtherForm: on Windows no flag has a path that run refuses, and the note says why. Elsewhere such a word
// is no absolute path.
func TestOtherForm(t *testing.T) {
	for word, want := range map[string]int{
		`\\?\C:\x`: 1, `\\.\pipe\x`: 1, `\\evil\share`: 1, `C:\x\a:b`: 1, `C:\x.`: 1, `C:\PROGRA~1`: 1, `--dir=\\evil\share`: 1, `C:\x\NUL`: 1,
		`CON`: 0, `x:y`: 0, `C:\none\x`: 0, `https://x.test/a:b`: 0,
	} {
		words := []meaning.Word{{Text: "-v"}, {Text: word}}
		found := meaning.Names(clients.Client{}, words, clients.Host{OS: "windows"})
		if len(found) != want || want > 0 && found[0].Why == "" {
			t.Errorf("%s: %+v", word, found)
		}
		for _, other := range []clients.Host{{OS: "linux"}, {OS: "windows", Mounted: true}} {
			if found := meaning.Names(clients.Client{}, words, other); len(found) > 0 {
				t.Errorf("%s elsewhere: %+v", word, found)
			}
		}
	}
}
