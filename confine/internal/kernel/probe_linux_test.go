package kernel

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestCacheKeepsOnlyCertainAnswers(t *testing.T) {
	var m featureCache
	answers := []Feature{Undetermined("busy"), Unavailable("x", "y"), Available("")}
	asked := 0
	probe := func() Feature { asked++; return answers[asked-1] }
	for i, want := range []Answer{Unknown, No, No, No} {
		testkit.Equal(t, fmt.Sprintf("question %d", i), m.Get("f", probe).Answer, want)
	}
	testkit.Equal(t, "the times that the probe ran", asked, 2)
}

// A running session is not dumpable. Its probe must not take the EACCES of uid_map for a refusal
// of the host. Root may write uid_map all the same.
func TestProbeOfAnUndumpableProcess(t *testing.T) {
	if f := ProbeUserNamespaces(); f.Answer != Yes {
		t.Skip("this host has no user namespaces for this user: " + f.Detail)
	}
	testkit.Must(t, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	if f := ProbeUserNamespaces(); f.Answer == No {
		t.Errorf("the probe says No in an undumpable process: %s", f.Detail)
	}
}

func TestConfiningProfile(t *testing.T) {
	for current, want := range map[string]string{
		"": "", "unconfined": "", "unconfined (enforce)": "", "vscode (unconfined)": "",
		"docker-default (enforce)": "docker-default", "bwrap//&unpriv_bwrap (enforce)": "bwrap//&unpriv_bwrap", "odd": "odd",
	} {
		testkit.Equal(t, current, confiningProfile(current), want)
	}
}

// TestListenerUnderAnother: a process whose calls are supervised already takes no other supervisor.
// Under a plain filter it does.
func TestListenerUnderAnother(t *testing.T) {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	if f := seccompNotifyFeature(); f.Answer != Yes {
		t.Skip("no listener can be had: " + f.Detail)
	}
	for _, c := range []struct {
		around uintptr // the flags of the filter around
		want   Answer
	}{{0, Yes}, {flags, No}} {
		answer := make(chan Feature)
		go func() {
			runtime.LockOSThread() // the thread, and its filters, end with this goroutine
			allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
			program := unix.SockFprog{Len: 1, Filter: &allow}
			unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			fd, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, c.around, uintptr(unsafe.Pointer(&program)))
			if errno != 0 {
				answer <- Undetermined(errno.Error())
				return
			}
			if c.around != 0 {
				defer unix.Close(int(fd))
			}
			answer <- tryListener(flags)
		}()
		if f := <-answer; f.Answer != c.want || c.want == No && f.Fix == "" {
			t.Errorf("flags %#x: %+v", c.around, f)
		}
	}
}
