package confine

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A ledger reports refusals to the launcher, each before the call is answered: what a
// server says of a refusal, it says after the launcher was told.
type ledger struct {
	say   func(message)
	self  int  // the thread that tests the jail, and is refused everything
	hosts bool // /etc/hosts is asked for by every program that looks a name up, and does without
	mu    sync.Mutex
	page  page
	began time.Time // the page
	turns bool      // when its time is over, also if nothing more is refused
}

func (l *ledger) refused(r *request, operation, target string) {
	l.report(r, policy.AxisFs, operation, target, false)
}

// absent reports a name that does not exist in the jail, and perhaps on the host.
func (l *ledger) absent(r *request, target string) {
	l.report(r, policy.AxisFs, wordOf(r.op), target, true)
}

func wordOf(op hookedOp) string {
	switch op {
	case hookMkdir:
		return policy.OpMkdir.String()
	case hookRemove:
		return policy.OpRemove.String()
	case hookRename:
		return "rename"
	case hookTruncate:
		return policy.OpTruncate.String()
	}
	return policy.OpCreate.String()
}

func (l *ledger) report(r *request, axis policy.Axis, operation, target string, absent bool) {
	if int(r.n.tid) == l.self {
		return
	}
	if axis == policy.AxisIPC && target == "/var/run/nscd/socket" {
		return // libc asks there first, always twice, and does without
	}
	if l.hosts && target == "/etc/hosts" && operation == policy.OpRead.String() {
		return
	}
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if axis == policy.AxisFs && policy.Within(target, own) {
			return // no policy grants those
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.began) >= pageTime {
		l.turn()
	}
	as, tell, held := l.page.see(sighting{axis, operation, clip(target), absent})
	if !tell {
		return
	}
	if held && !l.turns {
		l.turns = true
		time.AfterFunc(pageTime, l.tellRest)
	}
	m := as.message(1)
	m.held = held
	outside(func() {
		m.pid = innerNumber(int(r.n.tid))
		m.program, _ = os.Readlink(ofThread(int(r.n.tid), "exe"))
	})
	l.say(m)
}

// turn begins a new page. The launcher takes what was announced to go on for pageTime,
// so a page never lasts longer, late as a timer may be.
func (l *ledger) turn() {
	for _, m := range l.page.rest() {
		l.say(m)
	}
	l.page, l.began = page{}, time.Now()
}

// tellRest ends the page.
func (l *ledger) tellRest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns = false
	l.turn()
}

func clip(s string) string { return s[:min(len(s), 4096)] }

// witnessCall looks at a call that the kernel will decide, and reports what it is
// going to refuse.
func (v *supervisor) witnessCall(r *request) {
	switch r.op {
	case hookExec:
		v.witnessExec(r)
	case hookUmask:
		v.umask = unknownUmask
	case hookConnect:
		v.witnessConnect(r)
	}
}

func (v *supervisor) witnessExec(r *request) {
	defer r.close()
	if v.read(r) != 0 {
		return
	}
	full, mode, errno := v.resolve(r, r.bases[0], r.names[0])
	if errno != 0 || mode&unix.S_IFMT != unix.S_IFREG || mode&0o111 == 0 {
		return // refused to anybody
	}
	if _, covered := v.profile.Find(full); covered && !v.profile.Allows(policy.OpExec, full) {
		v.ledger.report(r, policy.AxisProcess, "exec", full, false)
	}
}

// witnessConnect reports an address that the jail's own network does not lead to.
func (v *supervisor) witnessConnect(r *request) {
	b := make([]byte, min(r.arg(2), 128))
	if len(b) < 2 {
		return
	}
	if n, errno := readMemory(int(r.n.tid), r.arg(1), b); errno != 0 || n < len(b) {
		return
	}
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_UNIX:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		v.witnessSocket(r, string(name))
	case unix.AF_INET, unix.AF_INET6:
		addr, ok := endpoint(b)
		if !ok || v.gated || addr.Port() == 0 || addr.Addr().IsUnspecified() {
			return
		}
		switch {
		case !addr.Addr().IsLoopback():
			v.ledger.report(r, policy.AxisNet, "connect", addr.String(), false)
		case addr.Port() == 53:
			v.ledger.report(r, policy.AxisNet, "resolve", "", false)
		}
	}
}

// witnessSocket reports a socket that is not in the jail, or that is hidden in it: one
// of the host's in a granted directory.
func (v *supervisor) witnessSocket(r *request, name string) {
	base := -1
	switch {
	case name == "": // it is abstract
		return
	case name[0] != '/':
		var errno syscall.Errno
		if base, errno = openBase(int(r.n.tid), atCwd, 0); errno != 0 {
			return
		}
		defer unix.Close(base)
	case unix.Access(name, unix.F_OK) == unix.ENOENT:
		v.ledger.report(r, policy.AxisIPC, "connect", path.Clean(name), true)
		return
	}
	full, _, errno := v.resolve(r, base, name)
	if e, covered := v.profile.Find(full); errno == 0 && covered && e.Rights == 0 {
		v.ledger.report(r, policy.AxisIPC, "connect", full, false)
	}
}

// outsideWalker resolves names as the caller of a request would.
func (v *supervisor) outsideWalker(r *request) *walker {
	return &walker{tid: int(r.n.tid), open: openOutside, process: func() int { tgid, _, _ := statusOf(int(r.n.tid)); return tgid }}
}

// resolve finds what a name leads the caller to, and its mode.
func (v *supervisor) resolve(r *request, base int, name string) (full string, mode uint32, errno syscall.Errno) {
	w := v.outsideWalker(r)
	at, errno := w.find(base, name)
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
		return "", 0, asErrno(err)
	}
	full, errno = pathOf(fd)
	return strings.TrimSuffix(full, " (deleted)"), st.Mode, errno // of what hides something, too
}

// endpoint reads struct sockaddr_in or sockaddr_in6.
func endpoint(b []byte) (netip.AddrPort, bool) {
	if len(b) < 2 {
		return netip.AddrPort{}, false
	}
	port := func() uint16 { return binary.BigEndian.Uint16(b[2:]) }
	switch {
	case binary.NativeEndian.Uint16(b) == unix.AF_INET && len(b) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port()), true
	case binary.NativeEndian.Uint16(b) == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port()), true
	}
	return netip.AddrPort{}, false
}

// terminalNumber is the seventh field of proc(5) stat: tty_nr.
func terminalNumber(stat []byte) int {
	i := bytes.LastIndexByte(stat, ')') // the name of a program may hold anything
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 5 {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[4]))
	return n
}
