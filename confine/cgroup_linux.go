package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// cgroupHere is the place for this process. It is asked for once: at every start
// the shim is put into its cgroup before anybody knows the policy. The start waits for
// that, so what cannot matter any more is not asked.
var cgroupHere = sync.OnceValue(func() cgroupPlace {
	cgroups := procLine("/proc/self/cgroup")
	own, _ := cgroupPath(cgroups)
	f := cgroupFacts{Own: own, Older: cgroupOlder(cgroups), UID: os.Getuid(), Delegated: delegated}
	if f.Own == "" || f.Older {
		return cgroupPlaceOf(f)
	}
	if wholeCgroup(usualCgroup) {
		f.Mount, f.Top = usualCgroup, "/"
	} else {
		f.Mount, f.Top = cgroupMount(procLine("/proc/self/mountinfo"))
	}
	f.Booted = unix.Access("/run/systemd/system", unix.F_OK) == nil
	if f.Booted && f.Mount != "" {
		f.Manager, f.Root = managerHere(f.Mount, f.UID)
	}
	return cgroupPlaceOf(f)
})

// usualCgroup is where distributions mount v2.
const usualCgroup = "/sys/fs/cgroup"

// firstCgroups is the cgroup namespace that the kernel starts with (linux/nsfs.h,
// CGROUP_NS_INIT_INO).
const firstCgroups = "cgroup:[4026531835]"

// wholeCgroup tells that the whole v2 hierarchy is mounted at dir, and that this
// process counts its own cgroup from the same root. On a host that spares the list of
// all mounts, which the kernel writes anew for everybody who reads it.
func wholeCgroup(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return false
	}
	if unix.Access(dir+"/cgroup.type", unix.F_OK) != unix.ENOENT { // every cgroup has one but the root
		return false
	}
	namespace, err := os.Readlink("/proc/self/ns/cgroup")
	return err == nil && namespace == firstCgroups
}

// delegated: see cgroupFacts. To be moved from one cgroup into another takes the
// right to write cgroup.procs of the one around both (cgroups(7)).
func delegated(dir string) bool {
	return unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil &&
		hasControllers(filepath.Join(dir, "cgroup.subtree_control"))
}

func hasControllers(file string) bool {
	words := " " + procLine(file) + " "
	return strings.Contains(words, " memory ") && strings.Contains(words, " pids ")
}

// jailCgroup is the cgroup of one jail.
type jailCgroup struct {
	dir  string
	fd   int  // of dir, for the fork; -1 where a manager makes it
	ours bool // made and removed by us, not by a manager

	events [2]*os.File // memory.events, pids.events
	seen   [2]int64    // what they counted
}

// What is counted there, and where.
var cgroupEvents = [2]struct{ file, key string }{{"memory.events", "oom_kill"}, {"pids.events", "max"}}

// cgroupName tells whose it is, so that what a killed launcher left behind can be
// told from what is in use.
const cgroupName = "mcp-jail."

var cgroupCount atomic.Int64

// makeCgroup makes an empty cgroup below parent.
func makeCgroup(parent string) (*jailCgroup, error) {
	dir := filepath.Join(parent, fmt.Sprintf("%s%d.%d", cgroupName, os.Getpid(), cgroupCount.Add(1)))
	if err := unix.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Rmdir(dir)
		return nil, err
	}
	return &jailCgroup{dir: dir, fd: fd, ours: true}, nil
}

// limit sets the limits and reads them back. No swap: what the jail may use is
// what memory_mb says.
func (g *jailCgroup) limit(l cgroupLimits) error {
	for _, f := range g.limits(l) {
		err := g.set(f)
		if errors.Is(err, os.ErrNotExist) && f.name == fileSwapMax {
			continue // a kernel without swap
		}
		if err != nil {
			return on(f.name, err)
		}
	}
	return g.verify(l)
}

func (g *jailCgroup) set(v cgroupValue) error {
	return os.WriteFile(filepath.Join(g.dir, v.name), []byte(v.value), 0)
}

const (
	fileMemoryMax = "memory.max"
	fileSwapMax   = "memory.swap.max"
	filePidsMax   = "pids.max"
)

type cgroupValue struct{ name, value string }

func (g *jailCgroup) limits(l cgroupLimits) (files []cgroupValue) {
	if l.memoryMB > 0 {
		files = append(files, cgroupValue{fileMemoryMax, strconv.Itoa(l.memoryMB << 20)}, cgroupValue{fileSwapMax, "0"})
	}
	if l.tasks > 0 {
		files = append(files, cgroupValue{filePidsMax, strconv.Itoa(l.tasks)})
	}
	return files
}

// cgroupLimits are memory.max and pids.max; 0 is none.
type cgroupLimits struct{ memoryMB, tasks int }

// cgroupLimitsOf are the limits for a jail. Its count of tasks is one less than
// RLIMIT_NPROC, which tells nobody when it refuses.
//
// A supervisor that is still to come needs its threads, and its runtime dies without.
// A server that takes all that it can get before must not have them, so until then there is
// more room in the cgroup than RLIMIT_NPROC lets anybody but the supervisor use.
func cgroupLimitsOf(l policy.Limits, supervised bool) cgroupLimits {
	c := cgroupLimits{memoryMB: l.MemoryMB}
	if l.Processes > 0 {
		c.tasks = l.Processes + initThreads
		if !supervised {
			c.tasks += initThreads
		}
	}
	return c
}

// supervise takes back what was left over for the supervisor, which has its threads now. It
// tells whether the server has more than its limit by then: RLIMIT_NPROC, which may have
// kept it from more, counts nothing.
func (g *jailCgroup) supervise(l policy.Limits) (exceeded bool, err error) {
	tight := cgroupLimitsOf(l, true)
	if tight.tasks == 0 {
		return false, nil
	}
	if err := g.set(cgroupValue{filePidsMax, strconv.Itoa(tight.tasks)}); err != nil {
		return false, err
	}
	tasks, _ := strconv.Atoi(procLine(filepath.Join(g.dir, "pids.current")))
	return tasks > tight.tasks, g.verify(tight)
}

// verify reads the limits back.
func (g *jailCgroup) verify(l cgroupLimits) error {
	for _, f := range g.limits(l) {
		if got := procLine(filepath.Join(g.dir, f.name)); got != f.value && !(f.name == fileSwapMax && got == "") {
			return on(filepath.Join(g.dir, f.name), fmt.Errorf("it is %q and not %s", got, f.value))
		}
	}
	return nil
}

// holds tells whether a process is in the cgroup.
func (g *jailCgroup) holds(pid int) bool {
	own, ok := cgroupPath(procLine("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	return ok && filepath.Base(own) == filepath.Base(g.dir)
}

// adopt moves a process in, with all of its threads.
func (g *jailCgroup) adopt(pid int) error {
	return os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// kill ends every process in the cgroup, wherever it has hidden otherwise.
func (g *jailCgroup) kill() error {
	return os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0) // Linux 5.14
}

// reached reports what the kernel ended and refused since the last time.
func (g *jailCgroup) reached() (memory, processes bool) {
	var more [2]bool
	for i, e := range cgroupEvents {
		if g.events[i] == nil {
			f, err := os.Open(filepath.Join(g.dir, e.file))
			if err != nil {
				continue
			}
			g.events[i] = f
		}
		var buf [512]byte
		size, _ := g.events[i].ReadAt(buf[:], 0)
		if n := cgroupLine(string(buf[:size]), e.key); n > g.seen[i] {
			g.seen[i], more[i] = n, true
		}
	}
	return more[0], more[1]
}

// watch calls changed whenever a count may have changed, until stop is closed and
// once more then.
func (g *jailCgroup) watch(stop <-chan struct{}, changed func()) {
	defer changed()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		<-stop // Process.Denials looks, too
		return
	}
	f := os.NewFile(uintptr(fd), "inotify") // of the runtime's poller: Close ends a Read
	for _, e := range cgroupEvents {
		unix.InotifyAddWatch(fd, filepath.Join(g.dir, e.file), unix.IN_MODIFY)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var buf [4096]byte
		for {
			if _, err := f.Read(buf[:]); err != nil {
				return
			}
			changed()
		}
	}()
	<-stop
	f.Close()
	<-ended
}

// remove ends what is left in the cgroup and removes it. A process that has just
// died is in it for a moment more.
func (g *jailCgroup) remove() {
	if g.fd >= 0 {
		unix.Close(g.fd)
		g.fd = -1
	}
	for _, f := range g.events {
		f.Close()
	}
	if !g.ours {
		g.kill() // systemd removes a scope when it is empty
		return
	}
	for wait := 100 * time.Microsecond; wait < time.Second; wait *= 2 {
		if err := unix.Rmdir(g.dir); err == nil || errors.Is(err, unix.ENOENT) {
			return
		}
		g.kill()
		time.Sleep(wait)
	}
}

// sweep removes the cgroups that launchers left behind that were killed: empty
// ones, since the kernel has ended what was in them.
func sweepCgroups(parent string) {
	for _, name := range namesIn(parent) {
		rest, ok := strings.CutPrefix(name, cgroupName)
		if !ok {
			continue
		}
		owner, _, _ := strings.Cut(rest, ".")
		if pid, err := strconv.Atoi(owner); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			unix.Rmdir(filepath.Join(parent, name))
		}
	}
}
