package presets

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestOwnsRealPaths: a file is the project's under each of its paths: through a link above the
// project, a link into it, a link that only passes through it, and the directories of processes.
func TestOwnsRealPaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the rules of Unix: see TestOwnsOnWindows")
	}
	root := t.TempDir()
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"work/project/sub", "other"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link("work", "alias")
	link(filepath.Join(root, "work", "project"), "into")
	link("../../other", "work/project/out")
	link("alias/project/out", "passes")
	link("loop", "loop")
	for _, project := range []string{"work/project", "alias/project", "into"} {
		s := Start{Project: filepath.Join(root, project), Through: hostfs.Through}
		for word, want := range map[string]bool{
			"work/project/server":         true,
			"alias/project/server":        true,
			"alias/project/missing/x":     true,
			"into/server":                 true,
			"into/out/server":             true,
			"passes/server":               true,
			"other/../alias/project/x":    true,
			"missing/../alias/project/x":  true,
			"into/../project/server":      true,
			"loop/server":                 true,
			"other/server":                false,
			"alias/projects/server":       false,
			"work/other/server":           false,
			"alias/project/../other/file": true, // it passes through the project
		} {
			if got := s.owns(root + "/" + word); got != want {
				t.Errorf("project %s: owns(%s) = %v, want %v", project, word, got, want)
			}
		}
	}
	if !(Start{Project: root}).owns("/usr/bin/npx") {
		t.Error("a path of which nothing is known is not the project's")
	}
	for word, want := range map[string]bool{
		"/proc/self/cwd/npx": true, "/proc/self/root/usr/bin/npx": true, "/dev/fd/../cwd/npx": true, "//proc/1/cwd/npx": true,
		"/usr/bin/../../proc/self/cwd/npx": true, "/usr/bin/npx": false, "npx": false, "/process/npx": false, "./npx": true,
		"a:/npx": true, `\a/npx`: true, "~/npx": false,
	} {
		for _, project := range []string{"", root} {
			if got := (Start{Project: project, Through: hostfs.Through}).owns(word); got != want {
				t.Errorf("project %q: owns(%s) = %v, want %v", project, word, got, want)
			}
		}
	}
}

// TestAliasOfTheProject: lines whose launcher, wrapper, script or program is the project's by
// another path have code of their own, and the program has no preset by its name.
func TestAliasOfTheProject(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the rules of Unix: see TestOwnsOnWindows")
	}
	root := t.TempDir()
	project, alias := filepath.Join(root, "work"), filepath.Join(root, "alias")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("work", alias); err != nil {
		t.Fatal(err)
	}
	pkg := "@modelcontextprotocol/server-github"
	for _, dir := range []string{project, alias, "/proc/self/cwd", "/proc/self/root" + project, "/dev/fd/../cwd"} {
		for _, argv := range [][]string{
			{dir + "/npx", "-y", pkg}, {dir + "/env", "npx", "-y", pkg}, {dir + "/sh", "-c", "npx -y " + pkg},
			{"node", dir + "/npx-cli.js", "-y", pkg}, {dir + "/github-mcp-server", "stdio"},
		} {
			s := Start{Argv: argv, Project: project, Through: hostfs.Through}
			if len(s.Brings()) == 0 {
				t.Errorf("%q has no code of its own", argv)
			}
		}
		if p, ok := Named(Start{Argv: []string{dir + "/github-mcp-server"}, Project: project, Through: hostfs.Through}); ok {
			t.Errorf("%s/github-mcp-server has the preset %s", dir, p.Name)
		}
	}
	for _, argv := range [][]string{{"/usr/bin/npx", "-y", pkg}, {"/opt/github-mcp-server", "stdio"}} {
		s := Start{Argv: argv, Project: project, Through: hostfs.Through}
		if what := s.Brings(); len(what) > 0 {
			t.Errorf("%q has code of its own: %q", argv, what)
		}
		if _, ok := Named(s); !ok {
			t.Errorf("%q has no preset", argv)
		}
	}
}

// TestOwnsOnWindows: a word with a drive is the project's if it lies there, in every spelling, or a link leads
// there. What another machine has, and what depends on the working directory of a drive, may be.
func TestOwnsOnWindows(t *testing.T) {
	linked := func(path, dir string) bool { return strings.EqualFold(path, `C:\links\in\x.js`) }
	for word, want := range map[string]bool{
		"npx": false, "npx.cmd": false, `~\x.js`: false, "~/x.js": false, `.\x.js`: true, "./x.js": true, `sub\x.js`: true, "%APPDATA%/x.js": true,
		`C:\proj\x.js`: true, `c:/PROJ/x.js`: true, "C:/proj/x.js": true, `C:\proj.\x.js`: true, `C:\tools\..\proj\x.js`: true, `\proj\x.js`: true, "/proj/x.js": true,
		`C:\tools\x.js`: false, "C:/tools/x.js": false, `\tools\x.js`: false, `C:\projects\x.js`: false, `C:\proj\..\tools\x.js`: false, `C:\PROGRA~1\nodejs\node.exe`: false,
		`D:\proj\x.js`: false, `C:\links\in\x.js`: true, `/links/in/x.js`: true, `C:x.js`: true, "C:": true, `D:proj\x.js`: true, `C:\tools\x.js:s`: true, "x.js:s": true,
		`\\host\share\x.js`: true, "//host/share/x.js": true, `\\?\C:\tools\x.js`: true, `\\.\pipe\x`: true, `\??\C:\tools\x.js`: true,
	} {
		for _, s := range []Start{{Project: `C:\proj`}, {Project: `c:/Proj/`}, {Brought: []string{`C:\proj`}}, {Project: `C:\else`, Brought: []string{`C:\proj`}}} {
			s.system, s.Through = "windows", linked
			if got := s.owns(word); got != want {
				t.Errorf("%q of %q and %q: %t, want %t", word, s.Project, s.Brought, got, want)
			}
		}
	}
	for word, want := range map[string]bool{`C:\tools\x.js`: false, `C:\proj\x.js`: false, `\proj\x.js`: false, `.\x.js`: true, `\\host\share\x.js`: true} {
		if got := (Start{system: "windows"}).owns(word); got != want {
			t.Errorf("%q without a project: %t, want %t", word, got, want)
		}
	}
	if !(Start{system: "windows", Project: `C:\proj`}).owns(`C:\tools\x.js`) {
		t.Error("a path of which nothing is known is not the project's")
	}
}

// TestBringsOnWindows: a program or script of the project is code of its own, and one of the user's is not.
func TestBringsOnWindows(t *testing.T) {
	pkg := "@modelcontextprotocol/server-github"
	for line, want := range map[string]bool{
		`node C:\proj\x.js`: true, `node C:/proj/x.js`: true, `node C:\tools\x.js`: false, "node C:/tools/x.js": false, `C:\proj\npx -y ` + pkg: true,
		`node \\host\share\x.js`: true, `C:\proj\github-mcp-server.exe stdio`: true, `C:\tools\github-mcp-server.exe stdio`: false, "npx -y " + pkg: false,
		`env -C C:\proj\sub npx -y ` + pkg: false, `env -C sub npx -y ` + pkg: false, `env -C sub\..\..\tools npx -y ` + pkg: true, `env -C C:\tools npx -y ` + pkg: true,
	} {
		s := Start{Argv: strings.Fields(line), Project: `C:\proj`, Through: func(string, string) bool { return false }, system: "windows"}
		if what := s.Brings(); len(what) > 0 != want {
			t.Errorf("%s: it brings %q", line, what)
		}
		if _, ok := Named(s); ok != (strings.HasSuffix(line, pkg) || line == `C:\tools\github-mcp-server.exe stdio`) {
			t.Errorf("%s: it has a preset by its name: %t", line, ok)
		}
	}
}
