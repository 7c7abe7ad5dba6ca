package attacker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// verbsOnStarts start programs with arguments that a command rule allows or not.
var verbsOnStarts = map[string]func(args []string) (string, error){
	"start-program":       attemptStart,
	"start-from-thread":   attemptStartFromThread,
	"become":              silent(attemptBecome),
	"stops-after-failure": attemptStopAfterFailure,
	"stop-after-failure":  silent(attemptStopItself),
	"write-into-starts":   attemptWriteIntoStarts,
	"swapped-script":      attemptSwappedScript,
	"swapped-leaders":     attemptSwappedLeaders,
	"swapped-leader":      silent(attemptSwappedLeader),
	"good-starts":         silent(attemptGoodStarts),
	"racing-starts":       attemptRacingStarts,
	"racing-start":        silent(attemptRacingStart),
	"wait-after-failure":  attemptWaitAfterFailure,
	"start-descriptor":    attemptStartDescriptor,
	"become-descriptor":   silent(attemptBecomeDescriptor),
	"start-copy":          attemptStartCopy,
}

// attemptStart starts the program a[0] in the directory a[1], with the environment a[2], which
// has spaces between variables, and with the argv that follows. It answers what the program
// wrote, or the signal that ended it.
func attemptStart(a []string) (string, error) {
	cmd := exec.Cmd{Path: a[0], Dir: a[1], Env: strings.Fields(a[2]), Args: a[3:]}
	return outcomeOf(&cmd)
}

// attemptStartCopy starts a copy of the program a[0] that is only in memory, with the argv that
// follows. It answers as attemptStart does.
func attemptStartCopy(a []string) (string, error) {
	program := get(os.ReadFile(a[0]))
	fd := get(unix.MemfdCreate("copy", 0))
	defer unix.Close(fd)
	get(unix.Write(fd, program))
	return outcomeOf(&exec.Cmd{Path: fmt.Sprintf("/proc/self/fd/%d", fd), Args: a[1:]})
}

func outcomeOf(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	var ee *exec.ExitError
	if errors.As(err, &ee) && ee.Sys().(syscall.WaitStatus).Signaled() {
		return "", emptyHanded(ee.Sys().(syscall.WaitStatus).Signal().String())
	}
	if ee != nil {
		err = nil // it ran
	}
	return strings.Join(strings.Fields(string(out)), " "), err
}

// attemptStartFromThread has a thread that does not lead its process become the program a[0].
func attemptStartFromThread(a []string) (string, error) {
	cmd := exec.Command(Executable())
	cmd.Args = []string{Name, fmt.Sprintf(`[["become",%q,%q,%q]]`, a[0], a[1], a[2])}
	return outcomeOf(cmd)
}

// attemptBecome executes a[0] on another thread than the first, while other threads wait. It fails
// to execute something before.
func attemptBecome(a []string) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			panic("the first thread is locked by Run")
		}
		for range 2 { // as a search in PATH
			syscall.Exec("/no/such/program", a[1:], nil)
		}
		failed <- syscall.Exec(a[0], a[1:], nil)
	}()
	return <-failed
}

// attemptStopAfterFailure starts a process that fails to execute something and then stops. It
// answers whether a parent sees that it stops, goes on, and ends by a signal, as of any other.
func attemptStopAfterFailure([]string) (string, error) {
	pid := get(syscall.ForkExec(Executable(), []string{Name, `[["stop-after-failure"]]`}, &syscall.ProcAttr{}))
	var seen []string
	for range 3 {
		var ws syscall.WaitStatus
		get(syscall.Wait4(pid, &ws, syscall.WUNTRACED|syscall.WCONTINUED, nil))
		switch {
		case ws.Stopped():
			seen = append(seen, "stops")
			unix.Kill(pid, unix.SIGCONT)
		case ws.Continued():
			seen = append(seen, "continues")
			unix.Kill(pid, unix.SIGUSR1)
		default:
			seen = append(seen, ws.Signal().String())
		}
	}
	return strings.Join(seen, ", "), nil
}

// attemptStopItself stops after an execve that fails, and waits for a signal that ends it. Before
// that it makes a child that is traced if it is traced itself (CLONE_PTRACE), and waits for it.
func attemptStopItself([]string) error {
	syscall.Exec("/no/such/program", []string{"x"}, nil)
	child, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.CLONE_PTRACE|unix.SIGCHLD), 0, 0, 0, 0, 0)
	if child == 0 && errno == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 7, 0, 0)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(int(child), &ws, 0, nil); err != nil || ws.ExitStatus() != 7 {
		return fmt.Errorf("its child: %v, %v, %v", errno, ws, err)
	}
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGUSR1), uintptr(unsafe.Pointer(new([4]uint64))), 0, 8, 0, 0) // the default action
	unix.Kill(os.Getpid(), unix.SIGSTOP)
	time.Sleep(time.Minute)
	return errors.New("no signal came")
}

// attemptWriteIntoStarts tries to change the memory of each new process while programs start.
func attemptWriteIntoStarts(a []string) (string, error) {
	wrote := ""
	var newest, tries atomic.Int64
	newest.Store(int64(os.Getpid()))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			first := int(newest.Load()) + 1
			for pid := first; pid < first+50; pid++ {
				if unix.Kill(pid, 0) != nil {
					continue
				}
				tries.Add(1)
				if fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", pid), unix.O_RDWR, 0); err == nil {
					wrote = "its memory was opened"
					unix.Close(fd)
				}
				if err := RawErr(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0); err == nil {
					wrote = "it was traced"
				}
				if err := processMemory(unix.SYS_PROCESS_VM_WRITEV, pid); err == nil {
					wrote = "its memory was written"
				}
			}
		}
	})
	for i := 0; i < 100 || i < 1000 && tries.Load() < 100; i++ {
		cmd := exec.Command(a[0], a[1])
		cmd.Run()
		if cmd.Process != nil {
			newest.Store(int64(cmd.Process.Pid))
		}
	}
	close(stop)
	wg.Wait()
	if tries.Load() == 0 {
		return "", errors.New("no process was met")
	}
	return wrote, nothingIf(wrote == "")
}

// attemptSwappedScript starts a link that leads to the scripts a[0] and a[1] by turns, with the
// argument a[2], and answers which of them ran, by their output a[3] and a[4].
func attemptSwappedScript(a []string) (string, error) {
	dir := get(os.MkdirTemp("", "swap"))
	must(os.Symlink(a[0], dir+"/x"))
	_, stop := turns(func(i int) {
		os.Symlink(a[i%2], dir+"/y")
		os.Rename(dir+"/y", dir+"/x")
	})
	defer stop()
	ran := [2]bool{}
	for range races / 10 {
		out, _ := exec.Command(dir+"/x", a[2]).Output()
		for i := range ran {
			ran[i] = ran[i] || strings.HasSuffix(string(out), a[3+i]+"\n")
		}
	}
	return fmt.Sprint(ran), nil
}
