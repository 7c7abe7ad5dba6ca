//go:build seatbelt

package sandboxexectest

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"golang.org/x/sys/unix"
)

// Enclose runs this program again in a PID namespace of its own, with a /proc of its own, and exits
// with its status. It returns at once in that namespace. So no fault of the code that ends a server's
// processes can reach another process of the machine. Nothing confines what the tests start, so root
// becomes a user without any rights first: an attack that works must change nothing. An ordinary user
// needs a user namespace. Without one, the tests fail.
func Enclose() {
	first, err := os.ReadFile("/proc/1/cmdline")
	if err == nil && strings.HasPrefix(string(first), sandboxexec.TestInit+"\x00") {
		return
	}
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	runtime.LockOSThread() // its end would end the namespace
	run(append([]string{sandboxexec.TestInit}, os.Args...), attributes)
}

// begin is the first process of the namespace. Its end ends all others.
func begin() {
	runtime.LockOSThread() // which forks with what it has given up
	need("private mounts", unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	need("its /proc", unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
	attributes := &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
		attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	need("no new privileges", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	run(os.Args[1:], attributes)
}

// nobody is the user ID under which tests run that root starts. This user owns no file.
const nobody = 61235

// need ends this process with the reason if there is an error.
func need(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "no PID namespace for the tests: %s: %v\n", what, err)
		os.Exit(1)
	}
}

// run runs this program with argv, and exits with its status. It passes signals on, and reaps
// orphans.
func run(argv []string, attributes *syscall.SysProcAttr) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	pid, err := syscall.ForkExec("/proc/self/exe", argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attributes})
	need("fork", err)
	go func() {
		for sig := range asked {
			unix.Kill(pid, sig.(syscall.Signal))
		}
	}()
	for {
		var ws unix.WaitStatus
		switch ended, err := unix.Wait4(-1, &ws, 0, nil); {
		case err == unix.EINTR || err == nil && ended != pid:
		case err != nil:
			need("wait", err)
		case ws.Signaled():
			os.Exit(128 + int(ws.Signal()))
		default:
			os.Exit(ws.ExitStatus())
		}
	}
}
