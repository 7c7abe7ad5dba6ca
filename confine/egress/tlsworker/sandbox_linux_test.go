package tlsworker_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// probing is the host of a rule that makes the process try what it must not.
const probing = "probe.invalid"

// prober tries instead of taking secrets, and fails with the list of what worked.
type prober struct{ *intercept.Interceptor }

// Prepare comes before there is a secret.
func (prober) Prepare() error {
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); dumpable != 0 || err != nil {
		return fmt.Errorf("worked: others could look into it (%d, %v)", dumpable, err)
	}
	return nil
}

func (prober) SetSecrets(secrets map[string]string) error {
	if secrets == nil {
		return nil
	}
	return errors.New("worked:" + strings.Join(tried(), ","))
}

// tried lists what of it works.
func tried() (worked []string) {
	for _, c := range []struct {
		name string
		try  func() error
	}{
		{"open", func() error { fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0); unix.Close(fd); return err }},
		{"stat", func() error { return unix.Stat("/etc/passwd", new(unix.Stat_t)) }},
		{"create", func() error {
			f := filepath.Join(os.TempDir(), fmt.Sprint("mcp-jail-tls-", os.Getpid()))
			fd, err := unix.Open(f, unix.O_CREAT|unix.O_RDWR, 0o600)
			unix.Close(fd)
			unix.Unlink(f)
			return err
		}},
		{"memfd", func() error { fd, err := unix.MemfdCreate("x", 0); unix.Close(fd); return err }},
		{"tcp socket", func() error { fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); unix.Close(fd); return err }},
		{"unix socket", func() error { fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); unix.Close(fd); return err }},
		{"socketpair", func() error {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			unix.Close(p[0])
			unix.Close(p[1])
			return err
		}},
		{"connect", func() error { err := unix.Connect(3, &unix.SockaddrUnix{Name: "/x"}); return unless(err, unix.EPERM) }},
		{"program", func() error { return exec.Command("/bin/true").Run() }},
		{"process", func() error {
			pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if pid == 0 && errno == 0 {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			if errno == 0 {
				unix.Wait4(int(pid), nil, 0, nil)
				return nil
			}
			return errno
		}},
		{"signal", func() error { return unix.Kill(os.Getpid(), 0) }},
		{"signal to a thread", func() error { return unix.Tgkill(1, 1, 0) }},
		{"memory of others", func() error {
			b := make([]byte, 2) // its own number stands for that of another
			_, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b[1])), Len: 1}}, 0)
			return err
		}},
		{"namespace", func() error { return unless(unix.Unshare(unix.CLONE_NEWUTS), unix.EPERM) }},
		{"memory to run", func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		}},
		{"what it needs", func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		}},
	} {
		if c.try() == nil {
			worked = append(worked, c.name)
		}
	}
	return worked
}

// unless takes every error but one for a call that went through to the kernel.
func unless(err, refused error) error {
	if errors.Is(err, refused) {
		return err
	}
	return nil
}

// TestSandbox: the process that holds the secrets can open nothing, reach nobody
// and start nothing.
func TestSandbox(t *testing.T) {
	t.Parallel()
	control := strings.Join(tried(), ",")
	for _, name := range []string{"open", "stat", "create", "memfd", "tcp socket", "unix socket", "socketpair", "program", "process", "signal", "memory of others", "memory to run"} {
		if !strings.Contains(control, name) {
			t.Errorf("control: %s does not work outside", name)
		}
	}
	self, _ := os.Executable()
	w, err := tlsworker.Start(tlsworker.Options{Program: self, Rules: []policy.NetRule{{Host: probing, Methods: []string{"GET"}, Allow: true}}, Secrets: map[string]string{"T": secret}})
	testkit.Must(t, err)
	defer w.Close()
	testkit.Eventually(t, "the result", func() bool { err = w.Ready(); return err != nil })
	if err.Error() != "worked:what it needs" {
		t.Errorf("%v", err)
	}
}

// TestState: what the kernel says of the process, thread by thread; and that a secret
// is not where others could read it.
func TestState(t *testing.T) {
	t.Parallel()
	w := start(t, func(*tlsworker.Options) {})
	testkit.Must(t, w.Ready())
	proc := fmt.Sprintf("/proc/%d/", w.Pid())
	tasks, err := filepath.Glob(proc + "task/*/status")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%v %v", tasks, err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has ended
		}
		for _, line := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(string(status), line) {
				t.Errorf("%s: no %s", task, line)
			}
		}
	}
	var info unix.Stat_t
	if err := unix.Stat(proc+"mem", &info); err != nil || info.Uid != 0 {
		t.Errorf("dumpable: %v, its memory belongs to %d", err, info.Uid)
	}
	for _, name := range []string{"cmdline", "environ"} {
		if text, err := os.ReadFile(proc + name); err == nil && strings.Contains(string(text), "s3cr3t") {
			t.Errorf("the secret is in %s", name)
		}
	}
}
