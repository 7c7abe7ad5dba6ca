package meaning

import (
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
			if err := CheckLook(e, clients.Host{OS: "windows"}, true, asWritten); (err != nil) != want {
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
		if err := CheckLook(e, c.host, c.isProject, asWritten); (err != nil) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := CheckLook(clients.Entry{Command: "node"}, clients.Host{OS: "windows"}, true, asWritten); err != nil {
		t.Error(err)
	}
}
