package kernel

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// LocateCgroup returns where jails of this process can have their cgroups. It looks once.
var LocateCgroup = sync.OnceValue(func() CgroupLocation {
	own, _ := CgroupPath(sys.ReadLine("/proc/self/cgroup"))
	return locate(facts{Own: own, UID: os.Getuid(), Manager: managerHere(os.Getuid()), Has: hasControllers})
})

func hasControllers(dir string) bool {
	words := " " + sys.ReadLine(filepath.Join(dir, "cgroup.controllers")) + " "
	return strings.Contains(words, " memory ") && strings.Contains(words, " pids ")
}

// Cgroup is the cgroup of one jail, a scope of systemd.
type Cgroup struct {
	Dir string

	events [2]*os.File // memory.events, pids.events
	seen   [2]int64    // the counts that NewEvents has reported
}

// events are the counters that the kernel increases when a limit is exceeded.
var events = [2]struct{ file, key string }{{"memory.events", "oom_kill"}, {"pids.events", "max"}}

// CgroupName begins the name of each scope. The PID of its launcher follows.
const CgroupName = "mcp-jail."

var count atomic.Int64

const (
	fileSwapMax = "memory.swap.max"
	filePidsMax = "pids.max"
)

// setting is a file of a cgroup, and the property of systemd that sets it.
type setting struct {
	file, property string
	value          uint64
}

func (l limits) settings() (all []setting) {
	if l.memoryMB > 0 {
		all = append(all, setting{"memory.max", "MemoryMax", uint64(l.memoryMB) << 20}, setting{fileSwapMax, "MemorySwapMax", 0})
	}
	if l.tasks > 0 {
		all = append(all, setting{filePidsMax, "TasksMax", uint64(l.tasks)})
	}
	return all
}

// limits are the values for memory.max and pids.max; 0 is no limit.
type limits struct{ memoryMB, tasks int }

// CgroupLimits returns the limits for a jail. Once the supervisor runs, the limit of tasks is lower
// than RLIMIT_NPROC, so that the cgroup refuses first: RLIMIT_NPROC has no event.
//
// supervised says that the supervisor runs already. A supervisor that starts later needs its
// threads then, because Go's runtime dies without them. So the cgroup allows
// spec.SupervisorThreads more tasks until then. An ordinary user's server cannot take these,
// because RLIMIT_NPROC stops it before.
func CgroupLimits(l policy.Limits, supervised bool) limits {
	c := limits{memoryMB: l.MemoryMB}
	if l.Processes > 0 {
		c.tasks = l.Processes + spec.SupervisorThreads + spec.OtherTasks - 1
		if !supervised {
			c.tasks += spec.SupervisorThreads
		}
	}
	return c
}

// Tighten lowers the limit of tasks once the supervisor has its threads (see CgroupLimits). exceeded
// reports whether the jail has more tasks than that limit. The cgroup has no event for that,
// because RLIMIT_NPROC may have refused further tasks.
func (g *Cgroup) Tighten(l policy.Limits) (exceeded bool, err error) {
	tight := CgroupLimits(l, true)
	if tight.tasks == 0 {
		return false, nil
	}
	if err := os.WriteFile(filepath.Join(g.Dir, filePidsMax), []byte(strconv.Itoa(tight.tasks)), 0); err != nil {
		return false, err
	}
	tasks, _ := strconv.Atoi(sys.ReadLine(filepath.Join(g.Dir, "pids.current")))
	return tasks > tight.tasks, g.verify(tight)
}

func (g *Cgroup) verify(l limits) error {
	for _, s := range l.settings() {
		got := sys.ReadLine(filepath.Join(g.Dir, s.file))
		if swap, known := sys.TotalSwap("/proc"); s.file == fileSwapMax && got == "" && known && swap == 0 {
			continue // there is nothing to limit
		}
		if got != strconv.FormatUint(s.value, 10) {
			return sys.On(filepath.Join(g.Dir, s.file), fmt.Errorf("it is %q and not %d", got, s.value))
		}
	}
	return nil
}

// contains reports whether a process is in the cgroup.
func (g *Cgroup) contains(pid int) bool {
	own, ok := CgroupPath(sys.ReadLine("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	return ok && filepath.Base(own) == filepath.Base(g.Dir)
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

// End ends all processes of the cgroup. systemd removes the empty scope.
func (g *Cgroup) End() {
	for _, f := range g.events {
		f.Close()
	}
	os.WriteFile(filepath.Join(g.Dir, "cgroup.kill"), []byte("1"), 0) // Linux 5.14
}

// managerHere returns the private socket of the user's systemd, which is one hop shorter than the
// message bus, or "".
func managerHere(uid int) string {
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = "/run/user/" + strconv.Itoa(uid)
	}
	socket := filepath.Join(runtime, "systemd/private")
	if unix.Access(socket, unix.W_OK) != nil {
		return ""
	}
	return socket
}

// systemdPatience bounds a request to systemd, which usually takes a few milliseconds.
const systemdPatience = 3 * time.Second

// MakeScope asks systemd for a scope with the limits for the process pid, and waits until the
// process is in it.
func MakeScope(place CgroupLocation, pid int, l limits) (*Cgroup, error) {
	name := fmt.Sprintf("%s%d.%d.scope", CgroupName, os.Getpid(), count.Add(1))
	deadline := time.Now().Add(systemdPatience)
	if err := startScope(place.Manager, name, pid, l, deadline); err != nil {
		return nil, sys.On("systemd: "+name, err)
	}
	g := &Cgroup{Dir: name}
	for !g.contains(pid) {
		if time.Now().After(deadline) {
			return nil, sys.On("systemd: "+name, unix.ETIMEDOUT)
		}
		time.Sleep(200 * time.Microsecond)
	}
	own, _ := CgroupPath(sys.ReadLine("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	g.Dir = filepath.Join(hierarchy, own)
	return g, g.verify(l)
}

func startScope(socket, name string, pid int, l limits, deadline time.Time) error {
	conn, err := net.DialTimeout("unix", socket, systemdPatience)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(deadline)
	properties := []dbusProperty{
		{"Description", "a jail of mcp-jail"},
		{"PIDs", []uint32{uint32(pid)}},
		{"CollectMode", "inactive-or-failed"}, // remove the unit even after a failure
	}
	for _, s := range l.settings() {
		properties = append(properties, dbusProperty{s.property, s.value})
	}
	var body dbusBody
	body.str(name)
	body.str("fail")
	body.properties(properties)
	body.array(8, func() {}) // no further units
	message := dbusMessage("/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", body.b)
	if _, err := conn.Write(append(dbusAuth(os.Getuid()), message...)); err != nil {
		return err
	}
	return dbusReply(conn)
}
