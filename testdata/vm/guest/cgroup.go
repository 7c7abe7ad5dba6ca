package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// manager is the cgroup of the user's systemd, which scopes stands for.
const manager = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service"

// cgroupOfUser stands for the user's systemd, as a desktop has it, and runs the tests of limits below
// it. Root gets no cgroup.
func (k *runningKernel) cgroupOfUser() (string, error) {
	if !k.holds() {
		return "", errNotHere("no jail can be built here")
	}
	const socket = "/run/user/1000/systemd/private"
	leaf := manager + "/app.slice/term.scope"
	if err := errors.Join(os.MkdirAll(leaf, 0o755), os.MkdirAll(filepath.Dir(socket), 0o755)); err != nil {
		return "", err
	}
	for _, d := range []string{filepath.Dir(filepath.Dir(manager)), filepath.Dir(manager), manager, manager + "/app.slice"} {
		if err := os.WriteFile(d+"/cgroup.subtree_control", []byte("+memory +pids"), 0); err != nil {
			return "", err
		}
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return "", err
	}
	defer listener.Close()
	go scopes(listener)
	at, err := os.Open(leaf)
	if err := errors.Join(err, os.Chown(socket, int(user), int(user))); err != nil {
		return "", err
	}
	defer at.Close()
	run := func(dir string, argv ...string) (string, error) {
		cmd := user.command(argv...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Setsid: true, Credential: cmd.SysProcAttr.Credential, UseCgroupFD: true, CgroupFD: int(at.Fd()),
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("/vm/integration", "./tests", "-test.v", "-test.run=^TestJail(Cgroup.*|Memory|Processes|ReportsLimits)$")
	if err != nil {
		return "", fmt.Errorf("%v\n%s", err, failures([]byte(out)))
	}
	if madeScopes.Load() == 0 {
		return "", errors.New("no jail asked for a scope")
	}
	return fmt.Sprintf("%d passed, in %d scopes", len(verdictLine.FindAllString(out, -1)), madeScopes.Load()), nil
}

var madeScopes atomic.Int32

// scopes answers requests for scopes.
func scopes(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		buf := make([]byte, 64<<10)
		n, _ := conn.Read(buf)
		_, message, _ := bytes.Cut(buf[:n], []byte("BEGIN\r\n"))
		if err := makeScope(message); err == nil {
			conn.Write(append([]byte("OK 0\r\n"), 'l', 2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)) // a reply without a body
		}
		conn.Close()
	}
}

// makeScope makes a cgroup with the limits of a call of StartTransientUnit, moves the process into it,
// and removes it once it is empty. Its files are the user's, as those of the user's systemd are.
func makeScope(call []byte) error {
	dir := manager + "/app.slice/" + string(regexp.MustCompile(`mcp-jail\.[0-9]+\.[0-9]+\.scope`).Find(call))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	pid, memory, tasks := property(call, "PIDs\x00\x02au\x00", 4), property(call, "MemoryMax\x00\x01t\x00", 8), property(call, "TasksMax\x00\x01t\x00", 8)
	for file, value := range map[string]uint64{"memory.max": memory, "memory.swap.max": 0, "pids.max": tasks, "cgroup.procs": pid, "cgroup.kill": 0} {
		name := filepath.Join(dir, file)
		if value > 0 || file == "memory.swap.max" && memory > 0 {
			os.WriteFile(name, []byte(strconv.FormatUint(value, 10)), 0) // what is missing the tests find
		}
		os.Chown(name, int(user), int(user))
	}
	madeScopes.Add(1)
	go func() {
		for os.Remove(dir) != nil {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return nil
}

// property returns the number of a property: an uint64, or the first element of a list of uint32.
func property(call []byte, name string, size int) uint64 {
	i := bytes.Index(call, []byte(name))
	if i < 0 {
		return 0
	}
	at := (i + len(name) + size - 1) / size * size
	if size == 4 {
		return uint64(binary.LittleEndian.Uint32(call[at+4:])) // after the length of the list
	}
	return binary.LittleEndian.Uint64(call[at:])
}
