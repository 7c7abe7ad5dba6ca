package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// withoutNamespacesMain executes its arguments where user namespaces are refused, as in a container.
func withoutNamespacesMain() {
	err := testkit.ExecWithoutNamespaces(os.Args[1:])
	os.Stderr.WriteString("without-namespaces: " + err.Error() + "\n")
	os.Exit(1)
}

// filterThread installs a seccomp filter on the calling thread and on what it starts.
func filterThread(instructions []bpf.Instruction) error {
	prog, err := bpf.Assemble(instructions)
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(prog))
	for i, ins := range prog {
		filter[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return errno
	}
	runtime.KeepAlive(filter)
	return nil
}

// withoutUserns makes a command of this world run where user namespaces are refused.
func withoutUserns(cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append([]string{withoutNamespaces, cmd.Path}, cmd.Args[1:]...)
	if self, err := filepath.Abs(os.Args[0]); err == nil {
		cmd.Path = self
	}
	return cmd
}

// waiveNamespaces are the flags that the refusal message proposes.
var waiveNamespaces = []string{"--waive", "fs", "--waive", "process", "--waive", "limits"}

// TestWithoutNamespacesRefusal tests that the message names the cause, both ways to
// proceed, and everything that would not be enforced. The flags in it work.
func TestWithoutNamespacesRefusal(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	s := start(t, withoutUserns(w.jail("--", "sh", "-c", "touch started")))
	m := s.call("initialize", map[string]any{})
	s.close()
	told := string(m.Error) + s.stderr.String()
	for _, want := range []string{
		"user namespaces are refused: a seccomp filter around this process refuses it",
		"--security-opt",
		strings.Join(waiveNamespaces, " "),
		"fs: what is not granted is hidden",
		"process: no process survives",
		"limits: processes = 512",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("nothing of %q in:\n%s\n%s", want, m.Error, &s.stderr)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.work, "started")); err == nil {
		t.Fatal("it was started")
	}
	line := regexp.MustCompile(`\((--waive [a-z -]+)\)`).FindStringSubmatch(told)
	if line == nil {
		t.Fatal("no line to waive")
	}
	s = start(t, withoutUserns(w.jail(append(strings.Fields(line[1]), "--", "sh", "-c", "touch started; read line")...)))
	testkit.Eventually(t, "the server has started", func() bool { return pathExists(filepath.Join(w.work, "started")) })
	s.close()
	if !strings.Contains(s.stderr.String(), "warning: this server runs without namespaces") {
		t.Errorf("stderr: %s", &s.stderr)
	}
}

// TestWithoutNamespacesFilesystem plays a session with a real server, without a jail and
// in a jail without namespaces. The results and the files are the same.
func TestWithoutNamespacesFilesystem(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	at := func(name string) string { return filepath.Join(w.work, name) }
	outside := filepath.Join(w.base, "outside.txt")
	script := []step{
		{"list_allowed_directories", nil},
		{"create_directory", map[string]any{"path": at("new/deep")}},
		{"write_file", map[string]any{"path": at("new/a.txt"), "content": "one\ntwo\n"}},
		{"write_file", map[string]any{"path": at("old.txt"), "content": "over it\n"}},
		{"edit_file", map[string]any{"path": at("new/a.txt"), "edits": []map[string]string{{"oldText": "two", "newText": "2"}}}},
		{"read_text_file", map[string]any{"path": at("new/a.txt")}},
		{"move_file", map[string]any{"source": at("new/a.txt"), "destination": at("new/deep/moved.txt")}},
		{"directory_tree", map[string]any{"path": at("new")}},
		{"search_files", map[string]any{"path": w.work, "pattern": "**/*.txt"}},
		{"get_file_info", map[string]any{"path": at("absent")}},
		{"read_text_file", map[string]any{"path": outside}},
	}
	perform := func(jailed bool) (results []toolResult, files map[string]string) {
		must(t, os.RemoveAll(w.work))
		w.plant(t, w.base, map[string]string{"outside.txt": "out there"})
		w.plant(t, w.work, map[string]string{"old.txt": "old\n"})
		cmd := w.plain("node", server(filesystem), w.work)
		if jailed {
			cmd = withoutUserns(w.jail(append(waiveNamespaces, "--", "node", server(filesystem), w.work)...))
		}
		s := open(t, cmd, nil)
		results = callTools(s, script)
		if status := s.close(); status != 0 {
			t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
		}
		if jailed && !strings.Contains(s.stderr.String(), "runs without namespaces") {
			t.Errorf("stderr: %s", &s.stderr)
		}
		return results, snapshot(t, w.work)
	}
	plain, plainFiles := perform(false)
	jailed, jailedFiles := perform(true)
	compareResults(t, script, plain, jailed)
	if !maps.Equal(plainFiles, jailedFiles) {
		t.Errorf("the directories differ\n plain  %q\n jailed %q", plainFiles, jailedFiles)
	}
}

// TestWithoutNamespacesEscapes tests that a server with known vulnerabilities does not
// escape.
func TestWithoutNamespacesEscapes(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.base, map[string]string{"secret.txt": "out there", "work_evil/secret.txt": "out there"})
	must(t, os.Symlink(filepath.Join(w.base, "secret.txt"), filepath.Join(w.work, "link")))
	for i, path := range []string{w.work + "_evil/secret.txt", filepath.Join(w.work, "link")} {
		read := func(cmd *exec.Cmd) toolResult {
			s := open(t, cmd, nil)
			defer s.close()
			return s.tool("read_file", map[string]any{"path": path})
		}
		if i == 0 { // the vulnerability: a prefix of a path is taken for its parent
			if plain := read(w.plain("node", server(oldFilesystem), w.work)); plain.IsError {
				t.Errorf("the control: %v", plain)
			}
		}
		if got := read(withoutUserns(w.jail(append(waiveNamespaces, "--", "node", server(oldFilesystem), w.work)...))); !got.IsError {
			t.Errorf("%s was read: %v", path, got)
		}
	}
}

// TestWithoutNamespacesPrograms tests that common runtimes work.
func TestWithoutNamespacesPrograms(t *testing.T) {
	need(t, "jail", "/usr/bin/python3")
	w := newWorld(t)
	t.Parallel()
	if out, err := w.plain("git", "init", "-q", "repo").CombinedOutput(); err != nil { // the server cannot create one
		t.Fatalf("%v: %s", err, out)
	}
	s := open(t, withoutUserns(w.jail(append(slices.Clip(waiveNamespaces), "--", "/usr/bin/python3", w.fixture(t, "exec.py"))...)), nil)
	defer s.close()
	for program, argv := range map[string][]string{
		"node":    {"node", "-e", `require("fs").writeFileSync(require("os").tmpdir() + "/x", "x"); require("child_process").execFileSync("node", ["-v"]); require("os").cpus(); new (require("worker_threads").Worker)("0", {eval: true}).on("exit", () => console.log("fine"))`},
		"python3": {"python3", "-c", `import subprocess, tempfile, concurrent.futures as c; tempfile.TemporaryFile(); subprocess.run(["true"], check=True); print(*c.ThreadPoolExecutor().map(str, ["fine"]))`},
		"git":     {"sh", "-c", `cd repo && echo x > f && git add f && git -c user.name=a -c user.email=b@c commit -qm fine && git log --format=%s`},
	} {
		t.Run(program, func(t *testing.T) {
			need(t, program)
			if out := s.mustRun(argv...); !strings.Contains(out, "fine") {
				t.Errorf("it printed %q", out)
			}
		})
	}
}

// TestWithoutNamespacesUnchanged tests that a failure which the jail does not cause is
// passed unchanged. Without namespaces refused reads are recorded; reads that every
// program does must not be.
func TestWithoutNamespacesUnchanged(t *testing.T) {
	need(t, "jail", "/usr/bin/python3")
	t.Parallel()
	w := newWorld(t)
	argv := []string{"/usr/bin/python3", w.fixture(t, "exec.py")}
	failing := map[string]any{"argv": []string{"cat", "absent"}}
	s := open(t, w.plain(argv...), nil)
	plain := s.tool("run", failing)
	s.close()
	s = open(t, withoutUserns(w.jail(append(append(waiveNamespaces[:6:6], "--"), argv...)...)), nil)
	jailed := s.tool("run", failing)
	s.close()
	if !plain.IsError || string(plain.raw) != string(jailed.raw) {
		t.Errorf("the jail makes a difference:\n plain  %s\n jailed %s", plain.raw, jailed.raw)
	}
}
