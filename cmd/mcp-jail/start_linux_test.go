package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestCallsOfStart: what a start asks of the host does not depend on how many servers have files, or ran before. Each
// of these may write a directory of its own: the control is that a link there is not followed.
func TestCallsOfStart(t *testing.T) {
	const id = "notes-4k7q2m9x3vt5"
	lines := map[string][]string{"by hand": {"run", "--", "/bin/true"}, "with an id": {"run", "--id", id, "--", "/bin/true"}}
	counts := map[string][]int{}
	for _, others := range []int{0, 20} {
		w := newWorld(t)
		files := map[string]string{"notes.toml": fmt.Sprintf("[servers.notes]\nid = %q\ncommand = \"/bin/true\"\n", id)}
		for i := range others {
			name := fmt.Sprintf("other-%d", i)
			files[name+".toml"] = fmt.Sprintf("[servers.%s]\nid = \"%s-4k7q2m9x3vt5\"\ncommand = \"/bin/true\"\naccess.fs = [{ path = \"~/of/%d\", write = true }]\n", name, name, i)
			must(t, records.NoteWrites(hostfs.Host{StateDir: filepath.Join(w.home, ".local/state/mcp-jail")}, name, "", false,
				[]policy.WriterRules{{Name: "the server " + name, Rules: map[string]policy.WriteGrant{fmt.Sprintf("%s/ran/%d", w.base, i): {Rights: policy.Write, Rule: "--write"}}}}, nil))
		}
		w.plant(t, filepath.Join(w.home, ".config/mcp-jail/servers"), files)
		must(t, exec.Command("chmod", "-R", "go-rwx", filepath.Join(w.home, ".config")).Run())
		for name, args := range lines {
			for range 2 { // the first start makes the HOME
				n, err := callsOf(w.mcpJail(args...))
				must(t, err)
				if n < 50 {
					t.Fatalf("%s: %d calls were seen", name, n)
				}
				counts[name] = append(counts[name], n)
			}
		}
		for dir, writer := range map[string]string{w.home + "/of/7": "other-7", w.base + "/ran/7": "the server other-7"} {
			must(t, errors.Join(os.MkdirAll(dir, 0o755), os.Symlink("/usr", dir+"/link")))
			out, err := w.mcpJail("plan", "--read", dir+"/link", "--", "/bin/true").CombinedOutput()
			if refused := err != nil && strings.Contains(string(out), writer); refused != (others > 0) {
				t.Errorf("%d others: a rule through a link in %s: %v\n%s", others, dir, err, out)
			}
		}
	}
	for name, n := range counts {
		t.Log(name, n)
		if d := n[3] - n[1]; d > 20*25 || d < 0 {
			t.Errorf("%s: %d calls without other servers, %d with 20", name, n[1], n[3])
		}
	}
}

// ofFiles are calls that ask something of a file.
var ofFiles = map[uint64]bool{
	unix.SYS_OPENAT: true, unix.SYS_OPENAT2: true, unix.SYS_STATX: true, unix.SYS_NEWFSTATAT: true, unix.SYS_FSTAT: true, unix.SYS_READLINKAT: true, unix.SYS_GETDENTS64: true,
	unix.SYS_READ: true, unix.SYS_PREAD64: true, unix.SYS_FACCESSAT: true, unix.SYS_FLOCK: true,
}

// callsOf runs a program and returns how many such calls its own threads make. Its children are not traced.
func callsOf(cmd *exec.Cmd) (calls int, err error) {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	defer cmd.Process.Release()
	const ownTracees = unix.WALL | unix.WNOTHREAD
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, ownTracees, nil); err != nil {
		return 0, err
	}
	options := unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(pid, options); err != nil {
		return 0, err
	}
	for tid := pid; ; {
		signal := 0
		switch stop := ws.StopSignal(); {
		case stop == unix.SIGTRAP|0x80:
			var info [128]byte
			const getSyscallInfo, entry = 0x420e, 1
			_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), uintptr(len(info)), uintptr(unsafe.Pointer(&info)), 0, 0)
			if errno == 0 && info[0] == entry && ofFiles[binary.NativeEndian.Uint64(info[24:])] {
				calls++
			}
		case stop != unix.SIGTRAP && stop != unix.SIGSTOP:
			signal = int(stop)
		}
		_ = unix.PtraceSyscall(tid, signal) // it may have been killed
		if tid, err = unix.Wait4(-1, &ws, ownTracees, nil); err != nil {
			return 0, err
		}
		for ws.Exited() || ws.Signaled() {
			if tid == pid {
				if ws.ExitStatus() != 0 {
					err = fmt.Errorf("status %#x", ws)
				}
				return calls, err
			}
			if tid, err = unix.Wait4(-1, &ws, ownTracees, nil); err != nil {
				return 0, err
			}
		}
	}
}

// TestNoFilesPolled tests that mcp-jail reports when the user has no epoll watches left.
// Without its check Go's runtime would crash.
func TestNoFilesPolled(t *testing.T) {
	mcpJail, err := exec.LookPath(cmdline.Main)
	testkit.Must(t, err)
	for _, c := range []struct {
		args  []string
		works int
	}{
		{[]string{"--version"}, terminal.OK},
		{[]string{"run", "--", "/usr/bin/true"}, terminal.OK},
		{[]string{"plan", "--", "/usr/bin/true"}, terminal.OK},
	} {
		for _, none := range []bool{false, true} {
			name := t.TempDir() + "/said"
			said, err := os.Create(name)
			testkit.Must(t, err)
			cmd := exec.Command(mcpJail, c.args...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "XDG_CONFIG_HOME="+cmd.Dir)
			cmd.Stderr = said
			done := make(chan error)
			go func() {
				runtime.LockOSThread() // never unlocked, so that the filtered thread ends
				if none {
					if err := refuseWatches(); err != nil {
						done <- err
						return
					}
				}
				done <- cmd.Run()
			}()
			err = <-done
			said.Close()
			b, _ := os.ReadFile(name)
			text := string(b)
			want := c.works
			if none {
				want = terminal.Failure
				if !strings.HasPrefix(text, "mcp-jail: ") || !strings.Contains(text, "fs.epoll.max_user_watches") || strings.Count(text, "\n") != 1 {
					t.Errorf("%q says %q", c.args, text)
				}
			}
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
				t.Errorf("%q, no watch %v: %v, want status %d\n%s", c.args, none, err, want, text)
			}
		}
	}
}

// refuseWatches makes epoll_ctl fail with ENOSPC, as for a user without watches.
func refuseWatches() error {
	return filterThread([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_EPOLL_CTL, SkipFalse: 1},
		bpf.RetConstant{Val: 0x00050000 | uint32(unix.ENOSPC)},
		bpf.RetConstant{Val: 0x7fff0000},
	})
}

// TestAsBuilt runs the two programs as make build links them. In other tests both are the test binary.
func TestAsBuilt(t *testing.T) {
	need(t, "jail", "go")
	w := newWorld(t)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", w.base+"/", ".", "../"+cmdline.Companion)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOGC=off", "GOMEMLIMIT=512MiB")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	w.program = filepath.Join(w.base, cmdline.Main)
	witness := filepath.Join(w.work, "witness")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "--", "sh", "-c", "touch " + witness + "; cat " + filepath.Join(w.home, "notes.txt") + " >&2"}, "No such file or directory"},
		{[]string{"doctor"}, "ok    jail"},
	} {
		if out, _ := w.mcpJail(c.args...).CombinedOutput(); !strings.Contains(string(out), c.says) {
			t.Errorf("%q: %s", c.args, out)
		}
	}
	if !pathExists(witness) {
		t.Error("the server was not started")
	}
}

// TestBuiltWithCgo tests that a mcp-jail built with cgo starts no server and says why. go
// install uses cgo if there is a C compiler.
func TestBuiltWithCgo(t *testing.T) {
	testkit.NeedsLong(t) // a build of everything, with another tag
	need(t, "jail", "gcc", "go")
	w := newWorld(t)
	const message = `step "init" failed: this program was built with cgo, and so needs libraries to be executed in a jail: build it with CGO_ENABLED=0`
	for _, tt := range []struct {
		cgo    string
		bare   bool
		says   string
		status int
		starts bool
	}{
		{cgo: "1", says: message, status: 3},
		{cgo: "0", starts: true},
		{cgo: "1", bare: true, says: message, status: 3},
		{cgo: "0", bare: true, starts: true},
	} {
		t.Run(fmt.Sprintf("CGO_ENABLED=%s, without namespaces %t", tt.cgo, tt.bare), func(t *testing.T) {
			w.program = filepath.Join(w.base, "cgo"+tt.cgo)
			build := exec.Command("go", "build", "-trimpath", "-o", w.program, ".")
			build.Env = append(os.Environ(), "CGO_ENABLED="+tt.cgo, "GOPROXY=off")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			witness := filepath.Join(w.work, fmt.Sprint("witness", tt.cgo, tt.bare))
			cmd := w.jail("--waive", "fs", "--waive", "process", "--waive", "limits", "--", "/usr/bin/touch", witness)
			if tt.bare {
				const forbid = `echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"`
				cmd.Args = append([]string{"unshare", "-U", "-r", "sh", "-c", forbid, "sh", cmd.Path}, cmd.Args[1:]...)
				var err error
				if cmd.Path, err = exec.LookPath("unshare"); err != nil {
					t.Fatal(err)
				}
			}
			out, _ := cmd.CombinedOutput()
			_, err := os.Stat(witness)
			if status := cmd.ProcessState.ExitCode(); status != tt.status || !strings.Contains(string(out), tt.says) || (err == nil) != tt.starts {
				t.Errorf("status %d, started %v, it said:\n%s", status, err == nil, out)
			}
		})
	}
}
