//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
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

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// world is the home directory, workspace and environment of one test. Every process of
// the test has the path of the world in its command line or environment.
type world struct {
	base string // has all files of the test
	home string // the home directory
	work string // the workspace
	env  []string

	program string              // mcp-jail; "" for the usual one
	as      *syscall.Credential // the user; nil for the caller

	ports map[string]string // see serve

	around func(*exec.Cmd) *exec.Cmd // wraps commands; may be nil
}

func newWorld(t *testing.T) *world { return newWorldIn(t, testkit.VarTmp()) }

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

// userPath returns PATH without the directory of the script programs.
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

// processes returns the living processes of this world.
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

// noneLeft tests that no process of this world outlives its session. The kernel ends a
// jail asynchronously.
func (w *world) noneLeft(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(testkit.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = w.processes(); len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	w.kill()
}

// mounts returns the mountinfo files of processes that have something of this world
// mounted.
func (w *world) mounts() (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	for _, file := range all {
		if b, _ := os.ReadFile(file); bytes.Contains(b, []byte(w.base+"/")) {
			found = append(found, file)
		}
	}
	return found
}

// kill ends all processes of this world. A shell may start another one while it is killed.
func (w *world) kill() {
	end := time.Now().Add(testkit.Patience)
	for left := w.processes(); len(left) > 0 && time.Now().Before(end); left = w.processes() {
		for _, p := range left {
			pid, _, _ := strings.Cut(p, " ")
			if n, err := strconv.Atoi(pid); err == nil {
				syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// remains returns the processes and mounts of this world.
func (w *world) remains() []string { return append(w.processes(), w.mounts()...) }

// jail returns the command mcp-jail run ARG...
func (w *world) jail(args ...string) *exec.Cmd { return w.mcpJail(append([]string{"run"}, args...)...) }

// mcpJail returns the command mcp-jail ARG... It prints whole lines: where it would break one depends on the length
// of the paths in it.
func (w *world) mcpJail(args ...string) *exec.Cmd {
	cmd := exec.Command(cmp.Or(w.program, cmdline.Main), args...)
	cmd.Dir, cmd.Env = w.work, append(slices.Clip(w.env), "COLUMNS=10000")
	if w.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
	}
	if w.around != nil {
		return w.around(cmd)
	}
	return cmd
}

// plain returns a command without a jail.
func (w *world) plain(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.env
	if w.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
	}
	return cmd
}

// output runs a subcommand of mcp-jail and returns its standard output.
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

// asOrdinaryUser makes the commands of the world run as an ordinary user, who owns its
// files.
func (w *world) asOrdinaryUser(t *testing.T) {
	t.Helper()
	const nobodyElse = 61235 // no account has this id, and no other test uses it
	w.as = &syscall.Credential{Uid: nobodyElse, Gid: nobodyElse}
	w.program = w.copySelf(t, cmdline.Main)
	w.copySelf(t, cmdline.Companion)
	must(t, filepath.WalkDir(w.base, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, nobodyElse, nobodyElse)
		}
		return err
	}))
}

// copySelf copies the test binary into the world under the name of one of its programs. A link is enough unless the
// world gets another owner.
func (w *world) copySelf(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(w.base, "bin", name)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	if os.Getuid() != 0 {
		if err := os.Link(installed(t, cmdline.Main), file); err == nil || errors.Is(err, os.ErrExist) {
			return file
		}
	}
	return w.copyProgram(t, "/proc/self/exe", name)
}

// copyProgram copies a program into the world under a name.
func (w *world) copyProgram(t *testing.T, from, name string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	file := filepath.Join(w.base, "bin", name)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, testkit.WriteProgram(file, b))
	return file
}

// copyPackage copies an installed package and the packages that it depends on to the
// directory modules, so that an ordinary user may write to them.
func (w *world) copyPackage(t *testing.T, modules, name string) {
	t.Helper()
	to := filepath.Join(modules, name)
	if pathExists(to) {
		return
	}
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if out, err := w.plain("cp", "-R", module(name), to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var manifest struct{ Dependencies map[string]string }
	must(t, json.Unmarshal([]byte(testkit.ReadFile(t, filepath.Join(to, "package.json"))), &manifest))
	for dependency := range manifest.Dependencies {
		if pathExists(module(dependency)) { // otherwise it is inside the package
			w.copyPackage(t, modules, dependency)
		}
	}
}
