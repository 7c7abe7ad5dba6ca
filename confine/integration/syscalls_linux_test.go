package integration

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/features/featurestest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// seccompChild makes the call of one row and returns its errno as a number.
func seccompChild(args []string) string {
	index, _ := strconv.Atoi(args[0])
	row := seccompRows()[index]
	if args[1] == "filtered" {
		if err := filterSelf(row.strict, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
			return err.Error()
		}
	}
	if row.raw != nil {
		return strconv.Itoa(int(row.raw()))
	}
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	nr, _ := seccomp.CallNumber(arch, row.call)
	return strconv.Itoa(int(attacker.RawCall(uintptr(nr), row.args...)))
}

// filterSelf filters the calls of this process, as in a jail with namespaces or as strictly as there is.
func filterSelf(strict bool, flags uintptr) error {
	options := seccomp.Options{Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true}
	if strict {
		options = seccomp.Options{}
	}
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	prog, err := seccomp.Compile(arch, options)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, err = seccomp.Install(&stub.Task{}, seccomp.Records(prog), flags)
	return err
}

func TestSeccompInKernel(t *testing.T) {
	featurestest.Needs(t, "seccomp", "seccomp_tsync")
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	for i, row := range seccompRows() {
		if _, ok := seccomp.CallNumber(arch, row.call); !ok && row.raw == nil {
			continue // this machine has only the *at form
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			shows := false
			for who, as := range testUsers() {
				control := inChild(t, as, "seccomp", strconv.Itoa(i), "control")
				filtered := inChild(t, as, "seccomp", strconv.Itoa(i), "filtered")
				want := strconv.Itoa(int(row.want))
				if row.want == 0 {
					want, shows = control, true
				}
				if filtered != want {
					t.Errorf("%s as %s: %s under the filter, want %s (%s without)", row.call, who, errnoText(filtered), errnoText(want), errnoText(control))
				}
				shows = shows || control != want
			}
			if shows {
				return
			}
			switch row.want {
			case unix.ENOSYS, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT:
				t.Logf("this kernel has nothing behind %s", row.name)
			default:
				if os.Geteuid() == 0 {
					t.Error("the call gives the same without the filter: this row shows nothing")
				}
			}
		})
	}
}

func errnoText(s string) string {
	n, err := strconv.Atoi(s)
	if err != nil {
		return s
	}
	if n == 0 {
		return "success"
	}
	return unix.ErrnoName(syscall.Errno(n))
}

// tsyncChild reports the outcome for a thread that started before the filter was installed.
func tsyncChild(args []string) string {
	attempt, outcome := make(chan bool), make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread()
		<-attempt
		outcome <- attacker.RawCall(unix.SYS_SETNS, badFD, 0)
	}()
	flags := uintptr(0)
	if args[0] == "all" {
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	}
	runtime.Gosched()
	if err := filterSelf(false, flags); err != nil {
		return err.Error()
	}
	attempt <- true
	return errnoText(strconv.Itoa(int(<-outcome)))
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
