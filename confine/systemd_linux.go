package confine

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// managerHere is the private socket of a user's service manager, and the cgroup that
// is the manager's. The way by a message bus costs a second hop. The system's own
// manager is not asked: root has a cgroup of its own, or the sampler.
func managerHere(mount string, uid int) (socket, root string) {
	if uid == 0 {
		return "", ""
	}
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = "/run/user/" + strconv.Itoa(uid)
	}
	socket = filepath.Join(runtime, "systemd/private")
	root = filepath.Join(mount, fmt.Sprintf("user.slice/user-%d.slice/user@%d.service", uid, uid))
	if unix.Access(socket, unix.W_OK) != nil || !hasControllers(filepath.Join(root, "cgroup.controllers")) {
		return "", ""
	}
	return socket, root
}

// patience bounds a conversation with systemd, which takes a few milliseconds.
const systemdPatience = 3 * time.Second

// makeScope asks systemd for a scope with the limits around the jail's init, and
// waits until it is in it.
func makeScope(place cgroupPlace, pid int, l cgroupLimits) (*jailCgroup, error) {
	name := fmt.Sprintf("%s%d.%d.scope", cgroupName, os.Getpid(), cgroupCount.Add(1))
	deadline := time.Now().Add(systemdPatience)
	if err := startScope(place.Manager, name, pid, l, deadline); err != nil {
		return nil, on("systemd: "+name, err)
	}
	g := &jailCgroup{dir: name, fd: -1}
	for !g.holds(pid) {
		if time.Now().After(deadline) {
			return nil, on("systemd: "+name, unix.ETIMEDOUT)
		}
		time.Sleep(200 * time.Microsecond)
	}
	// Where it is, the kernel knows; below what we see as the root.
	mount, top := cgroupMount(procLine("/proc/self/mountinfo"))
	own, _ := cgroupPath(procLine("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	rel, err := filepath.Rel(top, own)
	if err != nil {
		return nil, on(own, err)
	}
	g.dir = filepath.Join(mount, rel)
	return g, g.verify(l)
}

// startScope is org.freedesktop.systemd1.Manager.StartTransientUnit.
func startScope(socket, name string, pid int, l cgroupLimits, deadline time.Time) error {
	conn, err := net.DialTimeout("unix", socket, systemdPatience)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(deadline)
	properties := []dbusProperty{
		{"Description", "a jail of mcp-jail"},
		{"PIDs", []uint32{uint32(pid)}},
		{"CollectMode", "inactive-or-failed"}, // nothing stays when it failed
	}
	if l.memoryMB > 0 {
		properties = append(properties, dbusProperty{"MemoryMax", uint64(l.memoryMB) << 20}, dbusProperty{"MemorySwapMax", uint64(0)})
	}
	if l.tasks > 0 {
		properties = append(properties, dbusProperty{"TasksMax", uint64(l.tasks)})
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
