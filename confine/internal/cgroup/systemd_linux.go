package cgroup

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

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
func MakeScope(place Location, pid int, l limits) (*Cgroup, error) {
	name := fmt.Sprintf("%s%d.%d.scope", Name, os.Getpid(), count.Add(1))
	deadline := time.Now().Add(systemdPatience)
	if err := startScope(place.Manager, name, pid, l, deadline); err != nil {
		return nil, step.On("systemd: "+name, err)
	}
	g := &Cgroup{Dir: name}
	for !g.contains(pid) {
		if time.Now().After(deadline) {
			return nil, step.On("systemd: "+name, unix.ETIMEDOUT)
		}
		time.Sleep(200 * time.Microsecond)
	}
	own, _ := Path(proc.ReadLine("/proc/" + strconv.Itoa(pid) + "/cgroup"))
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
