//go:build seatbelt

package fakesandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Name is the file name of the stand-in. What follows a hyphen changes it: a number is the status that
// it ends with, "all" has it confine nothing, and the other names are of what it leaves allowed.
const Name = "sandbox-exec"

// dirVariable tells the processes of a test where the stand-in is.
const dirVariable = "MCPJAIL_TEST_FAKE_SANDBOX"

// refusals are the system calls that fail with EPERM.
var refusals = map[string]uint32{"open": unix.SYS_OPENAT, "connect": unix.SYS_SOCKET, "signal": unix.SYS_KILL, "start": unix.SYS_CLONE}

// Path returns the path of the stand-in.
func Path() string { return filepath.Join(os.Getenv(dirVariable), Name) }

// Install makes names for the stand-in, which lead to this program.
func Install() (remove func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mcp-jail-sandbox")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"", "-all", "-open", "-connect", "-signal", "-start", "-65", "-71"} {
		err = errors.Join(err, os.Symlink(self, filepath.Join(dir, Name+name)))
	}
	return func() { os.RemoveAll(dir) }, errors.Join(err, os.Setenv(dirVariable, dir))
}

// Main is the stand-in, if this process was started as it. The program gets argv0 as its name, by which
// a test binary knows its role; the real one passes the path.
func Main(argv0 string) {
	without, started := strings.CutPrefix(filepath.Base(os.Args[0]), Name)
	if !started {
		return
	}
	without = strings.TrimPrefix(without, "-")
	if status, err := strconv.Atoi(without); err == nil {
		os.Exit(status)
	}
	at := slices.Index(os.Args, "--")
	if at < 3 || os.Args[1] != "-p" {
		os.Exit(64)
	}
	if text := os.Args[2]; !strings.Contains(text, "(deny default") || strings.Contains(text, "(allow network") {
		os.Exit(65)
	}
	err := confine(without)
	if err == nil {
		err = unix.Exec(os.Args[at+1], append([]string{argv0}, os.Args[at+2:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(71)
}

func confine(without string) error {
	if without == "all" {
		return nil
	}
	number := bpf.LoadAbsolute{Off: 0, Size: 4}
	refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	program := []bpf.Instruction{number}
	for what, call := range refusals {
		switch {
		case what == without:
		case call == unix.SYS_CLONE: // threads may begin, and Go falls back to clone for them
			program = append(program,
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 4}, bpf.LoadAbsolute{Off: 16, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipTrue: 1}, refuse, number,
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
		default:
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, refuse)
		}
	}
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	runtime.LockOSThread() // the thread that executes the program keeps its filter
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}
