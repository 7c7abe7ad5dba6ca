package attacker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file starts programs from several threads of a process.

func attemptGoodStarts(a []string) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		exec.Command(a[0], "good").Run()
	}
	return nil
}

// hostileThreads start programs at once.
const hostileThreads = 8

// attemptSwappedLeaders has processes replace their leading thread by a[1], echo, while a signal
// stops that thread, a[0] times. It answers whether some programs ran as allowed, some were
// killed, and whether one ran that is not allowed. On a busy machine a few start nothing in their
// time, as the tracer serves others first, or cannot be made. It tells the last of them if they are
// more than one in twenty: the tracer would then lose starts on a quiet one too.
func attemptSwappedLeaders(a []string) (string, error) {
	n := Number(a[0])
	for range 12 { // which keep the tracer busy
		cmd := exec.Command(Executable())
		cmd.Args = []string{Name, fmt.Sprintf(`[["good-starts",%q]]`, a[1])}
		must(cmd.Start())
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	good, killed, evil, others, other := 0, 0, 0, 0, ""
	for first := range hostileThreads {
		wg.Go(func() {
			for i := first; i < n; i += hostileThreads {
				word := "evil"
				if i%16 < 2 {
					word = "good"
				}
				cmd := exec.Command(Executable())
				cmd.Args = []string{Name, fmt.Sprintf(`[["swapped-leader",%q,%q,"%d","%d"]]`, a[1], word, i*7919%30000, i/hostileThreads%2)}
				out, err := cmd.Output()
				var ee *exec.ExitError
				mu.Lock()
				switch text := strings.TrimSpace(string(out)); {
				case text == "evil":
					evil++
				case text == "good":
					good++
				case errors.As(err, &ee) && ee.Sys().(syscall.WaitStatus).Signal() == unix.SIGKILL:
					killed++
				default:
					others, other = others+1, fmt.Sprintf("%q, %v", text, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if evil > 0 {
		return "", emptyHanded(fmt.Sprintf("evil ran %d times of %d", evil, n))
	}
	if others <= n/20 {
		other = "none"
	}
	return fmt.Sprint("good ", good > 0, ", killed ", killed > 0, ", other ", other), nil
}

// attemptSwappedLeader fails to execute something on the first thread. Then a second thread
// executes a[0] with the argument a[1], which takes it long. A third one signals the first after
// a[2] microseconds; with a[3] "1" the first one goes on to fail instead.
func attemptSwappedLeader(a []string) error {
	runtime.GOMAXPROCS(8)       // a raw call keeps its processor
	signal.Ignore(unix.SIGUSR1) // a thread that is traced stops for it all the same
	env := []*byte{}
	for i := range 11 {
		v, _ := unix.BytePtrFromString(fmt.Sprintf("V%d=%s", i, strings.Repeat("x", 127<<10)))
		env = append(env, v)
	}
	slash := strings.LastIndexByte(a[0], '/') + 1
	file, _ := unix.BytePtrFromString(a[0][:slash] + strings.Repeat("./", 1000) + a[0][slash:])
	argv, _ := syscall.SlicePtrFromStrings([]string{"echo", a[1]})
	execute := func(file *byte) {
		unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(file)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&append(env, nil)[0])))
	}
	leader, delay := uintptr(os.Getpid()), unix.NsecToTimespec(int64(Number(a[2]))*1000)
	ready, start := make(chan bool), make(chan bool)
	on := func(run func()) {
		go func() {
			runtime.LockOSThread()
			ready <- true
			<-start
			run()
		}()
		<-ready
	}
	on(func() { execute(file) })
	on(func() {
		if a[3] == "1" {
			return
		}
		unix.Nanosleep(&delay, nil) // not in a raw call, which Go's scheduler would interrupt
		for {
			unix.RawSyscall(unix.SYS_TGKILL, leader, leader, uintptr(unix.SIGUSR1))
		}
	})
	missing := []byte("/no/such/program\x00")
	execute(&missing[0])
	close(start)
	for end := time.Now().Add(20 * time.Second); a[3] == "1" && time.Now().Before(end); {
		execute(&missing[0])
	}
	for range 20 {
		unix.Nanosleep(&unix.Timespec{Sec: 1}, nil)
	}
	return errors.New("nothing was started")
}

// attemptRacingStarts answers what a process writes of which several threads execute at once.
func attemptRacingStarts(a []string) (string, error) {
	cmd := exec.Command(Executable())
	cmd.Args = []string{Name, fmt.Sprintf(`[["racing-start",%q,%q]]`, a[0], a[1])}
	return outcomeOf(cmd)
}

// attemptRacingStart executes a[0] with the argument a[1], while the other threads, the first one
// included, execute what is missing.
func attemptRacingStart(a []string) error {
	for i := range 4 {
		go func() {
			runtime.LockOSThread()
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
				if i == 0 {
					time.Sleep(20 * time.Millisecond)
					syscall.Exec(a[0], []string{"echo", a[1]}, nil)
				}
				syscall.Exec("/no/such/program", []string{"x"}, nil)
			}
		}()
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		syscall.Exec("/no/such/program", []string{"x"}, nil)
	}
	return errors.New("nothing was started")
}

// attemptWaitAfterFailure waits for events after an execve that failed, while ignored signals
// arrive. They do not end the wait of a thread that is not traced.
func attemptWaitAfterFailure([]string) (string, error) {
	signal.Ignore(unix.SIGWINCH)
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	pid, tid := os.Getpid(), unix.Gettid()
	syscall.Exec("/no/such/program", []string{"x"}, nil)
	time.Sleep(50 * time.Millisecond)
	go func() {
		for range 5 {
			time.Sleep(50 * time.Millisecond)
			unix.Tgkill(pid, tid, unix.SIGWINCH)
		}
	}()
	_, err = unix.EpollWait(fd, make([]unix.EpollEvent, 1), 500)
	return "", err
}

// attemptStartDescriptor starts the script a[0] by a descriptor, with the arguments that follow.
func attemptStartDescriptor(a []string) (string, error) {
	cmd := exec.Command(Executable())
	words := []string{`"become-descriptor"`}
	for _, w := range a {
		words = append(words, fmt.Sprintf("%q", w))
	}
	cmd.Args = []string{Name, "[[" + strings.Join(words, ",") + "]]"}
	return outcomeOf(cmd)
}

// attemptBecomeDescriptor is fexecve(3) of a file that stays open, for its interpreter.
func attemptBecomeDescriptor(a []string) error {
	fd := get(unix.Open(a[0], unix.O_RDONLY, 0))
	argv := get(syscall.SlicePtrFromStrings(a[1:]))
	env, empty := []*byte{nil}, []byte{0}
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}
