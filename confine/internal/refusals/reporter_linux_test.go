package refusals

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestRefusalsLeaveOutOtherErrors: refusals that no policy could grant, that programs expect, or
// that the self-test causes are not recorded.
func TestRefusalsLeaveOutOtherErrors(t *testing.T) {
	const nscd = "/var/run/nscd/socket"
	long := "/" + strings.Repeat("x", 5000)
	for _, c := range []struct {
		axis              policy.Axis
		operation, target string
		hosts, self       bool
		want              string // of the target, as it is told
	}{
		{policy.AxisFs, "write", "/a", false, false, "/a"},
		{policy.AxisFs, "write", "/a", false, true, ""},
		{policy.AxisFs, "write", "/proc/self/x", false, false, ""},
		{policy.AxisFs, "create", "/dev/x", false, false, ""},
		{policy.AxisFs, "create", "/sys", false, false, ""},
		{policy.AxisFs, "create", "/system", false, false, "/system"},
		{policy.AxisIPC, "connect", "/dev/log", false, false, "/dev/log"},
		{policy.AxisProcess, "exec", "/proc/x", false, false, "/proc/x"},
		{policy.AxisIPC, "connect", nscd, false, false, ""},
		{policy.AxisFs, "create", nscd, false, false, nscd},
		{policy.AxisFs, "read", "/etc/hosts", true, false, ""},
		{policy.AxisFs, "read", "/etc/hosts", false, false, "/etc/hosts"},
		{policy.AxisFs, "write", "/etc/hosts", true, false, "/etc/hosts"},
		{policy.AxisFs, "read", "/etc/passwd", true, false, "/etc/passwd"},
		{policy.AxisFs, "read", long, false, false, long[:4096]},
	} {
		var told []string
		l := &Reporter{ResolvesHosts: c.hosts, Say: func(m spec.Event) { told = append(told, m.Target) }}
		if c.self {
			l.Self = unix.Gettid()
		}
		l.Report(&seccomp.Notification{Tid: uint32(unix.Gettid())}, c.axis, c.operation, c.target, false)
		if want := []string{c.want}; !slices.Equal(told, want) && (c.want != "" || told != nil) {
			t.Errorf("%s %s %.20s: told %.50q, want %.20q", c.axis, c.operation, c.target, told, c.want)
		}
	}
}
