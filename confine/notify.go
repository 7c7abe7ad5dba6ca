package confine

// The calls that are handed over to the supervisor (supervise_linux.go), which
// the filter asks by user notification (seccomp_unotify(2)). Two kinds:
//
//   - the write tier: whatever makes, changes or removes a name, or opens for
//     writing. The supervisor decides it by name and carries it out itself, so that
//     what it looked at is what happens.
//   - witnessed calls: the kernel decides them, the supervisor only sees what it
//     will refuse. Continuing such a call is no permission. From umask it learns that
//     what files are made with is no longer what the server was started with.

// A hookedOp is what a hooked call does.
type hookedOp uint8

const (
	hookOpen hookedOp = iota + 1
	hookTruncate
	hookMkdir
	hookMknod
	hookSymlink
	hookLink
	hookRename
	hookRemove
	hookExec
	hookConnect
	hookMode
	hookOwner
	hookTimes
	hookUmask
)

// noArg stands for an argument that a call does not have.
const noArg = -1

// atCwd as a directory argument: the name is relative to the working directory.
const atCwd = -2

// A hookedCall says where the arguments of one call are.
type hookedCall struct {
	call string
	op   hookedOp
	// The names: the descriptor that each is relative to, and the pointer to it.
	dir, path   int
	dir2, path2 int
	flags       int
	mode        int // of mknod: the mode, with the device behind it
	text        int // of symlink: what the link will hold
	when        []seccompBits
}

// writesOrCreates are the O_* bits with which an open belongs to the write tier.
const writesOrCreates = oWronly | oRdwr | oCreat | oTrunc

const (
	oWronly = 0x1
	oRdwr   = 0x2
	oPath   = 0x200000
)

// opens: with O_PATH the kernel takes no notice of those bits, and such a
// descriptor could not be handed over.
func opens(arg int) []seccompBits {
	return []seccompBits{{Arg: arg, Bits: writesOrCreates, Not: oPath}}
}

// hookedCalls are all of them, in their old and in their *at form.
func hookedCalls() []hookedCall {
	one := func(call string, op hookedOp, dir, path, flags, mode int) hookedCall {
		return hookedCall{call: call, op: op, dir: dir, path: path, dir2: noArg, path2: noArg, flags: flags, mode: mode, text: noArg}
	}
	two := func(call string, op hookedOp, dir, path, dir2, path2, flags int) hookedCall {
		return hookedCall{call: call, op: op, dir: dir, path: path, dir2: dir2, path2: path2, flags: flags, mode: noArg, text: noArg}
	}
	open, openat := one("open", hookOpen, atCwd, 0, 1, 2), one("openat", hookOpen, 0, 1, 2, 3)
	open.when, openat.when = opens(1), opens(2)
	symlink, symlinkat := one("symlink", hookSymlink, atCwd, 1, noArg, noArg), one("symlinkat", hookSymlink, 1, 2, noArg, noArg)
	symlink.text, symlinkat.text = 0, 0
	return []hookedCall{
		open, openat,
		one("creat", hookOpen, atCwd, 0, noArg, 1),
		one("truncate", hookTruncate, atCwd, 0, noArg, noArg),
		one("mkdir", hookMkdir, atCwd, 0, noArg, 1), one("mkdirat", hookMkdir, 0, 1, noArg, 2),
		one("mknod", hookMknod, atCwd, 0, noArg, 1), one("mknodat", hookMknod, 0, 1, noArg, 2),
		symlink, symlinkat,
		two("link", hookLink, atCwd, 0, atCwd, 1, noArg), two("linkat", hookLink, 0, 1, 2, 3, 4),
		two("rename", hookRename, atCwd, 0, atCwd, 1, noArg), two("renameat", hookRename, 0, 1, 2, 3, noArg),
		two("renameat2", hookRename, 0, 1, 2, 3, 4),
		one("unlink", hookRemove, atCwd, 0, noArg, noArg), one("unlinkat", hookRemove, 0, 1, 2, noArg),
		one("rmdir", hookRemove, atCwd, 0, noArg, noArg),
		one("execve", hookExec, atCwd, 0, noArg, noArg), one("execveat", hookExec, 0, 1, 4, noArg),
		one("connect", hookConnect, noArg, 1, noArg, noArg),
		one("umask", hookUmask, noArg, noArg, noArg, noArg),
	}
}

// Which connections are watched.
type watchedConnects int

const (
	watchNone watchedConnects = iota
	watchAll                  // where the jail has a network of its own, in which most lead nowhere
	watchUnix                 // where a gate knows of the others: see internetLengths
)

// internetLengths are those of sockaddr_in and sockaddr_in6, which tell what a
// connection is for without a look at the address. That a path can be as long makes no
// difference but that a socket which is not there goes unrecorded.
var internetLengths = []uint32{16, 28}

// hooks is the part of the filter that hands calls over. With reads it hands over every
// open: see supervisor.witnessRead.
func hooks(connects watchedConnects, reads bool) []seccompNotify {
	calls := hookedCalls()
	out := make([]seccompNotify, 0, len(calls))
	for _, h := range calls {
		n := seccompNotify{Call: h.call, When: h.when}
		if reads && h.op == hookOpen {
			n.When = nil
		}
		if h.op == hookConnect {
			switch connects {
			case watchNone:
				continue
			case watchUnix:
				n.Unless = seccompValues{Arg: 2, Values: internetLengths}
			}
		}
		out = append(out, n)
	}
	return out
}

// attributeCalls change what a file is like, which Landlock does not restrict and
// a read-only mount does. Those on descriptors have no name.
func attributeCalls() []hookedCall {
	one := func(call string, op hookedOp, dir, path, flags, value int) hookedCall {
		return hookedCall{call: call, op: op, dir: dir, path: path, dir2: noArg, path2: noArg, flags: flags, mode: value, text: noArg}
	}
	return []hookedCall{
		one("chmod", hookMode, atCwd, 0, noArg, 1), one("fchmod", hookMode, 0, noArg, noArg, 1),
		one("fchmodat", hookMode, 0, 1, noArg, 2), one("fchmodat2", hookMode, 0, 1, 3, 2),
		one("chown", hookOwner, atCwd, 0, noArg, 1), one("fchown", hookOwner, 0, noArg, noArg, 1),
		one("lchown", hookOwner, atCwd, 0, noArg, 1), one("fchownat", hookOwner, 0, 1, 4, 2),
		one("utime", hookTimes, atCwd, 0, noArg, 1), one("utimes", hookTimes, atCwd, 0, noArg, 1),
		one("futimesat", hookTimes, 0, 1, noArg, 2), one("utimensat", hookTimes, 0, 1, 3, 2),
	}
}

// bareHooks is hooks for a jail without mounts: attributes, and with reads every
// open.
func bareHooks(reads bool) []seccompNotify {
	return append(hooks(watchNone, reads), attributeHooks()...)
}

func attributeHooks() []seccompNotify {
	var out []seccompNotify
	for _, h := range attributeCalls() {
		out = append(out, seccompNotify{Call: h.call})
	}
	return out
}

// hookedByNumber finds the hooked call behind a number of one machine.
func hookedByNumber(arch Arch) map[uint32]hookedCall {
	m := make(map[uint32]hookedCall)
	for _, h := range append(hookedCalls(), attributeCalls()...) {
		if nr, ok := callNumber(arch, h.call); ok {
			m[nr] = h
		}
	}
	return m
}
