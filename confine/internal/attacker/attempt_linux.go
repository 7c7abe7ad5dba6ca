package attacker

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func Holds(o Outcome) bool { return o != Succeeded && !strings.HasPrefix(o, Succeeded+" ") }

// emptyHanded is an outcome that is no errno: the attempt came back with nothing.
type emptyHanded string

func (r emptyHanded) Error() string { return string(r) }

func nothingIf(empty bool) error {
	if empty {
		return emptyHanded("nothing")
	}
	return nil
}

// Attempt is a verb of the probe with its arguments.
type Attempt []string

func Try(verb string, args ...string) Attempt { return append(Attempt{verb}, args...) }

func (a Attempt) String() string { return strings.Join(a, " ") }

// Outcome is what came of an attempt: "ok", perhaps with an answer behind it, or
// the name of an errno.
type Outcome = string

const Succeeded Outcome = "ok"

// The kernel tests start real jails. The program in them is this test binary
// again, under another argv[0]: it makes the attempts that it is given and
// reports one outcome for each (probe_linux_test.go).

const (
	Name       = "mcp-jail-attacker" // attempts, in a jail or outside of one
	AsUserName = "mcp-jail-as-user"  // becomes an ordinary user, then the rest of argv
)

func ErrnoName(e syscall.Errno) string {
	if e == 0 {
		return "<nil>"
	}
	return unix.ErrnoName(e)
}
