//go:build seatbelt

package sandboxexectest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"golang.org/x/sys/unix"
)

// Enclose runs this program again in namespaces of its own, and exits with its status. It returns at
// once in them. So no fault of the code that ends a server's processes can reach another process of the
// machine. Nothing confines what the tests start, so no network but an own loopback is there, and root
// becomes a user without any rights first: an attack that works must change nothing. An ordinary user
// needs a user namespace. Without one, the tests fail.
func Enclose() {
	first, err := os.ReadFile("/proc/1/cmdline")
	if err == nil && strings.HasPrefix(string(first), sandboxexec.TestInit+"\x00") {
		return
	}
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	}
	runtime.LockOSThread() // its end would end the namespace
	run("/proc/self/exe", append([]string{sandboxexec.TestInit}, os.Args...), attributes)
}

// begin is the first process of the namespace. Its end ends all others.
func begin() {
	runtime.LockOSThread() // which forks with what it has given up
	need("private mounts", unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	need("its /proc", unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
	// Files there are gone with the namespace. Every user can execute this copy of the program: root's go
	// command builds it where no other user comes.
	need("its /dev/shm", unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"))
	need("its loopback", raiseLoopback())
	self, err := os.ReadFile("/proc/self/exe")
	need("its program", err)
	program := filepath.Join("/dev/shm", filepath.Base(os.Args[1]))
	need("its program", os.WriteFile(program, self, 0o755))
	need("its program", os.Chmod(program, 0o755)) // the umask may have taken rights away
	var b [2]byte
	rand.Read(b[:])
	os.Setenv(sandboxexec.FakeTempEnv, hex.EncodeToString(b[:]))
	attributes := &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
		attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	need("no new privileges", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	// The go command wants a list of what the tests read in a directory of its own. Without one it keeps no
	// result of them.
	run(program, append([]string{program}, slices.DeleteFunc(os.Args[2:], func(arg string) bool { return strings.HasPrefix(arg, "-test.testlogfile=") })...), attributes)
}

// raiseLoopback brings up the only network of the namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
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

// run runs a program, and exits with its status. It passes signals on, and reaps orphans.
func run(program string, argv []string, attributes *syscall.SysProcAttr) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attributes})
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
