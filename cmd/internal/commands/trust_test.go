package commands

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestBeware: what trust says of the rules of a project's file, and directly above the question.
func TestBeware(t *testing.T) {
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	p := &policy.Policy{
		Fs:  []policy.FsRule{{Path: ".", Read: true}, {Path: "~/.npm", Create: true}, {Path: "~/.bashrc", Update: true}, {Path: "~/a/b/c", Read: true}, {Path: "~/.ssh", Read: true}, {Path: "/", Where: "a denial"}},
		Net: []policy.NetRule{{Host: "10.0.0.1", Allow: true}, {Host: "a.example", Allow: true}, {Host: "10.0.0.2"}},
		Env: []policy.EnvRule{{Name: "A_TOKEN", Read: true}, {Name: "LANGUAGE_OF_IT", Read: true}, {Name: "HIDDEN"}},
	}
	s := serverChange{ServerChange: config.ServerChange{Server: "helper"}, proposals: proposalsOf(p, host, nil)}
	var got []string
	for _, text := range s.because(change.Ask, host) {
		got = append(got, strings.Fields(text)[0])
	}
	if want := "~/.npm 10.0.0.1 A_TOKEN LANGUAGE_OF_IT"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	lines := strings.Split(strings.TrimSpace(beware([]serverChange{s}, host)), "\n")
	for i, want := range []string{"careful: helper: ~/.bashrc decides ", "careful: helper: ~/.ssh is a sensitive file ", "careful: helper could read ~/.ssh and send it to 10.0.0.1, a.example"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("%q, want %s", lines, want)
		}
	}
	s.proposals = proposalsOf(&policy.Policy{Fs: p.Fs[:5]}, host, nil)
	if text := beware([]serverChange{s}, host); strings.Contains(text, "send it") || !strings.Contains(text, "~/.ssh") {
		t.Errorf("without a host: %s", text)
	}
	s.proposals = proposalsOf(&policy.Policy{Env: []policy.EnvRule{{Name: "KEY", Read: true, File: "~/.ssh/id_rsa"}, {Name: "B", File: "~/.aws/credentials"}}}, host, nil)
	if text := beware([]serverChange{s}, host); !strings.Contains(text, "~/.ssh/id_rsa is a sensitive file") || strings.Contains(text, "~/.aws") {
		t.Errorf("a variable from a file: %s", text)
	}
}

// TestBewareOfOthers: a project's server that may write what another server is started from, or that has a wide workspace, is
// told. A rule to read is not.
func TestBewareOfOthers(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	host.Home, host.Dir = home, filepath.Join(home, "elsewhere")
	program := filepath.Join(home, "tools/other/run")
	testkit.Must(t, os.MkdirAll(filepath.Dir(program), 0o700))
	testkit.WriteFile(t, program, "")
	others := func() []policy.Started {
		return []policy.Started{{Key: "other", Name: "other", Program: program, Parts: []policy.Part{{Path: program}}}}
	}
	const told = "the server other is started from "
	for name, c := range map[string]struct {
		p    policy.Policy
		want string
	}{
		"a rule to write":           {policy.Policy{Fs: []policy.FsRule{{Path: "~/tools/other", Update: true}}}, told},
		"a relative one":            {policy.Policy{Workspace: "~/tools", Fs: []policy.FsRule{{Path: "other/run", Update: true}}}, told},
		"a workspace":               {policy.Policy{Workspace: "~/tools/other"}, told},
		"the home as the workspace": {policy.Policy{Workspace: "~"}, "~ is a whole home directory"},
		"a rule to read":            {policy.Policy{Fs: []policy.FsRule{{Path: "~/tools/other", Read: true}}}, ""},
	} {
		s := serverChange{ServerChange: config.ServerChange{Server: "helper"}, proposals: proposalsOf(&c.p, host, others)}
		if got := beware([]serverChange{s}, host); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestSensitiveOnce: trust says once that a rule names a sensitive path, above the question.
func TestSensitiveOnce(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	file := filepath.Join(home, "project", config.ProjectFile)
	testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o700), os.Mkdir(filepath.Join(home, ".ssh"), 0o700))
	t.Chdir(filepath.Dir(file))
	testkit.WriteFile(t, file, "version = 1\n[servers.helper]\ncommand = \"/bin/sh\"\n[[servers.helper.access.fs]]\npath = \"~/.ssh\"\nread = true\n")
	out, err := os.Create(filepath.Join(home, "out"))
	testkit.Must(t, err)
	defer out.Close()
	testkit.Must(t, (&trustCmd{yes: true}).accept(terminal.New(out, out, out), file))
	text := testkit.ReadFile(t, out.Name())
	if strings.Count(text, "sensitive file") != 1 || !strings.Contains(text, "careful: helper: ~/.ssh is a sensitive file") {
		t.Error(text)
	}
}

// TestElsewhere: no advice of package confine, on any system, has doctor send its reader to doctor. Another
// output of it, that of --apparmor, is meant as it is.
func TestElsewhere(t *testing.T) {
	reworded := 0
	err := filepath.WalkDir("../../../confine", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || text == "mcp-jail doctor" || !strings.Contains(text, "mcp-jail doctor") { // a name to replace
				return true
			}
			if got := elsewhere.Replace(text); strings.Contains(strings.ReplaceAll(got, "mcp-jail doctor --apparmor", ""), "mcp-jail doctor") {
				t.Errorf("%s: doctor would print %q", path, got)
			} else if got != text {
				reworded++
			}
			return true
		})
		return nil
	})
	if err != nil || reworded < 6 {
		t.Errorf("%d texts, %v", reworded, err)
	}
}
