package attacker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// verbsOnPrograms are attempts to execute a file.
var verbsOnPrograms = map[string]func(args []string) (string, error){
	"exec": attemptExec,
	"exec-probe": func(a []string) (string, error) {
		cmd := exec.Command(a[0])
		cmd.Args = append([]string{Name}, a[1:]...)
		out, err := cmd.Output()
		return string(out), err
	},
	"exec-in-tmp":  attemptExecInTmp,
	"execs":        silent(attemptExecutable),
	"exec-written": silent(attemptExecWritten),
	"mapexec":      silent(attemptMapExec),
	"memexec":      attemptMemExec,
}

func attemptExec(a []string) (string, error) {
	var out []byte
	err := notBusy(func() (err error) {
		cmd := exec.Command(a[0])
		cmd.Args = a
		out, err = cmd.Output()
		return err
	})
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		err = nil // it ran
	}
	return strings.TrimSpace(string(out)), err
}

// attemptMemExec executes the copy of a program that has no path.
func attemptMemExec(a []string) (string, error) {
	b := get(os.ReadFile(a[0]))
	fd := get(unix.MemfdCreate("copy", 0))
	get(unix.Write(fd, b))
	return attemptExec([]string{fmt.Sprintf("/proc/self/fd/%d", fd)})
}

func attemptExecInTmp(a []string) (string, error) {
	b := get(os.ReadFile(a[0]))
	copied := filepath.Join(os.TempDir(), "copy")
	if err := os.WriteFile(copied, b, 0o700); err != nil {
		return "", fmt.Errorf("the copy cannot be made: %v", err) // no errno: it is not what is asked
	}
	return attemptExec([]string{copied})
}

// attemptExecutable executes a file that is no program: ENOEXEC means that the
// kernel would have started it.
func attemptExecutable(a []string) error {
	return notBusy(func() error {
		err := syscall.Exec(a[0], a[:1], nil)
		if errors.Is(err, syscall.ENOEXEC) {
			return nil
		}
		return err
	})
}

// attemptExecWritten writes files in a directory and executes each as soon as it is closed: see
// attemptExecutable.
func attemptExecWritten(a []string) error {
	for i := range 1000 {
		name := filepath.Join(a[0], fmt.Sprint("written", i))
		fd := get(unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o700))
		unix.Write(fd, []byte("no program"))
		unix.Close(fd)
		if err := syscall.Exec(name, []string{name}, nil); !errors.Is(err, syscall.ENOEXEC) {
			return err
		}
		unix.Unlink(name)
	}
	return nil
}

// notBusy tries again while a file is open for writing. The test has closed it, but a process
// that the test was forking at that time may not have.
func notBusy(f func() error) (err error) {
	for range 300 {
		if err = f(); !errors.Is(err, syscall.ETXTBSY) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func attemptMapExec(a []string) error {
	return onFD(a[0], func(fd int) error {
		b, err := unix.Mmap(fd, 0, 1, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		if err == nil {
			unix.Munmap(b)
		}
		return err
	})
}
