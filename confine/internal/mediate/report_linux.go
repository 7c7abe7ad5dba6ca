package mediate

import (
	"bytes"
	"encoding/binary"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// A ledger reports refusals to the launcher, each before the call is answered: what a
// server says of a refusal, it says after the launcher was told.
type Reporter struct {
	Say           func(spec.Event)
	Self          int  // the thread that tests the jail, and is refused everything
	ResolvesHosts bool // /etc/hosts is asked for by every program that looks a name up, and does without
	mu            sync.Mutex
	window        window
	began         time.Time // the page
	Windows       bool      // when its time is over, also if nothing more is refused
}

func (l *Reporter) Refused(r *Request, operation, target string) {
	l.Report(r, policy.AxisFs, operation, target, false)
}

// isAbsent reports a name that does not exist in the jail, and perhaps on the host.
func (l *Reporter) isAbsent(r *Request, target string) {
	l.Report(r, policy.AxisFs, operationName(r.Op), target, true)
}

func operationName(op seccomp.Op) string {
	switch op {
	case seccomp.OpMkdir:
		return policy.OpMkdir.String()
	case seccomp.OpRemove:
		return policy.OpRemove.String()
	case seccomp.OpRename:
		return "rename"
	case seccomp.OpTruncate:
		return policy.OpTruncate.String()
	}
	return policy.OpCreate.String()
}

func (l *Reporter) Report(r *Request, axis policy.Axis, operation, target string, absent bool) {
	if int(r.N.Tid) == l.Self {
		return
	}
	if axis == policy.AxisIPC && target == "/var/run/nscd/socket" {
		return // libc asks there first, always twice, and does without
	}
	if l.ResolvesHosts && target == "/etc/hosts" && operation == policy.OpRead.String() {
		return
	}
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if axis == policy.AxisFs && policy.Within(target, own) {
			return // no policy grants those
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.began) >= spec.Window {
		l.nextWindow()
	}
	as, tell, held := l.window.count(spec.Refusal{Axis: axis, Operation: operation, Target: clip(target), Absent: absent})
	if !tell {
		return
	}
	if held && !l.Windows {
		l.Windows = true
		time.AfterFunc(spec.Window, l.Flush)
	}
	m := as.Event(1)
	m.Held = held
	sys.OnUnrestrictedThread(func() {
		m.Pid = proc.NSPid(int(r.N.Tid))
		m.Program, _ = os.Readlink(proc.ThreadFile(int(r.N.Tid), "exe"))
	})
	l.Say(m)
}

// nextWindow begins a new page. The launcher takes what was announced to go on for pageTime,
// so a page never lasts longer, late as a timer may be.
func (l *Reporter) nextWindow() {
	for _, m := range l.window.flush() {
		l.Say(m)
	}
	l.window, l.began = window{}, time.Now()
}

// tellRest ends the page.
func (l *Reporter) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Windows = false
	l.nextWindow()
}

func clip(s string) string { return s[:min(len(s), 4096)] }

// observeCall looks at a call that the kernel will decide, and reports what it is
// going to refuse.
func (v *Mediator) observeCall(r *Request) {
	switch r.Op {
	case seccomp.OpExec:
		v.observeExec(r)
	case seccomp.OpUmask:
		v.umask = spec.UnknownUmask
	case seccomp.OpConnect:
		v.observeConnect(r)
	}
}

func (v *Mediator) observeExec(r *Request) {
	defer r.close()
	if v.read(r) != 0 {
		return
	}
	full, mode, errno := v.resolve(r, r.bases[0], r.names[0])
	if errno != 0 || mode&unix.S_IFMT != unix.S_IFREG || mode&0o111 == 0 {
		return // refused to anybody
	}
	if _, covered := v.profile.Find(full); covered && !v.profile.Allows(policy.OpExec, full) {
		v.Reporter.Report(r, policy.AxisProcess, "exec", full, false)
	}
}

// observeConnect reports an address that the jail's own network does not lead to.
func (v *Mediator) observeConnect(r *Request) {
	b := make([]byte, min(r.arg(2), 128))
	if len(b) < 2 {
		return
	}
	if n, errno := proc.ReadMemory(int(r.N.Tid), r.arg(1), b); errno != 0 || n < len(b) {
		return
	}
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_UNIX:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		v.observeSocket(r, string(name))
	case unix.AF_INET, unix.AF_INET6:
		addr, ok := sys.ParseSockaddr(b)
		if !ok || v.network || addr.Port() == 0 || addr.Addr().IsUnspecified() {
			return
		}
		switch {
		case !addr.Addr().IsLoopback():
			v.Reporter.Report(r, policy.AxisNet, "connect", addr.String(), false)
		case addr.Port() == 53:
			v.Reporter.Report(r, policy.AxisNet, "resolve", "", false)
		}
	}
}

// observeSocket reports a socket that is not in the jail, or that is hidden in it: one
// of the host's in a granted directory.
func (v *Mediator) observeSocket(r *Request, name string) {
	base := -1
	switch {
	case name == "": // it is abstract
		return
	case name[0] != '/':
		var errno syscall.Errno
		if base, errno = openBase(int(r.N.Tid), seccomp.AtCwd, 0); errno != 0 {
			return
		}
		defer unix.Close(base)
	case unix.Access(name, unix.F_OK) == unix.ENOENT:
		v.Reporter.Report(r, policy.AxisIPC, "connect", path.Clean(name), true)
		return
	}
	full, _, errno := v.resolve(r, base, name)
	if e, covered := v.profile.Find(full); errno == 0 && covered && e.Rights == 0 {
		v.Reporter.Report(r, policy.AxisIPC, "connect", full, false)
	}
}

// outsideResolver resolves names as the caller of a request would.
func (v *Mediator) outsideResolver(r *Request) *resolver {
	return &resolver{tid: int(r.N.Tid), open: openOutside, process: func() int { tgid, _, _ := proc.ThreadStatus(int(r.N.Tid)); return tgid }}
}

// resolve finds what a name leads the caller to, and its mode.
func (v *Mediator) resolve(r *Request, base int, name string) (full string, mode uint32, errno syscall.Errno) {
	w := v.outsideResolver(r)
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
	return strings.TrimSuffix(full, " (deleted)"), st.Mode, errno // of what hides something, too
}

// terminalNumber is the seventh field of proc(5) stat: tty_nr.
func TerminalNumber(stat []byte) int {
	i := bytes.LastIndexByte(stat, ')') // the name of a program may hold anything
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 5 {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[4]))
	return n
}
