package mediate

import (
	"bytes"
	"encoding/binary"
	"path"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// observer reports refusals of the kernel. It decides nothing. The receiver alone uses it.
type observer struct {
	judge   *judge
	args    *reader
	network bool // the network gateway reports refused connections
	own     loopback
}

// call looks at an exec, a connect or a umask, which continues in the kernel. It reports
// an exec or a connect that the policy does not allow, and notes that the umask is unknown from
// now on. It decides nothing: the arguments can change until the kernel reads them.
func (o *observer) call(r *Request) {
	switch r.Op {
	case seccomp.OpExec:
		o.exec(r)
	case seccomp.OpUmask:
		o.args.umask = spec.UnknownUmask
	case seccomp.OpConnect:
		o.connect(r)
	}
}

func (o *observer) exec(r *Request) {
	defer r.close()
	if o.args.read(r) != 0 {
		return
	}
	full, mode, errno := o.resolve(r, r.bases[0], r.names[0])
	if errno != 0 || mode&unix.S_IFMT != unix.S_IFREG || mode&0o111 == 0 {
		return // not a program
	}
	if _, covered := o.judge.profile.Find(full); covered && !o.judge.profile.Allows(policy.OpExec, full) {
		o.judge.reporter.Report(r, policy.AxisProcess, "exec", full, false)
		return
	}
}

// refusedStart reports the start of a program that is refused, whichever it is. What is no program is not reported.
func (o *observer) refusedStart(r *Request) {
	defer r.close()
	if o.args.read(r) != 0 {
		return
	}
	full, mode, errno := o.resolve(r, r.bases[0], r.names[0])
	if errno == 0 && mode&unix.S_IFMT == unix.S_IFREG {
		o.judge.reporter.Report(r, policy.AxisProcess, "exec", full, false)
	}
}

func (o *observer) connect(r *Request) {
	b := make([]byte, min(r.arg(2), 128))
	if len(b) < 2 {
		return
	}
	// The kernel refuses an address that it cannot read whole, and connects nowhere.
	if n, errno := proc.ReadMemory(int(r.N.Tid), r.arg(1), b); errno != 0 || n < len(b) {
		return
	}
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_UNIX:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		o.socket(r, string(name))
	case unix.AF_INET, unix.AF_INET6:
		addr, ok := sys.ParseSockaddr(b)
		if !ok || o.network || addr.Port() == 0 {
			return
		}
		switch {
		case addr.Addr().IsUnspecified(), addr.Addr().IsLoopback() && addr.Port() != 53:
			if int(r.N.Tid) != o.judge.reporter.Self {
				o.own.connect(r, addr)
			}
		case !addr.Addr().IsLoopback():
			o.judge.reporter.Report(r, policy.AxisNet, "connect", addr.String(), false)
		case addr.Port() == 53:
			o.judge.reporter.Report(r, policy.AxisNet, "resolve", "", false)
		}
	}
}

// socket reports a UNIX socket that the jail does not have, or a socket of the host in
// a granted directory, which the jail hides.
func (o *observer) socket(r *Request, name string) {
	base := -1
	switch {
	case name == "": // an abstract socket
		return
	case name[0] != '/':
		var errno syscall.Errno
		if base, errno = openBase(int(r.N.Tid), seccomp.AtCwd, 0); errno != 0 {
			return
		}
		defer unix.Close(base)
	case unix.Access(name, unix.F_OK) == unix.ENOENT:
		o.judge.reporter.Report(r, policy.AxisIPC, "connect", path.Clean(name), true)
		return
	}
	full, _, errno := o.resolve(r, base, name)
	e, covered := o.judge.profile.Find(full)
	switch {
	case errno != 0:
	case covered && e.Rights == 0:
		o.judge.reporter.Report(r, policy.AxisIPC, "connect", full, false)
	}
}

// outsideResolver returns a resolver for the caller of a request. The receiver's thread uses it.
func outsideResolver(r *Request) *resolver {
	return &resolver{tid: int(r.N.Tid), open: openOutside, process: func() int { tgid, _, _ := proc.ThreadStatus(int(r.N.Tid)); return tgid }}
}

func (o *observer) resolve(r *Request, base int, name string) (full string, mode uint32, errno syscall.Errno) {
	w := outsideResolver(r)
	at, errno := w.resolve(base, name)
	defer at.close()
	if errno != 0 {
		return "", 0, errno
	}
	fd, errno := w.object(&at)
	if errno != 0 {
		return "", 0, errno
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", 0, step.ErrnoOrEIO(err)
	}
	full, errno = pathOf(fd)
	return strings.TrimSuffix(full, " (deleted)"), st.Mode, errno // the object may be unlinked
}

// onlyReads reports whether a request is an open that only reads, in a jail with mounts.
// The kernel decides such an open. The filter hands reads over only if a link in a grant
// leads to a sensitive path (policy.Profile.LinksAstray) or the launcher asks for it (Spec.WatchReads),
// because mediation slows opens down.
func (m *Mediator) onlyReads(r *Request) bool {
	return !m.hostNS && r.Op == seccomp.OpOpen && r.openFlags()&seccomp.WritesOrCreates == 0
}

// open reports the open of a symlink that leads to a hidden path or out of the jail.
// It decides nothing, because the name can change until the kernel resolves it.
func (o *observer) open(r *Request) {
	defer r.close()
	if o.args.read(r) != 0 || strings.HasPrefix(r.names[0], "/proc/") {
		return
	}
	w := outsideResolver(r)
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 || !isLink(&at) || r.openFlags()&unix.O_NOFOLLOW != 0 {
		return
	}
	for range maxSymlinks {
		fd, errno := w.advance(&at)
		switch {
		case errno != 0:
			o.judge.recordLostLink(r, policy.OpRead, &at, errno)
			return
		case fd >= 0: // a magic link
			unix.Close(fd)
			return
		case isLink(&at):
			continue
		}
		full, errno := at.full()
		if errno != 0 {
			return
		}
		switch e, covered := o.judge.profile.Find(full); {
		case covered && e.Rights == 0:
			o.judge.reporter.Report(r, policy.AxisFs, policy.OpRead.String(), full, false)
		case !covered && !exists(&at):
			o.judge.reporter.Report(r, policy.AxisFs, policy.OpRead.String(), full, true)
		}
		return
	}
}

func isLink(at *pathRef) bool {
	var st unix.Stat_t
	err := unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}
