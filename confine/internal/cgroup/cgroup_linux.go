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

// Locate returns where jails of this process can have their cgroups. It looks once. Each start
// waits for it, because the stub enters its cgroup before the policy is known. So it stops as
// soon as the result is certain.
var Locate = sync.OnceValue(func() Location {
	cgroups := proc.ReadLine("/proc/self/cgroup")
	own, _ := Path(cgroups)
	f := facts{Own: own, Older: isVersion1(cgroups), UID: os.Getuid(), Delegated: delegated}
	if f.Own == "" || f.Older {
		return locate(f)
	}
	if IsInitialRoot(usualCgroup) {
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

// initialNamespace is the cgroup namespace that the kernel starts with (linux/nsfs.h,
// CGROUP_NS_INIT_INO).
const initialNamespace = "cgroup:[4026531835]"

// IsInitialRoot reports whether the whole v2 hierarchy is mounted at dir and this process is in
// the initial cgroup namespace. Then Locate need not read the list of all mounts, which is slow.
func IsInitialRoot(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return false
	}
	if unix.Access(dir+"/cgroup.type", unix.F_OK) != unix.ENOENT { // every cgroup but the root has this file
		return false
	}
	namespace, err := os.Readlink("/proc/self/ns/cgroup")
	return err == nil && namespace == initialNamespace
}

// delegated reports whether this process may make cgroups in dir that have both controllers.
// Moving a process into one of them takes the right to write cgroup.procs of their common
// ancestor (cgroups(7)).
func delegated(dir string) bool {
	return unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil &&
		hasControllers(filepath.Join(dir, "cgroup.subtree_control"))
}

func hasControllers(file string) bool {
	words := " " + proc.ReadLine(file) + " "
	return strings.Contains(words, " memory ") && strings.Contains(words, " pids ")
}

// Cgroup is the cgroup of one jail.
type Cgroup struct {
	Dir  string
	Fd   int  // of Dir, for the fork; -1 if systemd made the cgroup
	Ours bool // the launcher made it and removes it; false: systemd does

	events [2]*os.File // memory.events, pids.events
	seen   [2]int64    // the counts that NewEvents has reported
}

// events are the counters that the kernel increases when a limit is exceeded.
var events = [2]struct{ file, key string }{{"memory.events", "oom_kill"}, {"pids.events", "max"}}

// Name begins the name of each cgroup. The PID of its launcher follows, so that Sweep can tell
// whether the launcher still runs.
const Name = "mcp-jail."

var count atomic.Int64

// New makes an empty cgroup below parent.
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

// Limit sets the limits and reads them back. The jail gets no swap, so that memory_mb is all it
// may use.
func (g *Cgroup) Limit(l limits) error {
	for _, f := range g.limits(l) {
		err := g.set(f)
		if errors.Is(err, os.ErrNotExist) && f.name == fileSwapMax {
			if swap, known := proc.TotalSwap("/proc"); known && swap == 0 {
				continue // there is nothing to limit
			}
			err = errors.New("the host has swap, and this kernel does not limit it: boot with swapaccount=1, or turn swap off")
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

// limits are the values for memory.max and pids.max; 0 is no limit.
type limits struct{ memoryMB, tasks int }

// LimitsOf returns the limits for a jail. Once the supervisor runs, the limit of tasks is lower
// than RLIMIT_NPROC, so that the cgroup refuses first: RLIMIT_NPROC has no event.
//
// supervised says that the supervisor runs already. A supervisor that starts later needs its
// threads then, because Go's runtime dies without them. So the cgroup allows
// spec.SupervisorThreads more tasks until then. An ordinary user's server cannot take these,
// because RLIMIT_NPROC stops it before.
func LimitsOf(l policy.Limits, supervised bool) limits {
	c := limits{memoryMB: l.MemoryMB}
	if l.Processes > 0 {
		c.tasks = l.Processes + spec.SupervisorThreads
		if !supervised {
			c.tasks += spec.SupervisorThreads
		}
	}
	return c
}

// Tighten lowers the limit of tasks once the supervisor has its threads (see LimitsOf). exceeded
// reports whether the jail has more tasks than that limit. The cgroup has no event for that,
// because RLIMIT_NPROC may have refused further tasks.
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

func (g *Cgroup) verify(l limits) error {
	for _, f := range g.limits(l) {
		if got := proc.ReadLine(filepath.Join(g.Dir, f.name)); got != f.value && !(f.name == fileSwapMax && got == "") {
			return step.On(filepath.Join(g.Dir, f.name), fmt.Errorf("it is %q and not %s", got, f.value))
		}
	}
	return nil
}

// Contains reports whether a process is in the cgroup.
func (g *Cgroup) Contains(pid int) bool {
	own, ok := Path(proc.ReadLine("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	return ok && filepath.Base(own) == filepath.Base(g.Dir)
}

// Adopt moves a process into the cgroup, with all of its threads.
func (g *Cgroup) Adopt(pid int) error {
	return os.WriteFile(filepath.Join(g.Dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

func (g *Cgroup) kill() error {
	return os.WriteFile(filepath.Join(g.Dir, "cgroup.kill"), []byte("1"), 0) // Linux 5.14
}

// NewEvents reports whether, since the previous call, the kernel ended a process for want of
// memory, and whether it refused to create a process.
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

// Watch calls changed whenever a counter may have changed, and once more when stop is closed.
func (g *Cgroup) Watch(stop <-chan struct{}, changed func()) {
	defer changed()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		<-stop // Process.Denials reads the counters, too
		return
	}
	f := os.NewFile(uintptr(fd), "inotify") // non-blocking, so Close ends a Read
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

// Remove ends all processes of the cgroup and removes it. It retries for a second, because a
// process that has just died stays in the cgroup for a moment.
func (g *Cgroup) Remove() {
	if g.Fd >= 0 {
		unix.Close(g.Fd)
		g.Fd = -1
	}
	for _, f := range g.events {
		f.Close()
	}
	if !g.Ours {
		g.kill() // systemd removes the empty scope
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

// Sweep removes the cgroups of launchers that were killed. They are empty once the jail has
// ended, which it does when its launcher ends.
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
