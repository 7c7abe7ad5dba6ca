package meaning

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOtherMachine: an entry names another machine in each of its parts and in each spelling, and addresses
// and paths of this machine are none.
func TestOtherMachine(t *testing.T) {
	for word, want := range testkit.Named[bool](t, "machines.txt") {
		for name, e := range map[string]clients.Entry{
			"command": {Command: word}, "argument": {Command: "node", Args: []string{"-x", word}}, "directory": {Command: "node", Cwd: word}, "file of variables": {Command: "node", EnvFile: word},
			"variable": {Command: "node", Env: []clients.Variable{{Name: "A", Value: word}}},
		} {
			if got := otherMachine(wordsOf(e), `C:\p`); (got == word && word != "") != want || !want && got != "" {
				t.Errorf("%s %q: %q", name, word, got)
			}
		}
	}
}

// TestLinuxOfProject: a project in a Linux of WSL may name files of that Linux, and of no other.
func TestLinuxOfProject(t *testing.T) {
	for word, want := range map[string]bool{
		`\\wsl.localhost\Ubuntu\home`: false, `//WSL.localhost/ubuntu/x`: false, `--dir=\\wsl.localhost\Ubuntu\home`: false, `x.js`: false,
		`\\wsl.localhost\Debian\home`: true, `\\wsl$\Ubuntu\x`: true, `\\evil\share`: true, `\\wsl.localhost\Ubuntu\..\..\evil\x;\\evil\x`: true, `\\wsl.localhost\Ubuntu.evil\x`: true,
	} {
		host := clients.Host{OS: "windows", Project: `\\wsl.localhost\Ubuntu\home\u\p`}
		err := CheckLook(clients.Entry{Server: "s", Command: "node", Args: []string{word}}, host, true, asWritten)
		if (err != nil) != want {
			t.Errorf("%s: %v", word, err)
		}
		if err != nil && strings.Contains(err.Error(), "a Linux in WSL") != (strings.Contains(word, "Debian") || strings.Contains(word, "wsl$") || strings.Contains(word, "Ubuntu.evil")) {
			t.Errorf("%s: %v", word, err)
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
		if err := CheckLook(e, c.host, c.isProject, asWritten); (err != nil) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := CheckLook(clients.Entry{Command: "node"}, clients.Host{OS: "windows"}, true, asWritten); err != nil {
		t.Error(err)
	}
}
