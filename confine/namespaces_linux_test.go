package confine_test

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// TestFailedStepIsNoProhibition: where user namespaces can be made, a step that fails is told as
// itself. The exception is what every jail does in them, if it fails as a filter or a security module
// makes it fail.
func TestFailedStepIsNoProhibition(t *testing.T) {
	jailtest.Needs(t)
	errnos := []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EAGAIN, unix.ENOMEM, unix.ENOSPC, unix.EUSERS, unix.EINVAL, unix.EROFS, unix.ENOENT, unix.EMFILE}
	refusals := errnos[:3]
	every := []string{sys.PrivateMounts, sys.OwnFilesystems, sys.Loopback}
	for _, name := range slices.Concat(every, stepNames(), []string{"descriptors", "init", sys.Exec, sys.Spec, "create directory", "requests"}) {
		for _, errno := range errnos {
			in := &sys.Error{Step: name, Errno: errno, Detail: "/dev/null"}
			f, err := confine.RefusedNamespaces(in)
			want := kernel.Unknown
			if slices.Contains(every, name) && slices.Contains(refusals, errno) {
				want = kernel.No
			} else if f.Answer == kernel.Yes {
				want = kernel.Yes // user namespaces can be made, so it was something else
			}
			if f.Answer != want || err != in || want == kernel.No && !strings.Contains(f.Detail, strconv.Quote(name)) {
				t.Errorf("%s, %v: %+v, %v", name, errno, f, err)
			}
		}
	}
}

func stepNames() (names []string) {
	b := &jail.Builder{}
	for _, s := range slices.Concat(b.FirstSteps(), b.MountSteps(), b.RestrictSteps()) {
		names = append(names, s.Name)
	}
	return names
}
