package doctorcmd

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAskShell tests that PATH is what the files of a login shell make of it, and that they do nothing
// else: they write nothing, and what they start ends.
func TestAskShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	if err := session.TryJail(confine.Launcher{}); err != nil {
		testkit.Skip(t, "userns", "%v", err)
	}
	for name, c := range map[string]struct {
		files   map[string]string
		flags   string
		want    []string // directories that PATH has; "-" before one that it lacks
		unknown string
	}{
		"profile":             {map[string]string{".profile": `export PATH="$HOME/a:$PATH"`}, "-lic", []string{"HOME/a", "/usr/bin"}, ""},
		"bash_profile hides":  {map[string]string{".profile": `PATH="$HOME/a:$PATH"`, ".bash_profile": `PATH="$HOME/b:$PATH"`}, "-lic", []string{"HOME/b", "-HOME/a"}, ""},
		"for a terminal only": {map[string]string{".profile": `. ~/.bashrc`, ".bashrc": "case $- in *i*) ;; *) return;; esac\nPATH=$HOME/a:$PATH"}, "-lic", []string{"HOME/a"}, ""},
		"not the desktop":     {map[string]string{".profile": `. ~/.bashrc`, ".bashrc": "case $- in *i*) ;; *) return;; esac\nPATH=$HOME/a:$PATH"}, "-lc", []string{"-HOME/a", "/usr/bin"}, ""},
		"a program says it":   {map[string]string{".profile": `eval "$($HOME/tool env)"`, "tool": "#!/bin/sh\necho 'PATH=/from/tool:$PATH'"}, "-lic", []string{"/from/tool"}, ""},
		"it writes":           {map[string]string{".profile": "echo x >$HOME/written\nPATH=$HOME/a:$PATH"}, "-lic", []string{"HOME/a"}, ""},
		"it talks":            {map[string]string{".profile": "echo PATH=/wrong; PATH=$HOME/a:$PATH"}, "-lic", []string{"HOME/a", "-/wrong"}, ""},
		"it leaves a process": {map[string]string{".profile": "sleep 1000 & PATH=$HOME/a:$PATH"}, "-lic", []string{"HOME/a"}, ""},
		"it becomes another":  {map[string]string{".profile": "exec true"}, "-lic", nil, "did not say its PATH in a jail"},
		"it waits":            {map[string]string{".profile": "sleep 1000"}, "-lic", nil, "its files wait for something"},
	} {
		t.Run(name, func(t *testing.T) {
			i, dir := newInstallation(t)
			for file, content := range c.files {
				testkit.Must(t, os.WriteFile(dir+"/home/"+file, []byte(content+"\n"), 0o755))
			}
			path, err := askShell(t.Context(), i.host, bash, c.flags)
			if c.unknown != "" {
				if err == nil || !strings.Contains(err.Error(), c.unknown) {
					t.Errorf("%q, %v, want the error %q", path, err, c.unknown)
				}
				return
			}
			for _, want := range c.want {
				want, lacks := strings.CutPrefix(strings.ReplaceAll(want, "HOME", dir+"/home"), "-")
				if err != nil || slices.Contains(path, want) == lacks {
					t.Errorf("PATH is %q, %v, want %s: %v", path, err, want, !lacks)
				}
			}
			if _, err := os.Lstat(dir + "/home/written"); err == nil {
				t.Error("the shell wrote in HOME")
			}
		})
	}
}

// TestAskLoginShell tests that a desktop gets what a terminal gets only where the files give it to both.
func TestAskLoginShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	if err := session.TryJail(confine.Launcher{}); err != nil {
		testkit.Skip(t, "userns", "%v", err)
	}
	i, dir := newInstallation(t)
	testkit.WriteFile(t, dir+"/home/.profile", "PATH=$HOME/both:$PATH\n. ~/.bashrc\n")
	testkit.WriteFile(t, dir+"/home/.bashrc", "case $- in *i*) PATH=$HOME/terminal:$PATH;; esac\n")
	read := i.host.ReadHead
	i.host.ReadHead = func(path string, n int) ([]byte, error) {
		if path == "/etc/passwd" {
			return fmt.Appendf(nil, "me:x:%d:0::/:%s\n", i.host.UID, bash), nil
		}
		return read(path, n)
	}
	l := askLoginShell(t.Context(), i.host)
	for _, c := range []struct {
		of                 []string
		both, terminalOnly bool
	}{{l.Terminal, true, true}, {l.Desktop, true, false}} {
		if slices.Contains(c.of, dir+"/home/both") != c.both || slices.Contains(c.of, dir+"/home/terminal") != c.terminalOnly {
			t.Errorf("%+v", l)
		}
	}
}
