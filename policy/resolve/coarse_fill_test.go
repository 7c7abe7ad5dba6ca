package resolve

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// onWindows returns a host with some files.
func onWindows(files map[string]string) *hostfs.Host {
	return &hostfs.Host{
		OS: "windows", Home: `C:\Users\u`, Dir: `C:\work`, StateDir: `C:\Users\u\.local\state\mcp-jail`,
		Environ: []string{`Path=C:\b;relative;;C:\b\;"C:\node";\\m\s`, `=C:=C:\work`, `SystemRoot=C:\Windows`, `Temp=C:\t`, `APPDATA=C:\Users\u\AppData\Roaming`, `UserProfile=C:\Users\u`, "Notes_Token=geheim", "Node_Options=--require=x", "NUMBER_OF_pets=2", "AWS_KEY=x", "LANG=de"},
		Lstat: func(p string) (hostfs.FileInfo, error) {
			if _, ok := files[p]; !ok {
				return hostfs.FileInfo{}, fs.ErrNotExist
			}
			return hostfs.FileInfo{}, nil
		},
	}
}

func fill(t *testing.T, p *policy.Policy, files map[string]string) (*policy.Profile, error) {
	t.Helper()
	out := &policy.Profile{HomePrivate: !p.HomeReal}
	return out, windows{onWindows(files)}.fill(p, out)
}

func TestFill(t *testing.T) {
	files := map[string]string{`C:\b\srv.exe`: "", `C:\node\node.exe`: "", `C:\b\bad.cmd`: "@calc %*"}
	out, err := fill(t, &policy.Policy{Server: "notes", Command: "srv", Arguments: []string{"a b", `q"`}}, files)
	if err != nil || out.Program != `C:\b\srv.exe` || !slices.Equal(out.Argv, []string{`C:\b\srv.exe`, "a b", `q"`}) || out.Dir != `C:\work` || out.Home != `C:\Users\u\.local\state\mcp-jail\servers\notes\home` || out.Programs != nil {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err = fill(t, &policy.Policy{Command: "srv", Commands: []policy.CommandRule{}}, files); err != nil || out.Programs == nil {
		t.Errorf("a policy with command rules: %+v, %v", out, err)
	}
	if out, err = fill(t, &policy.Policy{Command: "srv", HomeReal: true, Workspace: "d:/x"}, files); err != nil || out.Home != `C:\Users\u` || out.Dir != `D:\x` {
		t.Errorf("%+v, %v", out, err)
	}
	for stateful, want := range map[bool]int{false: 1, true: 0} {
		if out, err = fill(t, &policy.Policy{Command: "srv", Stateful: stateful}, files); err != nil || len(out.Entries) != want {
			t.Errorf("stateful %t: %+v, %v", stateful, out.Entries, err)
		}
	}
	var ce *CommandError
	for name, want := range map[string]string{"bad": "batch file", "none": "not found", `C:\none`: "no such program", `C:\b\srv.exe:s`: "stream"} {
		if _, err := fill(t, &policy.Policy{Command: name}, files); !errors.As(err, &ce) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var we *WorkspaceError
	if _, err := fill(t, &policy.Policy{Command: "srv", Workspace: `\\m\s`}, files); !errors.As(err, &we) {
		t.Error(err)
	}
}

// TestProgramsOfWindows: what does not start, and whether it is there. ~ is the home directory.
func TestProgramsOfWindows(t *testing.T) {
	h := onWindows(map[string]string{`C:\b\srv.exe`: "", `C:\Users\u\x\own.exe`: "", `C:\b\batch.cmd`: "echo off", `C:\b\old.bat`: "", `C:\node\node.exe`: "", `C:\b\Node.EXE`: ""})
	for name, want := range map[string]struct{ starts, refused bool }{
		"srv": {true, false}, `C:\b\srv`: {true, false}, `~\x\own.exe`: {true, false}, "~/x/own": {true, false},
		"none": {false, false}, `~\none.exe`: {false, false},
		"batch": {false, true}, `C:\b\old.bat`: {false, true}, `\\host\share\srv.exe`: {false, true}, `C:\b\srv.exe:x`: {false, true},
	} {
		_, err := FindProgram(*h, name)
		var e *CommandError
		if (err == nil) != want.starts || err != nil && (!errors.As(err, &e) || e.Refused != want.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The script of an interpreter counts as a program does, and what else an argument names does not.
	for line, starts := range map[string]bool{
		`node C:\x\a.js`: true, `node x\a.js`: true, `node \x\a.js`: true, `node C:\PROGRA~1\a.js`: true, `node -e \\host\x`: true, `node a.js \\host\share`: true, `srv \\host\share\a.js`: true,
		`node \\host\share\a.js`: false, `C:\b\Node.EXE //host/share/a.js`: false, `node --no-warnings \\?\C:\x\a.js`: false, `node \\.\C:\x\a.js`: false, `node \??\C:\x\a.js`: false, `node C:\x\a.js:s`: false, `node C:\x\nul`: false,
	} {
		var e *CommandError
		if _, err := FindProgram(*h, strings.Fields(line)...); (err == nil) != starts || err != nil && (!errors.As(err, &e) || !e.Refused) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestEnvironmentOfWindows: a server gets the minimal variables, those of its rules, and directories of its own;
// names have no case.
func TestEnvironmentOfWindows(t *testing.T) {
	files := map[string]string{`C:\b\srv.exe`: ""}
	text := func(p *policy.Policy) (env, withheld string) {
		out, err := fill(t, p, files)
		testkit.Must(t, err)
		for _, v := range out.Env {
			if !strings.HasPrefix(v.Name, "HOME") || v.Name == "HOME" {
				env += v.Name + "=" + strings.ReplaceAll(v.Value, out.Home, "~") + " "
			}
		}
		return env, strings.Join(out.Withheld, " ")
	}
	const own = `APPDATA=~\AppData\Roaming HOME=~ LANG=de LOCALAPPDATA=~\AppData\Local `
	const rest = `Path=C:\b;C:\node SystemRoot=C:\Windows Temp=C:\t USERPROFILE=~ `
	env, withheld := text(&policy.Policy{Server: "s", Command: "srv"})
	if env != own+rest || withheld != "AWS_KEY NUMBER_OF_pets Node_Options Notes_Token" {
		t.Errorf("%s\n%s", env, withheld)
	}
	env, withheld = text(&policy.Policy{Server: "s", Command: "srv", Env: []policy.EnvRule{{Name: "NOTES_TOKEN", Read: true}, {Name: "LANG"}}})
	if env != strings.Replace(own, "LANG=de ", "", 1)+"Notes_Token=geheim "+rest || withheld != "AWS_KEY LANG NUMBER_OF_pets Node_Options" {
		t.Errorf("with rules: %s\n%s", env, withheld)
	}
	// A wider rule neither passes a name on that another rule refuses, nor one that loads code, in any spelling.
	env, withheld = text(&policy.Policy{Server: "s", Command: "srv", Env: []policy.EnvRule{{Name: "n*", Read: true}, {Name: "NOTES_token"}}})
	if env != own+"NUMBER_OF_pets=2 "+rest || withheld != "AWS_KEY Node_Options Notes_Token" {
		t.Errorf("with a wide rule: %s\n%s", env, withheld)
	}
	if env, _ = text(&policy.Policy{Server: "s", Command: "srv", HomeReal: true}); strings.Contains(env, "USERPROFILE") {
		t.Errorf("the user's own HOME: %s", env)
	}
}

func TestRulesOfWindows(t *testing.T) {
	for p, refused := range map[string]bool{"src": false, "~/notes": false, `C:\x`: false, `\\m\s`: true, `C:\x:s`: true, "a:s": true, `C:\NUL`: true,
		"/etc/ssl": false, "..": false, ".": false, "~/a b/.c": false, `a\b`: false, "//m/s": true, `/\m\s`: true, `\x`: true, `\\?\C:\x`: true, `\\.\pipe\x`: true, `\??\C:\x`: true, "src/NUL": true, "con.txt": true, `a\COM1`: true, "~/aux": true,
		"a./b": true, "a ": true, "PROGRA~1/x": true, "~/DOCUME~1": true, "C:x": true, "a*": true, `%USERPROFILE%\x`: true, "%TEMP%": true, "100%": false, "%a/b%": false, "/a/LPT¹": true, "x::$DATA": true} {
		if err := checkCoarseRule(policy.FsRule{Path: p}); (err != nil) != refused {
			t.Errorf("%s: %v", p, err)
		}
	}
}
