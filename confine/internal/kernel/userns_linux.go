package kernel

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ProbeUserNamespaces makes the namespaces of a jail and uses their capabilities: the child maps
// its uid, unshares its mounts and makes them private. Then it executes a file that does not
// exist. ENOENT is success, and no program has run.
func ProbeUserNamespaces() Feature {
	// Mappings come last: if clone fails with mappings, package syscall leaves a pipe open.
	err := tryNamespaces(stageMake)
	stage := stageMake
	if err == nil {
		stage = stageUse
		err = tryNamespaces(stageUse)
	}
	// Package syscall names the child by its number here. In the /proc of another PID namespace
	// that is another process. A jail's stub maps itself, which works there.
	if err == nil && showsOwnNumber() {
		stage = stageMap
		err = tryNamespaces(stageMap)
	}
	switch errno := sys.Errno(err); {
	case err == nil:
		return probeLoopback()
	case errors.Is(err, errKilled):
		return Unavailable("a seccomp filter around this process ends each process that asks for them",
			"start the container with a seccomp profile that allows user namespaces, for instance --security-opt seccomp=unconfined")
	case !IsRefusal(errno):
		return Undetermined("no process could be started: " + err.Error())
	case errno == unix.EACCES && undumpable():
		// The child's /proc/PID/uid_map is root's then: the refusal says nothing of the host.
		return Undetermined("a process that is not dumpable cannot find it out")
	}
	return userNamespacesRefused(err, stage)
}

// probeLoopback makes a socket as the step does that brings the jail's loopback up. A sandbox without
// a network may refuse all sockets but UNIX ones.
func probeLoopback() Feature {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	} else if err == unix.EPERM || err == unix.EACCES {
		return RefusedIn(sys.Loopback, err.(syscall.Errno))
	}
	return Available("")
}

// tryNamespaces makes namespaces up to a stage.
func tryNamespaces(stage usernsStage) error {
	const all = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	attr := &syscall.SysProcAttr{Cloneflags: all}
	if stage >= stageUse {
		attr.Unshareflags = unix.CLONE_NEWNS
	}
	if stage >= stageMap {
		uid, gid := os.Getuid(), os.Getgid()
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	pid, err := syscall.ForkExec("/proc/self/nonexistent", []string{"probe"}, &syscall.ProcAttr{Env: []string{}, Sys: attr})
	if err == nil { // it was killed before it could execute, or the impossible has happened
		var ws syscall.WaitStatus
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, &ws, 0, nil)
		if ws.Signaled() && ws.Signal() == syscall.SIGSYS {
			return errKilled
		}
		return errors.New("the probe ran a program that does not exist")
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

var errKilled = errors.New("a seccomp filter has killed the probe")

// showsOwnNumber reports whether /proc is that of this process's PID namespace.
func showsOwnNumber() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

func undumpable() bool {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err == nil && dumpable != 1
}

// IsRefusal reports whether an errno can mean that the host does not permit namespaces; a probe
// then finds out (usernsFeature). Other errnos mean that it cannot create a process at the moment.
func IsRefusal(errno syscall.Errno) bool {
	switch errno {
	case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.ENOSYS, unix.EINVAL, unix.EROFS:
		return true
	}
	return false
}

// RefusedIn returns the feature of a host that lets a user namespace be made and then refuses a
// step of building in it.
func RefusedIn(name string, errno syscall.Errno) Feature {
	return refusal(collectUsernsFacts(errno, stageUse, name))
}

func userNamespacesRefused(err error, stage usernsStage) Feature {
	return refusal(collectUsernsFacts(err, stage, ""))
}

func refusal(f usernsFacts) Feature {
	refused := usernsFeature(f)
	self, _ := os.Executable()
	refused.Fix = strings.ReplaceAll(refused.Fix, "mcp-jail doctor", typed(self, os.Getenv("PATH"))+" doctor")
	return refused
}

func collectUsernsFacts(err error, stage usernsStage, name string) usernsFacts {
	f := usernsFacts{
		Stage:              stage,
		Step:               name,
		Outside:            sandboxHere().outside,
		Errno:              err.Error(),
		Limit:              sys.Sysctl("user/max_user_namespaces"),
		UnprivilegedClone:  sys.Sysctl("kernel/unprivileged_userns_clone"),
		AppArmorRestricted: sys.Sysctl("kernel/apparmor_restrict_unprivileged_userns"),
		AppArmorProfile:    confiningProfile(sys.ReadLine("/proc/self/attr/apparmor/current")),
		SeccompMode:        seccompMode(),
		SetFCap:            hasCapability(unix.CAP_SETFCAP),
		Root:               os.Geteuid() == 0,
		Chrooted:           chrooted(),
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = unix.ErrnoName(errno)
	}
	_, missing := os.Lstat("/proc/self/ns/user")
	f.Built = missing == nil
	users, errUsers := hostfs.ReadFile("/proc/self/uid_map")
	groups, errGroups := hostfs.ReadFile("/proc/self/gid_map")
	f.Nested = errUsers == nil && strings.Join(strings.Fields(string(users)), " ") != "0 0 4294967295"
	f.Unmapped = errUsers == nil && !maps(string(users), os.Geteuid()) || errGroups == nil && !maps(string(groups), os.Getegid())
	return f
}

// confiningProfile returns the AppArmor profile of /proc/self/attr/apparmor/current, or "" for one
// that confines nothing.
func confiningProfile(current string) string {
	name, mode, _ := strings.Cut(current, " (")
	if name == "unconfined" || mode == "unconfined)" {
		return ""
	}
	return name
}

// maps reports whether a uid_map or gid_map of user_namespaces(7) has a number.
func maps(idMap string, id int) bool {
	for line := range strings.Lines(idMap) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		first, _ := strconv.Atoi(f[0])
		count, _ := strconv.Atoi(f[2])
		if id >= first && id-first < count {
			return true
		}
	}
	return false
}

// chrooted reports whether the root directory is not the top of a mount. Then clone(2) refuses
// CLONE_NEWUSER.
func chrooted() bool {
	b, err := hostfs.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 4 && f[4] == "/" {
			return false
		}
	}
	return true
}

func sandboxHere() sandbox {
	exists := func(file string) bool { return unix.Access(file, unix.F_OK) == nil }
	return sandboxAround(exists, os.Getenv, sys.ReadLine("/proc/1/comm"))
}
