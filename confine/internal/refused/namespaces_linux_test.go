package refused_test

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/refused"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// TestFailedStepIsNoProhibition: where user namespaces can be made, a step that fails is told as
// itself. The exception is what every jail does in them, if it fails as a filter or a security module
// makes it fail.
func TestFailedStepIsNoProhibition(t *testing.T) {
	jailtest.Needs(t)
	errnos := []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EAGAIN, unix.ENOMEM, unix.ENOSPC, unix.EUSERS, unix.EINVAL, unix.EROFS, unix.ENOENT, unix.EMFILE}
	refusals := errnos[:3]
	every := []string{step.PrivateMounts, step.OwnFilesystems, step.Loopback}
	for _, name := range slices.Concat(every, stepNames(), []string{"descriptors", "init", step.Exec, step.Spec, "create directory", "requests"}) {
		for _, errno := range errnos {
			in := &step.Error{Step: name, Errno: errno, Detail: "/dev/null"}
			f, err := refused.Namespaces(in)
			want := features.Unknown
			if slices.Contains(every, name) && slices.Contains(refusals, errno) {
				want = features.No
			} else if f.Answer == features.Yes {
				want = features.Yes // user namespaces can be made, so it was something else
			}
			if f.Answer != want || err != in || want == features.No && !strings.Contains(f.Detail, strconv.Quote(name)) {
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
