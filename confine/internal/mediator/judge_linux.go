package mediator

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/refusals"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/policy"
)

// judge decides by the profile, and reports what it refuses. It does not change after New.
type judge struct {
	profile  *policy.Profile
	hostNS   bool // there are no mounts, which would enforce a narrower rule inside a grant
	reporter *refusals.Reporter
}

// decideName decides about one name, and returns the path that it decided about. Like the kernel,
// it reports a missing or an existing name before it refuses.
func (j *judge) decideName(r *request, op policy.Op, at *pathRef) (full string, errno syscall.Errno) {
	if at.special() {
		return "", 0
	}
	if full, errno = at.full(); errno != 0 {
		return "", errno
	}
	verdict := j.profile.Mediate(op, full)
	switch {
	case verdict == policy.Granted:
		return full, 0
	case op != policy.OpRemove && exists(at):
		return full, unix.EEXIST
	case op == policy.OpRemove && !exists(at):
		return full, unix.ENOENT
	}
	return full, j.verdict(r, op.String(), full, at, verdict)
}

// verdict returns the errno for a verdict, and reports a refusal. The errno is the one that a
// mount would give: EROFS below a read-only mount, EBUSY for a mount point, EXDEV between two mounts, else EACCES.
func (j *judge) verdict(r *request, operation, full string, at *pathRef, verdict policy.Verdict) syscall.Errno {
	errno := unix.EACCES
	switch {
	case verdict == policy.Granted:
		return 0
	case verdict == policy.Crossing:
		return unix.EXDEV
	case readOnly(at.dir):
		errno = unix.EROFS
	case verdict == policy.Pinned:
		errno = unix.EBUSY
	}
	j.reporter.Refused(&r.n, operation, full)
	return errno
}

func readOnly(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// recordRefusal reports a refusal of the kernel that the profile explains, and returns errno.
func (j *judge) recordRefusal(r *request, op policy.Op, full string, errno syscall.Errno) syscall.Errno {
	if op == policy.OpSymlink {
		op = policy.OpCreate
	}
	if (errno == unix.EACCES || errno == unix.EPERM || errno == unix.EROFS) && !j.profile.Allows(op, full) {
		j.reporter.Refused(&r.n, op.String(), full)
	}
	return errno
}

// recordRefusalAt is recordRefusal for a reference, whose directory may have moved meanwhile.
func (j *judge) recordRefusalAt(r *request, op policy.Op, at *pathRef, errno syscall.Errno) syscall.Errno {
	if errno == 0 {
		return 0
	}
	if full, e := at.recorded(); e == 0 {
		return j.recordRefusal(r, op, full, errno)
	}
	return errno
}

// recordLost reports the path that a name leads to if the jail does not have it, and returns errno.
// The launcher then looks whether it exists on the host, and so was not granted.
func (j *judge) recordLost(r *request, operation string, base int, name string, errno syscall.Errno) syscall.Errno {
	if errno != unix.ENOENT {
		return errno
	}
	full := lost(base, name, errno)
	e, covered := j.profile.Find(full)
	if full != "" && (!covered || e.Origin == policy.OriginHome) { // what the private HOME lacks, the user's own may have
		j.reporter.Report(&r.n, policy.AxisFs, operation, full, true)
	}
	return errno
}

// opOf returns the operation of a call that changes something at a name.
func opOf(op seccomp.Op) policy.Op {
	switch op {
	case seccomp.OpMkdir:
		return policy.OpMkdir
	case seccomp.OpSymlink:
		return policy.OpSymlink
	case seccomp.OpRemove:
		return policy.OpRemove
	case seccomp.OpTruncate:
		return policy.OpTruncate
	}
	return policy.OpCreate
}

// recordMissing is recordLost for one of the names of a call.
func (j *judge) recordMissing(r *request, name int, errno syscall.Errno) syscall.Errno {
	operation := opOf(r.Op).String()
	switch {
	case r.Op == seccomp.OpRename:
		operation = "rename"
	case r.Op == seccomp.OpLink && name == 0:
		operation = policy.OpRead.String() // the file that gets one more name
	}
	return j.recordLost(r, operation, r.bases[name], r.names[name], errno)
}

// mayRead decides about reading in the host's namespaces. There Landlock grants reading below
// a granted directory, and no mount hides an entry that takes the right away.
func (j *judge) mayRead(r *request, full string, flags int) syscall.Errno {
	if !j.hostNS || flags&seccomp.OAccMode == unix.O_WRONLY || j.profile.Mediate(policy.OpRead, full) == policy.Granted {
		return 0
	}
	j.reporter.Refused(&r.n, policy.OpRead.String(), full)
	return unix.EACCES
}

// undoIfMoved removes a new name when another jail moved its directory after the verdict to
// a path where the name must not exist.
func (j *judge) undoIfMoved(r *request, op policy.Op, at *pathRef, judged string) syscall.Errno {
	full, errno := at.full()
	if errno == 0 && (full == judged || j.profile.Mediate(op, full) == policy.Granted) {
		return 0
	}
	flags := 0
	if op == policy.OpMkdir {
		flags = unix.AT_REMOVEDIR
	}
	unix.Unlinkat(at.dir, at.name, flags)
	j.reporter.Refused(&r.n, op.String(), full)
	return unix.EACCES
}

func exists(at *pathRef) bool {
	var st unix.Stat_t
	return unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}
