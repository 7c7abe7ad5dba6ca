package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// pupil is a server that is learned, with its home directory.
type pupil struct {
	t          *testing.T
	home, work string
	words      []string
}

const pupilID = "pupil-4k7q2m9x3vt5"

// newPupil plants files below a home directory, and the file of a server with a command line. HOME in its words is the
// home directory.
func newPupil(t *testing.T, files map[string]string, words ...string) *pupil {
	need(t, "jail")
	p := &pupil{t: t, home: filepath.Join(testkit.ShortDir(t), "home"), words: words}
	p.work = filepath.Join(p.home, "ws")
	must(t, os.MkdirAll(filepath.Join(p.home, ".config/mcp-jail/servers"), 0o700))
	must(t, os.MkdirAll(p.work, 0o755))
	for name, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(p.home, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(p.home, name), []byte(text), 0o644))
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "HOME", p.home)
	}
	list, _ := json.Marshal(words[1:])
	entry, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"pupil": map[string]any{"command": "mcp-jail", "args": append([]string{"run", "--id", pupilID, "--"}, words...)}}})
	must(t, os.WriteFile(filepath.Join(p.home, ".claude.json"), entry, 0o600))
	must(t, os.WriteFile(p.file(), fmt.Appendf(nil, "[servers.pupil]\nid = %q\ncommand = %q\narguments = %s\n", pupilID, words[0], list), 0o600))
	return p
}

func (p *pupil) file() string { return filepath.Join(p.home, ".config/mcp-jail/servers/pupil.toml") }

// command returns a command line in the workspace.
func (p *pupil) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.work, append(os.Environ(), "HOME="+p.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CACHE_HOME=", "COLUMNS=1000", "TERM=dumb")
	return cmd
}

// run runs a command line in the workspace.
func (p *pupil) run(argv ...string) (out string, status int) {
	p.t.Helper()
	cmd := p.command(argv...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// learn learns with calls, and types yes to all questions.
func (p *pupil) learn(calls ...string) string {
	p.t.Helper()
	words := append([]string{"tty", "-columns", "1000"}, slices.Repeat([]string{"-after", "[y/N]", "-type", `y\n`}, 8)...)
	words = append(words, "mcp-jail", "learn", "pupil")
	if calls != nil {
		var lines []string
		for _, c := range calls {
			tool, arguments, _ := strings.Cut(c, " ")
			lines = append(lines, fmt.Sprintf(`{"method": "tools/call", "params": {"name": %q, "arguments": %s}}`, tool, strings.ReplaceAll(arguments, "HOME", p.home)))
		}
		must(p.t, os.WriteFile(filepath.Join(p.home, "calls"), []byte(strings.Join(lines, "\n")), 0o600))
		words = append(words, "--drive", filepath.Join(p.home, "calls"))
	}
	out, _ := p.run(words...)
	return out
}

// answers reports whether an ordinary start answers calls.
func (p *pupil) answers(calls ...string) bool {
	p.t.Helper()
	s := open(p.t, p.command(append([]string{"mcp-jail", "run", "--id", pupilID, "--"}, p.words...)...), nil)
	defer s.close()
	for _, c := range calls {
		tool, text, _ := strings.Cut(c, " ")
		var arguments map[string]any
		must(p.t, json.Unmarshal([]byte(strings.ReplaceAll(text, "HOME", p.home)), &arguments))
		if s.tool(tool, arguments).IsError {
			return false
		}
	}
	return true
}

// TestLearn: what learn grants to servers makes their calls answer in an ordinary start, and without any of its rules
// one of them fails.
func TestLearn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		words []string
		calls []string
	}{
		"newcomer": {
			files: map[string]string{"notes/garden.md": "roses"},
			words: []string{"newcomer"},
			calls: []string{`list_notes {}`, `read_note {"name": "garden"}`, `add_note {"name": "z", "text": "new"}`, `add_note {"name": "garden", "text": "tulips"}`},
		},
		"victim": {
			files: map[string]string{"a/b/one.txt": "1", "c/d/two.txt": "2", "e/f/three.txt": "3"},
			words: []string{"victim"},
			calls: []string{`read {"arg": "HOME/a/b/one.txt"}`, `read {"arg": "HOME/c/d/two.txt"}`, `write {"arg": "HOME/e/f/three.txt"}`},
		},
		"what says nothing": {
			files: map[string]string{"notes/garden.md": "roses"},
			words: []string{"newcomer", "~/notes/garden.md", "?"},
			calls: []string{`open {}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPupil(t, c.files, c.words...)
			if p.answers(c.calls...) {
				t.Fatal("it needs nothing")
			}
			told := p.learn(c.calls...)
			if !p.answers(c.calls...) {
				t.Fatalf("calls fail after:\n%s", told)
			}
			f, err := config.FindServerFile(filepath.Join(p.home, ".config/mcp-jail"), pupilID)
			must(t, err)
			all := f.Server.Access.Fs
			for i, r := range all {
				f.Server.Access.Fs = slices.Delete(slices.Clone(all), i, i+1)
				must(t, os.WriteFile(p.file(), f.Encode(), 0o600))
				if p.answers(c.calls...) {
					t.Errorf("nothing needs the rule for %s of\n%s", r.Path, told)
				}
			}
		})
	}
}

// TestLearnNoKeys: learn grants a server no keys, no hidden files and no programs of this machine. The server opens them,
// lists them, and names them in its errors. The control is a file in the same folder, which learn grants.
func TestLearnNoKeys(t *testing.T) {
	t.Parallel()
	files := map[string]string{"proj/readme.txt": "hello"}
	secrets := []string{"id_rsa", "deploy.pem", "server.key", "credentials.json", ".env", ".npmrc"}
	for _, name := range secrets {
		files["proj/"+name] = "token of " + name
	}
	var all []string
	for _, name := range secrets {
		all = append(all, "HOME/proj/"+name)
	}
	all = slices.Clip(all)
	for name, c := range map[string]struct {
		words []string
		reads bool
	}{
		"the readme first":       {append([]string{"HOME/proj/readme.txt"}, all...), true},
		"a key first":            {append(all, "HOME/proj/readme.txt"), false},
		"the whole directory":    {append([]string{"HOME/proj"}, all...), true},
		"the home directory":     {append([]string{"HOME"}, all...), false},
		"what names them":        {append(all, "HOME/proj/readme.txt!"), false},
		"the directory by words": {append([]string{"HOME/proj"}, "HOME/proj!"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPupil(t, files, append([]string{"newcomer"}, c.words...)...)
			before, _ := p.run("mcp-jail", "call", "pupil", "open", "{}")
			if strings.Contains(before, "hello") || strings.Contains(before, "token of") {
				t.Fatalf("it reads files before:\n%s", before)
			}
			told := p.learn()
			after, _ := p.run("mcp-jail", "call", "pupil", "open", "{}")
			if strings.Contains(after, "token of") || strings.Contains(after, "hello") != c.reads {
				t.Errorf("it reads:\n%s\nafter:\n%s", after, told)
			}
		})
	}
}

// TestLearnNoHooks: learn grants no write of what this machine runs.
func TestLearnNoHooks(t *testing.T) {
	t.Parallel()
	for _, path := range []string{".bashrc", ".npm/x", "proj/.git/hooks/post-commit", ".config/autostart/x.desktop"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			p := newPupil(t, map[string]string{path: "", "proj/.git/config": ""}, "victim")
			told := p.learn(`write {"arg": "HOME/` + path + `"}`)
			if text, err := os.ReadFile(filepath.Join(p.home, path)); err != nil || len(text) > 0 || p.answers(`write {"arg": "HOME/`+path+`"}`) {
				t.Errorf("it is written after:\n%s", told)
			}
		})
	}
}

// TestGrantAtOnce: of grants at the same time, some of which are killed, each that ended well is in the file of the
// server, which can always be read.
func TestGrantAtOnce(t *testing.T) {
	home := filepath.Join(testkit.ShortDir(t), "home")
	dir := filepath.Join(home, ".config/mcp-jail")
	must(t, os.MkdirAll(filepath.Join(dir, config.ServersDir), 0o700))
	const id = "notes-4k7q2m9x3vt5"
	must(t, os.WriteFile(filepath.Join(dir, config.ServersDir, "notes.toml"), []byte("[servers.notes]\nid = \""+id+"\"\ncommand = \"/bin/true\"\n"), 0o600))
	var mu sync.Mutex
	var granted []string
	var all sync.WaitGroup
	for i := range testkit.Rounds(8, 60) {
		all.Go(func() {
			path := fmt.Sprintf("/usr/share/%d", i)
			cmd := exec.Command("mcp-jail", "grant", "notes", "--read", path, "--yes")
			cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			if i%2 == 1 {
				time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
				cmd.Process.Kill()
			}
			switch err := cmd.Wait(); {
			case err == nil:
				mu.Lock()
				granted = append(granted, path)
				mu.Unlock()
			case i%2 == 0:
				t.Errorf("%v\n%s", err, &out)
			}
			if _, err := config.FindServerFile(dir, id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f, err := config.FindServerFile(dir, id)
	must(t, err)
	for _, path := range granted {
		if !slices.ContainsFunc(f.Server.Access.Fs, func(r policy.FsRule) bool { return r.Path == path }) {
			t.Errorf("%s is lost:\n%s", path, f.Encode())
		}
	}
}
