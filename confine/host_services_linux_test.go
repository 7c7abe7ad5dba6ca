package confine

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
)

// What the host has that a jail is to be kept from.

// shortDir is a directory for sockets: an address has room for 107 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// makeShared makes memory that every process of the host finds by the key.
func makeShared(t *testing.T, key int) {
	t.Helper()
	shm, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(shm, unix.IPC_RMID, nil) })
}

// accept listens and takes whatever comes, and returns where.
func accept(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go egresstest.Serve(l, func(net.Conn) {})
	return l.Addr().String()
}

func makeQueue(t *testing.T, name string) {
	t.Helper()
	fd, err := mqOpen(name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		t.Fatalf("mq_open: %v", err)
	}
	unix.Close(fd)
	t.Cleanup(func() { mqUnlink(name) })
}
