//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// world is the part of the file system that one test plays in. Its path is in
// the command line or in the environment of every process of the test.
type world struct {
	base string // everything
	home string // the user's
	work string // the workspace
	env  []string

	program string              // mcp-jail, where the usual one is out of reach
	as      *syscall.Credential // nil: the caller

	around func(*exec.Cmd) *exec.Cmd // what mcp-jail runs in; nil: nothing
}

func newWorld(t *testing.T) *world { return newWorldIn(t, "/var/tmp") }

func newWorldIn(t *testing.T, parent string) *world {
	t.Helper()
	need(t, "jail")
	base, err := os.MkdirTemp(parent, "mcp-jail-real-")
	must(t, err)
	must(t, os.Chmod(base, 0o755))
	w := &world{base: base, home: filepath.Join(base, "home"), work: filepath.Join(base, "work")}
	w.env = []string{
		"PATH=" + userPath(), "HOME=" + w.home, "USER=tester", "LANG=C.UTF-8", "PLANTED_SECRET=hunter2",
	}
	must(t, errors.Join(os.Mkdir(w.home, 0o755), os.Mkdir(w.work, 0o755)))
	w.plant(t, w.home, map[string]string{".ssh/id_ed25519": "a private key", "notes.txt": "at home"})
	t.Cleanup(func() {
		w.noneLeft(t)
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	return w
}

// userPath is PATH without the programs of the scripts, such as a tty of theirs.
func userPath() string {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return os.TempDir() != "/tmp" && strings.HasPrefix(dir, os.TempDir()+"/")
	})
	return strings.Join(dirs, ":")
}

// plant writes files below dir. A name that ends in a slash is a directory.
func (w *world) plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(file, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
}

// fixture copies a server of testdata/real into the world.
func (w *world) fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "real", name))
	must(t, err)
	w.plant(t, w.base, map[string]string{"server/" + name: string(b)})
	return filepath.Join(w.base, "server", name)
}

// processes are those of this world that are alive.
func (w *world) processes() (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if len(argv) > 0 && (bytes.Contains(argv, []byte(w.base+"/")) || bytes.Contains(env, []byte(w.base+"/"))) {
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(argv), "\x00", " "))
		}
	}
	return found
}

// noneLeft fails when a process of this world outlives its session. The kernel
// needs a moment to end a jail.
func (w *world) noneLeft(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = w.processes(); len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	for _, p := range left {
		pid, _, _ := strings.Cut(p, " ")
		if n, err := strconv.Atoi(pid); err == nil {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// jail is the command  mcp-jail run ARG...
func (w *world) jail(args ...string) *exec.Cmd { return w.mcpJail(append([]string{"run"}, args...)...) }

// mcpJail is the command  mcp-jail ARG...
func (w *world) mcpJail(args ...string) *exec.Cmd {
	program, env := w.program, w.env
	if program == "" {
		program = built()
	}
	if program == "" {
		program, env = os.Args[0], append(slices.Clip(env), runAsEnv+"=mcp-jail")
		if abs, err := filepath.Abs(program); err == nil {
			program = abs
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.work, env
	if w.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
	}
	if w.around != nil {
		return w.around(cmd)
	}
	return cmd
}

// plain is a command that nothing confines.
func (w *world) plain(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.env
	if w.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
	}
	return cmd
}

// output runs a command of mcp-jail that ends by itself.
func (w *world) output(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.mcpJail(args...).Output()
	if err != nil {
		t.Fatalf("mcp-jail %s: %v: %s", strings.Join(args, " "), err, stderrOf(err))
	}
	return string(out)
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}
