package jailtest

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// MakeQueue makes a POSIX message queue.
func MakeQueue(t *testing.T, name string) {
	t.Helper()
	fd, err := attacker.MqOpen(name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL)
	testkit.Must(t, err)
	unix.Close(fd)
	t.Cleanup(func() { attacker.MqUnlink(name) })
}
