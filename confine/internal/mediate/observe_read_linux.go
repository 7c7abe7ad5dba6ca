package mediate

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// onlyReads reports whether a request is an open that only reads, in a jail with mounts.
// There the kernel decides such opens. The filter hands them over where a link of a grant
// leads to a sensitive path (policy.Profile.LinksAstray), and nowhere else: it would make
// each open several times as slow.
func (v *Mediator) onlyReads(r *Request) bool {
	return !v.hostNS && r.Op == seccomp.OpOpen && r.openFlags()&seccomp.WritesOrCreates == 0
}

// observeRead records the open of a link that leads to what is hidden, or out of the jail:
// the kernel is going to refuse it. The name can change until the kernel looks at it, so
// this decides nothing.
func (v *Mediator) observeRead(r *Request) {
	defer r.close()
	if v.read(r) != 0 || strings.HasPrefix(r.names[0], "/proc/") {
		return
	}
	w := v.outsideResolver(r)
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 || !isLink(&at) || r.openFlags()&unix.O_NOFOLLOW != 0 {
		return
	}
	for range maxSymlinks {
		fd, errno := w.advance(&at)
		switch {
		case errno != 0:
			v.recordLostLink(r, policy.OpRead, &at, errno)
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
		switch e, covered := v.profile.Find(full); {
		case covered && e.Rights == 0:
			v.Reporter.Report(r, policy.AxisFs, policy.OpRead.String(), full, false)
		case !covered && !Exists(&at):
			v.Reporter.Report(r, policy.AxisFs, policy.OpRead.String(), full, true)
		}
		return
	}
}

func isLink(at *PathRef) bool {
	var st unix.Stat_t
	err := unix.Fstatat(at.Dir, at.Name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}
