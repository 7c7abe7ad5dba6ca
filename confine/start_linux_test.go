package confine_test

import (
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// TestShortageIsNoProhibition: an error that also a temporary shortage has does not count as a
// prohibition of user namespaces where they can be made.
func TestShortageIsNoProhibition(t *testing.T) {
	jailtest.Needs(t)
	for _, errno := range []syscall.Errno{unix.EAGAIN, unix.ENOMEM, unix.EPERM, unix.ENOSPC, unix.EACCES} {
		for _, name := range []string{step.Namespaces, "private mounts", step.Exec} {
			in := &step.Error{Step: name, Errno: errno}
			if f, err := confine.RefusedNamespaces(in); f.Answer == features.No || err != in {
				t.Errorf("%s, %v: %+v, %v", name, errno, f, err)
			}
		}
	}
}
