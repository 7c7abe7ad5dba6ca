package confine

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSeccompNumbers compares both tables with those of golang.org/x/sys, and
// says when that knows calls which the rules were not written for.
func TestSeccompNumbers(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be found: %v", err)
	}
	row := regexp.MustCompile(`^\s+SYS_(\w+)\s+= (\d+)$`)
	for _, arch := range bothArchs {
		f, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_"+arch.String()+".go"))
		if err != nil {
			testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be read: %v", err)
		}
		defer f.Close()
		want := make(map[string]uint32)
		for s := bufio.NewScanner(f); s.Scan(); {
			if m := row.FindStringSubmatch(s.Text()); m != nil {
				n, _ := strconv.Atoi(m[2])
				want[strings.ToLower(m[1])] = uint32(n)
				if n > lastKnownCall {
					t.Errorf("%s: %s (%d) is newer than the rules: judge it and raise lastKnownCall", arch, m[1], n)
				}
			}
		}
		if len(want) < 300 {
			t.Fatalf("%s: only %d numbers were read", arch, len(want))
		}
		for _, c := range seccompCalls {
			got, has := callNumber(arch, c.name)
			if n, ok := want[c.name]; ok != has || n != got {
				t.Errorf("%s: %s is %d (%v), want %d (%v)", arch, c.name, got, has, n, ok)
			}
		}
	}
}

func rawCall(nr uintptr, args ...uintptr) syscall.Errno {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}

// int80 makes a system call by the gate of 32-bit programs. Go passes the first
// argument and the result in AX, where the gate wants them.
func int80(nr uintptr) syscall.Errno {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	copy(code, []byte{
		0x31, 0xdb, // xor ebx, ebx
		0xcd, 0x80, // int 0x80
		0xc3, // ret
	})
	entry := unsafe.Pointer(unsafe.SliceData(code))
	closure := unsafe.Pointer(&entry)
	gate := *(*func(uintptr) uintptr)(unsafe.Pointer(&closure))
	r := int32(gate(nr))
	runtime.KeepAlive(&entry)
	if r < 0 && r > -4096 {
		return syscall.Errno(-r)
	}
	return 0
}

// seccompChild makes the call of one row and returns its errno as a number.
func seccompChild(args []string) string {
	index, _ := strconv.Atoi(args[0])
	row := seccompRows()[index]
	if args[1] == "filtered" {
		if err := filterSelf(row.mode, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
			return err.Error()
		}
	}
	if row.raw != nil {
		return strconv.Itoa(int(row.raw()))
	}
	arch, _ := archOf(runtime.GOARCH)
	nr, _ := callNumber(arch, row.call)
	return strconv.Itoa(int(rawCall(uintptr(nr), row.args...)))
}

func filterSelf(mode string, flags uintptr) error {
	if mode == "" {
		mode = "namespaces"
	}
	arch, _ := archOf(runtime.GOARCH)
	prog, err := compileSeccomp(arch, seccompModes[mode])
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, err = applySeccomp(&stub.Task{}, filterRecords(prog), flags)
	return err
}

func TestSeccompInKernel(t *testing.T) {
	needs(t, "seccomp", "seccomp_tsync")
	arch, _ := archOf(runtime.GOARCH)
	for i, row := range seccompRows() {
		if _, ok := callNumber(arch, row.call); !ok && row.raw == nil {
			continue // this machine has only the *at form
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			shows := false
			for who, as := range testUsers() {
				control, err := tryChild(as, "seccomp", strconv.Itoa(i), "control")
				if err != nil && strings.HasPrefix(row.name, "i386") {
					control = "the kernel runs no i386 code"
				} else if err != nil {
					t.Fatal(err)
				}
				filtered, err := tryChild(as, "seccomp", strconv.Itoa(i), "filtered")
				if err != nil && strings.HasPrefix(control, "the kernel") {
					t.Log(control)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
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

// tsyncChild reports what a thread meets that was there before the filter.
func tsyncChild(args []string) string {
	attempt, outcome := make(chan bool), make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread()
		<-attempt
		outcome <- rawCall(unix.SYS_SETNS, badFD, 0)
	}()
	flags := uintptr(0)
	if args[0] == "all" {
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	}
	runtime.Gosched()
	if err := filterSelf("", flags); err != nil {
		return err.Error()
	}
	attempt <- true
	return errnoText(strconv.Itoa(int(<-outcome)))
}

func TestSeccompReachesEveryThread(t *testing.T) {
	needs(t, "seccomp", "seccomp_tsync")
	if got := inChild(t, nil, "tsync", "one"); got != "EBADF" {
		t.Errorf("without TSYNC another thread gets %s, want EBADF: this test shows nothing", got)
	}
	if got := inChild(t, nil, "tsync", "all"); got != "EPERM" {
		t.Errorf("with TSYNC another thread gets %s, want EPERM", got)
	}
}

func TestApplySeccompRefusesNonsense(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 7), make([]byte, 12), make([]byte, 8*(maxProgram+1))} {
		if _, err := applySeccomp(&stub.Task{}, b, 0); err != unix.EINVAL {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}
