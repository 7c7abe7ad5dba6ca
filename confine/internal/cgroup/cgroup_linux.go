package cgroup

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

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// cgroupHere is the place for this process. It is asked for once: at every start
// the shim is put into its cgroup before anybody knows the policy. The start waits for
// that, so what cannot matter any more is not asked.
var Locate = sync.OnceValue(func() Location {
	cgroups := proc.ReadLine("/proc/self/cgroup")
	own, _ := Path(cgroups)
	f := facts{Own: own, Older: isVersion1(cgroups), UID: os.Getuid(), Delegated: delegated}
	if f.Own == "" || f.Older {
		return locate(f)
	}
	if HasDomainControllers(usualCgroup) {
		f.Mount, f.Top = usualCgroup, "/"
	} else {
		f.Mount, f.Top = Mount(proc.ReadLine("/proc/self/mountinfo"))
	}
	f.Booted = unix.Access("/run/systemd/system", unix.F_OK) == nil
	if f.Booted && f.Mount != "" {
		f.Manager, f.Root = managerHere(f.Mount, f.UID)
	}
	return locate(f)
})

// usualCgroup is where distributions mount v2.
const usualCgroup = "/sys/fs/cgroup"

// firstCgroups is the cgroup namespace that the kernel starts with (linux/nsfs.h,
// CGROUP_NS_INIT_INO).
const firstCgroups = "cgroup:[4026531835]"

// wholeCgroup tells that the whole v2 hierarchy is mounted at dir, and that this
// process counts its own cgroup from the same root. On a host that spares the list of
// all mounts, which the kernel writes anew for everybody who reads it.
func HasDomainControllers(dir string) bool {
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
	words := " " + proc.ReadLine(file) + " "
	return strings.Contains(words, " memory ") && strings.Contains(words, " pids ")
}

// jailCgroup is the cgroup of one jail.
type Cgroup struct {
	Dir  string
	Fd   int  // of dir, for the fork; -1 where a manager makes it
	Ours bool // made and removed by us, not by a manager

	events [2]*os.File // memory.events, pids.events
	seen   [2]int64    // what they counted
}

// What is counted there, and where.
var events = [2]struct{ file, key string }{{"memory.events", "oom_kill"}, {"pids.events", "max"}}

// cgroupName tells whose it is, so that what a killed launcher left behind can be
// told from what is in use.
const Name = "mcp-jail."

var count atomic.Int64

// makeCgroup makes an empty cgroup below parent.
func New(parent string) (*Cgroup, error) {
	dir := filepath.Join(parent, fmt.Sprintf("%s%d.%d", Name, os.Getpid(), count.Add(1)))
	if err := unix.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Rmdir(dir)
		return nil, err
	}
	return &Cgroup{Dir: dir, Fd: fd, Ours: true}, nil
}

// limit sets the limits and reads them back. No swap: what the jail may use is
// what memory_mb says.
func (g *Cgroup) Limit(l limits) error {
	for _, f := range g.limits(l) {
		err := g.set(f)
		if errors.Is(err, os.ErrNotExist) && f.name == fileSwapMax {
			continue // a kernel without swap
		}
		if err != nil {
			return step.On(f.name, err)
		}
	}
	return g.verify(l)
}

func (g *Cgroup) set(v setting) error {
	return os.WriteFile(filepath.Join(g.Dir, v.name), []byte(v.value), 0)
}

const (
	fileMemoryMax = "memory.max"
	fileSwapMax   = "memory.swap.max"
	filePidsMax   = "pids.max"
)

type setting struct{ name, value string }

func (g *Cgroup) limits(l limits) (files []setting) {
	if l.memoryMB > 0 {
		files = append(files, setting{fileMemoryMax, strconv.Itoa(l.memoryMB << 20)}, setting{fileSwapMax, "0"})
	}
	if l.tasks > 0 {
		files = append(files, setting{filePidsMax, strconv.Itoa(l.tasks)})
	}
	return files
}

// limits are memory.max and pids.max; 0 is none.
type limits struct{ memoryMB, tasks int }

// cgroupLimitsOf are the limits for a jail. Its count of tasks is one less than
// RLIMIT_NPROC, which tells nobody when it refuses.
//
// A supervisor that is still to come needs its threads, and its runtime dies without.
// A server that takes all that it can get before must not have them, so until then there is
// more room in the cgroup than RLIMIT_NPROC lets anybody but the supervisor use.
func LimitsOf(l policy.Limits, supervised bool) limits {
	c := limits{memoryMB: l.MemoryMB}
	if l.Processes > 0 {
		c.tasks = l.Processes + spec.InitThreads
		if !supervised {
			c.tasks += spec.InitThreads
		}
	}
	return c
}

// supervise takes back what was left over for the supervisor, which has its threads now. It
// tells whether the server has more than its limit by then: RLIMIT_NPROC, which may have
// kept it from more, counts nothing.
func (g *Cgroup) Tighten(l policy.Limits) (exceeded bool, err error) {
	tight := LimitsOf(l, true)
	if tight.tasks == 0 {
		return false, nil
	}
	if err := g.set(setting{filePidsMax, strconv.Itoa(tight.tasks)}); err != nil {
		return false, err
	}
	tasks, _ := strconv.Atoi(proc.ReadLine(filepath.Join(g.Dir, "pids.current")))
	return tasks > tight.tasks, g.verify(tight)
}

// verify reads the limits back.
func (g *Cgroup) verify(l limits) error {
	for _, f := range g.limits(l) {
		if got := proc.ReadLine(filepath.Join(g.Dir, f.name)); got != f.value && !(f.name == fileSwapMax && got == "") {
			return step.On(filepath.Join(g.Dir, f.name), fmt.Errorf("it is %q and not %s", got, f.value))
		}
	}
	return nil
}

// holds tells whether a process is in the cgroup.
func (g *Cgroup) Contains(pid int) bool {
	own, ok := Path(proc.ReadLine("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	return ok && filepath.Base(own) == filepath.Base(g.Dir)
}

// adopt moves a process in, with all of its threads.
func (g *Cgroup) Adopt(pid int) error {
	return os.WriteFile(filepath.Join(g.Dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// kill ends every process in the cgroup, wherever it has hidden otherwise.
func (g *Cgroup) kill() error {
	return os.WriteFile(filepath.Join(g.Dir, "cgroup.kill"), []byte("1"), 0) // Linux 5.14
}

// reached reports what the kernel ended and refused since the last time.
func (g *Cgroup) NewEvents() (memory, processes bool) {
	var more [2]bool
	for i, e := range events {
		if g.events[i] == nil {
			f, err := os.Open(filepath.Join(g.Dir, e.file))
			if err != nil {
				continue
			}
			g.events[i] = f
		}
		var buf [512]byte
		size, _ := g.events[i].ReadAt(buf[:], 0)
		if n := parseLine(string(buf[:size]), e.key); n > g.seen[i] {
			g.seen[i], more[i] = n, true
		}
	}
	return more[0], more[1]
}

// watch calls changed whenever a count may have changed, until stop is closed and
// once more then.
func (g *Cgroup) Watch(stop <-chan struct{}, changed func()) {
	defer changed()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		<-stop // Process.Denials looks, too
		return
	}
	f := os.NewFile(uintptr(fd), "inotify") // of the runtime's poller: Close ends a Read
	for _, e := range events {
		unix.InotifyAddWatch(fd, filepath.Join(g.Dir, e.file), unix.IN_MODIFY)
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
func (g *Cgroup) Remove() {
	if g.Fd >= 0 {
		unix.Close(g.Fd)
		g.Fd = -1
	}
	for _, f := range g.events {
		f.Close()
	}
	if !g.Ours {
		g.kill() // systemd removes a scope when it is empty
		return
	}
	for wait := 100 * time.Microsecond; wait < time.Second; wait *= 2 {
		if err := unix.Rmdir(g.Dir); err == nil || errors.Is(err, unix.ENOENT) {
			return
		}
		g.kill()
		time.Sleep(wait)
	}
}

// sweep removes the cgroups that launchers left behind that were killed: empty
// ones, since the kernel has ended what was in them.
func Sweep(parent string) {
	for _, name := range proc.ReadDirNames(parent) {
		rest, ok := strings.CutPrefix(name, Name)
		if !ok {
			continue
		}
		owner, _, _ := strings.Cut(rest, ".")
		if pid, err := strconv.Atoi(owner); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			unix.Rmdir(filepath.Join(parent, name))
		}
	}
}
