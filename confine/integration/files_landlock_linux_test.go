package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/features/featurestest"
	landlockpkg "github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock/landlocktest"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// A landlockRow is an attempt inside a granted directory, with the rights that
// it takes, all of them.
type landlockRow struct {
	name  string
	need  policy.Rights
	try   func(dir string) error
	plain syscall.Errno // without Landlock
	want  syscall.Errno // without any one of the rights
}

var landlockRows = []landlockRow{
	{"read a file", policy.Read, func(d string) error { return opened(d+"/file", unix.O_RDONLY) }, 0, unix.EACCES},
	{"list a directory", policy.Read, func(d string) error { return opened(d, unix.O_RDONLY|unix.O_DIRECTORY) }, 0, unix.EACCES},
	{"write into a file", policy.Update, func(d string) error { return opened(d+"/file", unix.O_WRONLY) }, 0, unix.EACCES},
	{"truncate a file", policy.Update, func(d string) error { return unix.Truncate(d+"/file", 0) }, 0, unix.EACCES},
	{"make an empty file", policy.Create, func(d string) error { return unix.Mknod(d+"/new", unix.S_IFREG|0o600, 0) }, 0, unix.EACCES},
	{"make and fill a file", policy.Create | policy.Update, func(d string) error { return opened(d+"/new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }, 0, unix.EACCES},
	{"make a directory", policy.Create, func(d string) error { return unix.Mkdir(d+"/new", 0o700) }, 0, unix.EACCES},
	{"make a symlink", policy.Create, func(d string) error { return unix.Symlink("x", d+"/new") }, 0, unix.EACCES},
	{"make a pipe", policy.Create, func(d string) error { return unix.Mkfifo(d+"/new", 0o600) }, 0, unix.EACCES},
	{"make a socket", policy.Create, func(d string) error { return unix.Mknod(d+"/new", unix.S_IFSOCK|0o600, 0) }, 0, unix.EACCES},
	{"hard link inside", policy.Create, func(d string) error { return unix.Link(d+"/file", d+"/new") }, 0, unix.EACCES},
	{"remove a file", policy.Delete, func(d string) error { return unix.Unlink(d + "/file") }, 0, unix.EACCES},
	{"remove a directory", policy.Delete, func(d string) error { return unix.Rmdir(d + "/empty") }, 0, unix.EACCES},
	{"rename in place", policy.Create | policy.Delete, func(d string) error { return unix.Rename(d+"/file", d+"/new") }, 0, unix.EACCES},
	{"rename to another directory", policy.Create | policy.Delete, func(d string) error { return unix.Rename(d+"/file", d+"/empty/new") }, 0, unix.EACCES},
	{"start a program", policy.Execute | policy.Read, func(d string) error { return unix.Exec(d+"/file", []string{"x"}, nil) }, unix.ENOEXEC, unix.EACCES},
}

// rowSince are the ABIs without which a row is not refused, or never allowed.
var rowSince = map[string]string{"truncate a file": "landlock:3", "rename to another directory": "landlock:2"}

func opened(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func openPath(r landlockpkg.Rule) (int, error) {
	return unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

// landlockChild restricts itself and makes one attempt: args are the row, the
// directory, the rights in it, and how to restrict.
func landlockChild(args []string) string {
	row, _ := strconv.Atoi(args[0])
	rights, _ := strconv.Atoi(args[2])
	f := features.ProbeForStart()
	if how := args[3]; how != "not" {
		p := landlockpkg.Compile(landlockpkg.Input{ABI: f.LandlockABI, Entries: []policy.Entry{landlocktest.DirEntry(args[1], policy.Rights(rights))}})
		fd, err := landlockpkg.Create(&stub.Task{}, &p.Ruleset, openPath)
		if err != nil {
			return err.Error()
		}
		switch how {
		case "library":
			err = restrictByLibrary(&p.Ruleset)
		case "process":
			err = restrictProcess(fd)
		default:
			if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
				err = stub.LandlockRestrictSelf(new(stub.Task), fd)
			}
		}
		if err != nil {
			return err.Error()
		}
	}
	var err error
	if row < 0 {
		err = landlockScopes[-1-row].try(args[4])
	} else {
		err = landlockRows[row].try(args[1])
	}
	if errno, ok := err.(syscall.Errno); ok {
		return unix.ErrnoName(errno)
	}
	return fmt.Sprint(err)
}

// restrictProcess sets no_new_privs on every thread of the process and restricts them all.
// It cannot be used in programs with cgo: there libpsx reads /proc/self/task after the
// first thread is restricted, and the ruleset refuses that.
func restrictProcess(ruleset int) error {
	if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return ll.AllThreadsLandlockRestrictSelf(ruleset, 0)
}

// restrictByLibrary restricts the process with go-landlock alone. Tests expect the same
// refusals as from our own ruleset.
func restrictByLibrary(r *landlockpkg.Ruleset) error {
	var rules []landlock.Rule
	for _, rule := range r.Rules {
		rules = append(rules, landlock.PathAccess(landlock.AccessFSSet(rule.Access), rule.Path))
	}
	return landlock.MustConfig(landlock.AccessFSSet(r.FS), landlock.AccessNetSet(r.Net), landlock.ScopedSet(r.Scoped)).Restrict(rules...)
}

// restrictions are the ways to apply a ruleset. The race detector brings cgo,
// with which a whole process cannot be restricted.
func restrictions() []string {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPPID, 0, 0, 0); errno == syscall.ENOTSUP {
		return []string{"thread", "library"}
	}
	return []string{"thread", "process", "library"}
}

func landlockDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	testkit.Must(t, testkit.WriteProgram(dir+"/file", []byte("not a program\n")))
	testkit.Must(t, os.Mkdir(dir+"/empty", 0o755))
	return dir
}

func TestLandlockInKernel(t *testing.T) {
	featurestest.Needs(t, "landlock")
	for i, row := range landlockRows {
		t.Run(row.name, func(t *testing.T) {
			if since := rowSince[row.name]; since != "" {
				featurestest.Needs(t, since)
			}
			t.Parallel()
			attempt := func(r policy.Rights, how string) string {
				return inChild(t, nil, "landlock", strconv.Itoa(i), landlockDir(t), strconv.Itoa(int(r)), how)
			}
			if got := attempt(0, "not"); got != attacker.ErrnoName(row.plain) {
				t.Fatalf("unconfined: %s, want %s", got, attacker.ErrnoName(row.plain))
			}
			for _, how := range restrictions() {
				if got := attempt(row.need, how); got != attacker.ErrnoName(row.plain) {
					t.Errorf("with %s (%s): %s, want %s", row.need, how, got, attacker.ErrnoName(row.plain))
				}
			}
			for _, right := range []policy.Rights{policy.Read, policy.Create, policy.Update, policy.Delete, policy.Execute} {
				if row.need&right == 0 {
					continue
				}
				got := attempt(policy.AllRights&^right, "thread")
				if got != attacker.ErrnoName(row.want) {
					t.Errorf("without %s: %s, want %s", right, got, attacker.ErrnoName(row.want))
				}
			}
		})
	}
}

// landlockScopes are attempts upon the process that runs the test.
var landlockScopes = []struct {
	name string
	try  func(abstract string) error
}{
	{"signal", func(string) error { return unix.Kill(os.Getppid(), 0) }},
	{"abstract socket", func(name string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
	}},
}

func TestLandlockScopesInKernel(t *testing.T) {
	featurestest.Needs(t, "landlock:6")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(fd)
	name := fmt.Sprintf("@mcp-jail-test-%d", os.Getpid())
	testkit.Must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: name}))
	for i, s := range landlockScopes {
		for _, how := range append(restrictions(), "not") {
			want := "EPERM"
			if how == "not" {
				want = "<nil>"
			}
			if got := inChild(t, nil, "landlock", strconv.Itoa(-1-i), landlockDir(t), strconv.Itoa(int(policy.AllRights)), how, name); got != want {
				t.Errorf("%s, restricted: %s: %s, want %s", s.name, how, got, want)
			}
		}
	}
}

func TestCreateRulesetIsCompleteOrFails(t *testing.T) {
	featurestest.Needs(t, "landlock")
	if _, err := landlockpkg.Create(&stub.Task{}, &landlockpkg.Ruleset{}, openPath); err != landlockpkg.ErrNothingHandled {
		t.Errorf("nothing handled: %v", err)
	}
	dir := landlockDir(t)
	for path, want := range map[string]error{dir + "/absent": unix.ENOENT, dir + "/file": unix.EINVAL} {
		rules := landlockpkg.Ruleset{FS: 1<<13 - 1, Rules: []landlockpkg.Rule{{Path: dir, Access: ll.AccessFSReadFile}, {Path: path, Access: ll.AccessFSReadDir}}}
		fd, err := landlockpkg.Create(&stub.Task{}, &rules, openPath)
		if e, ok := err.(*landlockpkg.RuleError); !ok || e.Err != want || e.Rule.Path != path {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if fd != -1 {
			t.Errorf("%s: a descriptor is left behind", path)
		}
	}
}
