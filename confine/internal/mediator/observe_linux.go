package mediator

import (
	"bytes"
	"encoding/binary"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// observer reports refusals of the kernel. It decides nothing: the arguments of a call that continues can
// change until the kernel reads them. The receiver alone uses it.
type observer struct {
	judge *judge
	args  *reader
}

// exec reports the start of a program that the policy does not allow, or of any if it is refused. What is no
// program is not reported.
func (o *observer) exec(r *request, refused bool) {
	defer r.close()
	if o.args.read(r) != 0 {
		return
	}
	full, mode, errno := outsideResolver(r).target(r.bases[0], r.names[0], true)
	_, covered := o.judge.profile.Find(full)
	switch {
	case errno != 0 || mode&unix.S_IFMT != unix.S_IFREG:
	case refused || mode&0o111 != 0 && covered && !o.judge.profile.Allows(policy.OpExec, full):
		o.judge.reporter.Report(&r.n, policy.AxisProcess, "exec", full, false)
	}
}

// connect reports a connection to a UNIX socket. The gateway reports all others.
func (o *observer) connect(r *request) {
	b := make([]byte, min(r.arg(2), 128))
	if len(b) < 2 {
		return
	}
	// The kernel refuses an address that it cannot read whole, and connects nowhere.
	if n, errno := sys.ReadMemory(int(r.n.Tid), r.arg(1), b); errno != 0 || n < len(b) {
		return
	}
	if binary.NativeEndian.Uint16(b) == unix.AF_UNIX {
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		o.socket(r, string(name))
	}
}

// socket reports a UNIX socket that the jail does not have, or a socket of the host in
// a granted directory, which the jail hides.
func (o *observer) socket(r *request, name string) {
	base := -1
	switch {
	case name == "": // an abstract socket
		return
	case name[0] != '/':
		var errno syscall.Errno
		if base, errno = openBase(int(r.n.Tid), seccomp.AtCwd, 0); errno != 0 {
			return
		}
		defer unix.Close(base)
	case unix.Access(name, unix.F_OK) == unix.ENOENT:
		o.judge.reporter.Report(&r.n, policy.AxisIPC, "connect", path.Clean(name), true)
		return
	}
	full, mode, errno := outsideResolver(r).target(base, name, true)
	if e, covered := o.judge.profile.Find(full); errno == 0 && mode != 0 && covered && e.Rights == 0 {
		o.judge.reporter.Report(&r.n, policy.AxisIPC, "connect", full, false)
	}
}

// outsideResolver returns a resolver for the caller of a request. The receiver's thread uses it.
func outsideResolver(r *request) *resolver {
	return &resolver{tid: int(r.n.Tid), open: openOutside, process: func() int { tgid, _, _ := sys.ThreadStatus(int(r.n.Tid)); return tgid }}
}

func isLink(at *pathRef) bool {
	var st unix.Stat_t
	err := unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}
