package windows

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestOtherMachine: an entry names another machine in each of its parts and in each spelling, and addresses
// and paths of this machine are none.
func TestOtherMachine(t *testing.T) {
	for word, want := range map[string]bool{
		`\\evil\share\x.js`: true, `//evil/share/x.js`: true, `\/evil\share`: true, `/\evil/share`: true, `\\?\UNC\evil\share`: true, `\\.\UNC\evil\x`: true, `\??\UNC\evil\x`: true,
		`--dir=\\evil\share`: true, `C:\a;\\evil\share`: true, `${A:-\\evil\share}`: true, `${A}\\evil\share`: true, `"\\evil\share"`: true, `\\wsl.localhost\U\a;\\evil\b`: true, `\\wsl.localhost.evil\a`: true, `\\wsl.localhost\Ubuntu\home`: true, `//wsl$/Ubuntu/home`: true,
		`https://example.com/a`: false, `C:\Users\me`: false, `C:\\Users\\me`: false, `a//b`: false, `/mnt/c`: false, `--x=/a/b`: false, `--url=http://a.b//c`: false, ``: false, `//`: false, `\\`: false, "s/a//": false,
	} {
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

// TestLinked: each part of an entry of a project's file is looked at by Away before anything else looks at
// it, in each way in which a word can have a path.
func TestLinked(t *testing.T) {
	away := errors.New("away")
	host := clients.Host{OS: "windows", Project: `C:\p`, Away: func(_, path string) error {
		if path := strings.ReplaceAll(path, "/", `\`); strings.HasPrefix(path, `C:\p\link`) || strings.HasPrefix(path, `C:\p\.\link`) || strings.HasPrefix(path, `D:\x`) {
			return away
		}
		return nil
	}}
	for word, want := range map[string]bool{
		`link\x.js`: true, `./link/x.js`: true, `C:\p\link`: true, `C:/p/link/x`: true, `\p\link\x`: true, `/p/link`: true, `--dir=link\x`: true, `--dir=C:\p\link`: true, `-e="link\x"`: true,
		`C:\a;D:\x`: true, `${HERE}\x`: true, `a=b.js`: false, `node`: false, `C:\p\other`: false, `https://link/x`: false, ``: false, `;=`: false,
	} {
		texts := func(word string) []string { return []string{word, strings.ReplaceAll(word, "${HERE}", `C:\p\link`)} }
		for name, e := range map[string]clients.Entry{
			"command": {Command: word}, "argument": {Command: "node", Args: []string{"-x", word}}, "directory": {Command: "node", Cwd: word}, "file of variables": {Command: "node", EnvFile: word},
			"variable": {Command: "node", Env: []clients.Variable{{Name: "A", Value: word}}},
		} {
			if err := CheckLook(e, host, true, texts); errors.Is(err, away) != want {
				t.Errorf("%s %q: %v", name, word, err)
			}
			if err := CheckLook(e, host, false, texts); err != nil {
				t.Errorf("%s %q of the user: %v", name, word, err)
			}
		}
	}
	for cwd, want := range map[string]bool{`link`: true, `C:\p\link`: true, `${HERE}`: true, `other`: false, `C:\other`: false} {
		texts := func(word string) []string { return []string{strings.ReplaceAll(word, "${HERE}", `C:\p\link`)} }
		if err := CheckLook(clients.Entry{Command: "node", Args: []string{"x.js"}, Cwd: cwd}, host, true, texts); (err != nil) != want {
			t.Errorf("in %s: %v", cwd, err)
		}
	}
	relative := clients.Host{OS: "windows", Project: `C:\p`, Away: func(_, path string) error {
		if path == `C:\p\sub\x.js` {
			return away
		}
		return nil
	}}
	if err := CheckLook(clients.Entry{Command: "node", Args: []string{"x.js"}, Cwd: "sub"}, relative, true, asWritten); !errors.Is(err, away) {
		t.Errorf("a path in the directory of the entry: %v", err)
	}
}

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
