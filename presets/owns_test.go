package presets

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestOwnsRealPaths: a file is the project's under each of its paths: through a link above the
// project, a link into it, a link that only passes through it, and the directories of processes.
func TestOwnsRealPaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths with a letter of a drive are never the project's")
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
		t.Skip("paths with a letter of a drive are never the project's")
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
