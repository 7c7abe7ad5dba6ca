package jailtest

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"golang.org/x/sys/unix"
)

// MakeSharedMemory makes a System V segment that every process of the host finds by the key.
func MakeSharedMemory(t *testing.T, key int) {
	t.Helper()
	shm, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(shm, unix.IPC_RMID, nil) })
}

// MakeQueue makes a POSIX message queue.
func MakeQueue(t *testing.T, name string) {
	t.Helper()
	fd, err := attacker.MqOpen(name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		t.Fatalf("mq_open: %v", err)
	}
	unix.Close(fd)
	t.Cleanup(func() { attacker.MqUnlink(name) })
}
