package attacker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// verbsOfLife are ways to end, and ways to go on after the program.
var verbsOfLife = map[string]func(args []string) (string, error){
	"exit":   silent(func(a []string) error { unix.Exit(Number(a[0])); return nil }),
	"die":    silent(func(a []string) error { return dieOf(syscall.Signal(Number(a[0]))) }),
	"wait":   silent(func(a []string) error { fmt.Println("ready"); time.Sleep(time.Hour); return nil }),
	"caught": attemptCatch,
	"daemon": silent(attemptDaemon),
	"bomb":   silent(attemptBomb),
	"crash": silent(func([]string) error {
		// A fault that the runtime does not catch: as the kernel's default.
		action := [4]uintptr{}
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		return dieOf(syscall.SIGSEGV)
	}),
}

func dieOf(sig syscall.Signal) error {
	signal.Reset(sig)
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	return errors.New("still alive")
}

// attemptCatch waits for one of the signals that are passed on.
func attemptCatch([]string) (string, error) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	fmt.Fprintln(os.Stderr, "ready")
	return (<-c).String(), nil
}

// attemptDaemon leaves two processes behind, each in a session of its own, before it goes on.
// a[0] is the number of generations to come.
func attemptDaemon(a []string) error {
	if a[0] == "0s" { // one that ends by itself
		cmd := exec.Command("/usr/bin/sleep", "3")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		fmt.Fprintln(os.Stderr, "daemon")
		return cmd.Start()
	}
	if n := Number(a[0]); n > 0 {
		cmd := exec.Command(Executable())
		cmd.Args = []string{Name, fmt.Sprintf(`[["daemon", "%d"]]`, n-1)}
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Start()
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	fmt.Fprintln(os.Stderr, "daemon")
	time.Sleep(time.Hour)
	return nil
}

// attemptBomb keeps a[0] processes that each start another one and end, in sessions
// of their own.
func attemptBomb(a []string) error {
	for range Number(a[0]) {
		cmd := exec.Command("/usr/bin/sh", "-c", `trap "" TERM HUP INT; me() { me & }; while :; do (sleep 0.01 & sleep 0.01) & wait; done`)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			break
		}
	}
	fmt.Fprintln(os.Stderr, "daemon")
	time.Sleep(time.Hour)
	return nil
}
