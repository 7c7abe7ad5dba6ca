package integration

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/features/featurestest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// filterSelf filters the calls of this process, as in a jail with namespaces.
func filterSelf(flags uintptr) error {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	prog, err := seccomp.Compile(arch, seccomp.Options{Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true})
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, err = seccomp.Install(&stub.Task{}, seccomp.Records(prog), flags)
	return err
}

// tsyncChild reports the outcome for a thread that started before the filter was installed.
func tsyncChild(args []string) string {
	attempt, outcome := make(chan bool), make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread()
		<-attempt
		outcome <- attacker.RawCall(unix.SYS_SETNS, ^uintptr(0), 0)
	}()
	flags := uintptr(0)
	if args[0] == "all" {
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	}
	runtime.Gosched()
	if err := filterSelf(flags); err != nil {
		return err.Error()
	}
	attempt <- true
	return attacker.ErrnoName(<-outcome)
}

func TestSeccompReachesEveryThread(t *testing.T) {
	featurestest.Needs(t, "seccomp", "seccomp_tsync")
	if got := inChild(t, nil, "tsync", "one"); got != "EBADF" {
		t.Errorf("without TSYNC another thread gets %s, want EBADF: this test shows nothing", got)
	}
	if got := inChild(t, nil, "tsync", "all"); got != "EPERM" {
		t.Errorf("with TSYNC another thread gets %s, want EPERM", got)
	}
}
