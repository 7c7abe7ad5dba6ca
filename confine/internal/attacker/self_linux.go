package attacker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// verbsOnSelf answer with properties of the process itself.
var verbsOnSelf = map[string]func(args []string) (string, error){
	"status":         attemptStatus,
	"env":            func([]string) (string, error) { return strings.Join(os.Environ(), " "), nil },
	"cwd":            func([]string) (string, error) { return os.Getwd() },
	"umask":          func([]string) (string, error) { return fmt.Sprintf("%03o", unix.Umask(0)), nil },
	"fds":            attemptDescriptors,
	"ids":            func([]string) (string, error) { return fmt.Sprint(unix.Getuid(), unix.Geteuid(), unix.Getegid()), nil },
	"limit":          attemptLimit,
	"verify":         silent(attemptVerify),
	"capabilities":   attemptCapabilities,
	"own-terminal":   attemptOwnTerminal,
	"write-terminal": func([]string) (string, error) { return "", attemptWriteTerminal() },
	"secure-bits": func([]string) (string, error) {
		bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
		return fmt.Sprintf("%#x", bits), err
	},
	"tmp": func([]string) (string, error) { // fills TMPDIR, and shuts it
		dir := os.TempDir()
		return dir, errors.Join(os.MkdirAll(dir+"/a/b/c", 0o700), os.WriteFile(dir+"/a/b/c/file", nil, 0o600),
			os.Chmod(dir+"/a/b/c", 0), os.Chmod(dir+"/a/b", 0o500), os.Chmod(dir+"/a", 0o100))
	},
	"statement": func([]string) (string, error) {
		var s policy.Statement
		err := json.Unmarshal([]byte(os.Getenv(policy.StatementVar)), &s)
		return s.Temporary, err
	},
	"name-thread":       attemptNameThread,
	"name-by-heir":      attemptNameByHeir,
	"name-among-ending": attemptNameAmongEnding,
}

func attemptWriteTerminal() error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := unix.Open(fmt.Sprint("/dev/pts/", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetInt(slave, unix.TIOCSCTTY, 0); err != nil {
		return err
	}
	return Closing(unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0))
}

func attemptStatus(a []string) (string, error) {
	b := get(os.ReadFile("/proc/thread-self/status"))
	var out []string
	for _, want := range a {
		for line := range strings.Lines(string(b)) {
			if name, value, _ := strings.Cut(line, ":"); name == want {
				out = append(out, strings.TrimSpace(value))
			}
		}
	}
	return strings.Join(out, " "), nil
}

func attemptDescriptors([]string) (string, error) {
	var out []string
	for fd := range 1000 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		if name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); !strings.HasPrefix(name, "anon_inode:[event") {
			out = append(out, strconv.Itoa(fd))
		}
	}
	return strings.Join(out, " "), nil
}

func attemptLimit(a []string) (string, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(Number(a[0]), &l)
	return fmt.Sprint(l.Cur, l.Max), err
}

// attemptOwnTerminal makes a terminal, opens its end for programs by its name and anew
// through a descriptor, and answers which terminal a process is controlled by after each.
func attemptOwnTerminal(a []string) (string, error) {
	var answers [2]int
	for i := range answers {
		master := get(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0))
		n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
		if err == nil {
			err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0)
		}
		if err != nil {
			return "", err
		}
		name := fmt.Sprint("/dev/pts/", n)
		if i == 1 {
			end := get(unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0))
			name = fmt.Sprint("/proc/self/fd/", end)
		}
		get(unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0))
		stat := get(os.ReadFile("/proc/" + a[0] + "/stat"))
		answers[i] = sys.TerminalNumber(stat)
	}
	return fmt.Sprint(answers[0], answers[1]), nil
}

// attemptCapabilities answers with the sets that this thread holds, without /proc.
func attemptCapabilities([]string) (string, error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	err := unix.Capget(&hdr, &caps[0])
	hex := func(low, high uint32) string { return fmt.Sprintf("%08x%08x", high, low) }
	return hex(caps[0].Effective, caps[1].Effective) + " " + hex(caps[0].Permitted, caps[1].Permitted) + " " + hex(caps[0].Inheritable, caps[1].Inheritable), err
}

// attemptVerify checks from inside that the jail holds. a[0] is a file of the host and a[1] a
// process of it. a[2] is a directory that is granted except for "masked", "ro" and the missing
// ".envrc" in it. The rest are the namespaces of the launcher.
func attemptVerify(a []string) error {
	const none = "0000000000000000"
	for _, c := range []struct {
		try  Attempt
		want Outcome
	}{
		{Try("status", "NoNewPrivs", "Seccomp"), "ok 1 2"},
		{Try("status", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "ok " + strings.Join([]string{none, none, none, none, none}, " ")},
		{Try("fds"), "ok 0 1 2"},
		{Try("env"), "ok PATH=/usr/bin"},
		{Try("limit", fmt.Sprint(unix.RLIMIT_CORE)), "ok 1 1"},
		{Try("limit", fmt.Sprint(unix.RLIMIT_NOFILE)), "ok 200 200"},
		{Try("read", "/etc/hostname"), "ok mcp-jail\n"},
		{Try("list", "/"), "EACCES"},
		// Files.
		{Try("read", a[0]), "ENOENT"},
		{Try("read", a[2]+"/masked"), "EACCES"},
		{Try("read", a[2]+"/ro/x"), "ok x"},
		{Try("write", a[2]+"/ro/x"), "EROFS"},
		{Try("rename", a[2]+"/ro", a[2]+"/rw"), "EBUSY"},
		{Try("exec", a[2]+"/plain"), "EACCES"}, // Landlock, and nothing else
		{Try("create", "/x"), "EROFS"},
		// Processes and the kernel.
		{Try("kill", a[1]), "ESRCH"},
		{Try("kill", "1"), "EPERM"},
		{Try("open", "/proc/1/environ"), "EACCES"},
		{Try("unshare", fmt.Sprint(unix.CLONE_NEWUSER)), "EPERM"},
		{Try("mount", "/tmp"), "EPERM"},
		{Try("setns", "/proc/self/ns/uts"), "EPERM"},
		{Try("keyring"), "EPERM"},
		{Try("ptrace"), "EPERM"},
		// The network.
		{Try("socket", fmt.Sprint(unix.AF_PACKET), "3", "0"), "EAFNOSUPPORT"},
		{Try("dial", "tcp", "198.51.100.1:9"), "ECONNREFUSED"},
	} {
		if got := makeAttempt(c.try); got != c.want {
			return fmt.Errorf("%v: %s, want %s", c.try, got, c.want)
		}
	}
	if got := makeAttempt(Try("create", a[2]+"/.envrc")); strings.HasPrefix(got, Succeeded) {
		return fmt.Errorf("a protected file was made")
	}
	for i, kind := range NamespaceKinds {
		if ns, err := os.Readlink("/proc/self/ns/" + kind); err != nil || ns == a[3+i] {
			return fmt.Errorf("the namespace %s is the launcher's (%v)", ns, err)
		}
	}
	return nil
}

// NamespaceKinds are the namespaces that every jail has of its own.
var NamespaceKinds = []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}
