package meaning

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

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
	hosts := WindowsHosts(root)
	if len(hosts) != 1 || hosts[0].Home != filepath.Join(users, "me") {
		t.Fatal(hosts)
	}
	c, err := clients.ByName("claude-desktop")
	testkit.Must(t, err)
	if got, ok := c.Places[0].Locate(hosts[0]); !ok || got.File != filepath.Join(users, "me/AppData/Roaming/Claude/claude_desktop_config.json") {
		t.Error(got)
	}
	testkit.Must(t, os.WriteFile(filepath.Join(root, "proc/sys/kernel/osrelease"), []byte("6.1-amd64"), 0o600))
	if hosts := WindowsHosts(root); hosts != nil {
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
		got := string(LeftToWindows(c, clients.Entry{Command: words[0], Args: words[1:], Env: one.env, Shape: clients.Shape{Env: "env"}}))
		if one.want == "" && got != "" || !strings.Contains(got, one.want) {
			t.Errorf("%s: %q, want %q", one.line, got, one.want)
		}
	}
}
