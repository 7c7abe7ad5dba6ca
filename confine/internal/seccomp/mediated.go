package seccomp

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
type Op uint8

const (
	OpOpen Op = iota + 1
	OpTruncate
	OpMkdir
	OpMknod
	OpSymlink
	OpLink
	OpRename
	OpRemove
	OpExec
	OpConnect
	OpMode
	OpOwner
	OpTimes
	OpUmask
)

// noArg stands for an argument that a call does not have.
const NoArg = -1

// atCwd as a directory argument: the name is relative to the working directory.
const AtCwd = -2

// A hookedCall says where the arguments of one call are.
type MediatedCall struct {
	Call string
	Op   Op
	// The names: the descriptor that each is relative to, and the pointer to it.
	Dir, Path   int
	Dir2, Path2 int
	Flags       int
	Mode        int // of mknod: the mode, with the device behind it
	Text        int // of symlink: what the link will hold
	when        []bits
}

// writesOrCreates are the O_* bits with which an open belongs to the write tier.
const WritesOrCreates = oWronly | oRdwr | OCreat | oTrunc

const (
	oWronly = 0x1
	oRdwr   = 0x2
	oPath   = 0x200000
)

// opens: with O_PATH the kernel takes no notice of those bits, and such a
// descriptor could not be handed over.
func opens(arg int) []bits {
	return []bits{{Arg: arg, Bits: WritesOrCreates, Not: oPath}}
}

// hookedCalls are all of them, in their old and in their *at form.
func MediatedCalls() []MediatedCall {
	one := func(call string, op Op, dir, path, flags, mode int) MediatedCall {
		return MediatedCall{Call: call, Op: op, Dir: dir, Path: path, Dir2: NoArg, Path2: NoArg, Flags: flags, Mode: mode, Text: NoArg}
	}
	two := func(call string, op Op, dir, path, dir2, path2, flags int) MediatedCall {
		return MediatedCall{Call: call, Op: op, Dir: dir, Path: path, Dir2: dir2, Path2: path2, Flags: flags, Mode: NoArg, Text: NoArg}
	}
	open, openat := one("open", OpOpen, AtCwd, 0, 1, 2), one("openat", OpOpen, 0, 1, 2, 3)
	open.when, openat.when = opens(1), opens(2)
	symlink, symlinkat := one("symlink", OpSymlink, AtCwd, 1, NoArg, NoArg), one("symlinkat", OpSymlink, 1, 2, NoArg, NoArg)
	symlink.Text, symlinkat.Text = 0, 0
	return []MediatedCall{
		open, openat,
		one("creat", OpOpen, AtCwd, 0, NoArg, 1),
		one("truncate", OpTruncate, AtCwd, 0, NoArg, NoArg),
		one("mkdir", OpMkdir, AtCwd, 0, NoArg, 1), one("mkdirat", OpMkdir, 0, 1, NoArg, 2),
		one("mknod", OpMknod, AtCwd, 0, NoArg, 1), one("mknodat", OpMknod, 0, 1, NoArg, 2),
		symlink, symlinkat,
		two("link", OpLink, AtCwd, 0, AtCwd, 1, NoArg), two("linkat", OpLink, 0, 1, 2, 3, 4),
		two("rename", OpRename, AtCwd, 0, AtCwd, 1, NoArg), two("renameat", OpRename, 0, 1, 2, 3, NoArg),
		two("renameat2", OpRename, 0, 1, 2, 3, 4),
		one("unlink", OpRemove, AtCwd, 0, NoArg, NoArg), one("unlinkat", OpRemove, 0, 1, 2, NoArg),
		one("rmdir", OpRemove, AtCwd, 0, NoArg, NoArg),
		one("execve", OpExec, AtCwd, 0, NoArg, NoArg), one("execveat", OpExec, 0, 1, 4, NoArg),
		one("connect", OpConnect, NoArg, 1, NoArg, NoArg),
		one("umask", OpUmask, NoArg, NoArg, NoArg, NoArg),
	}
}

// Which connections are watched.
type watchedConnects int

const (
	watchNone watchedConnects = iota
	WatchAll                  // where the jail has a network of its own, in which most lead nowhere
	WatchUnix                 // where a gate knows of the others: see internetLengths
)

// internetLengths are those of sockaddr_in and sockaddr_in6, which tell what a
// connection is for without a look at the address. That a path can be as long makes no
// difference but that a socket which is not there goes unrecorded.
var internetLengths = []uint32{16, 28}

// hooks is the part of the filter that hands calls over. With reads it hands over every
// open: see supervisor.witnessRead.
func NotifyRules(connects watchedConnects, reads bool) []Notify {
	calls := MediatedCalls()
	out := make([]Notify, 0, len(calls))
	for _, h := range calls {
		n := Notify{Call: h.Call, When: h.when}
		if reads && h.Op == OpOpen {
			n.When = nil
		}
		if h.Op == OpConnect {
			switch connects {
			case watchNone:
				continue
			case WatchUnix:
				n.Unless = values{Arg: 2, Values: internetLengths}
			}
		}
		out = append(out, n)
	}
	return out
}

// attributeCalls change what a file is like, which Landlock does not restrict and
// a read-only mount does. Those on descriptors have no name.
func attributeCalls() []MediatedCall {
	one := func(call string, op Op, dir, path, flags, value int) MediatedCall {
		return MediatedCall{Call: call, Op: op, Dir: dir, Path: path, Dir2: NoArg, Path2: NoArg, Flags: flags, Mode: value, Text: NoArg}
	}
	return []MediatedCall{
		one("chmod", OpMode, AtCwd, 0, NoArg, 1), one("fchmod", OpMode, 0, NoArg, NoArg, 1),
		one("fchmodat", OpMode, 0, 1, NoArg, 2), one("fchmodat2", OpMode, 0, 1, 3, 2),
		one("chown", OpOwner, AtCwd, 0, NoArg, 1), one("fchown", OpOwner, 0, NoArg, NoArg, 1),
		one("lchown", OpOwner, AtCwd, 0, NoArg, 1), one("fchownat", OpOwner, 0, 1, 4, 2),
		one("utime", OpTimes, AtCwd, 0, NoArg, 1), one("utimes", OpTimes, AtCwd, 0, NoArg, 1),
		one("futimesat", OpTimes, 0, 1, NoArg, 2), one("utimensat", OpTimes, 0, 1, 3, 2),
	}
}

// bareHooks is hooks for a jail without mounts: attributes, and with reads every
// open.
func NotifyRulesHostNS(reads bool) []Notify {
	return append(NotifyRules(watchNone, reads), NotifyAttributes()...)
}

func NotifyAttributes() []Notify {
	var out []Notify
	for _, h := range attributeCalls() {
		out = append(out, Notify{Call: h.Call})
	}
	return out
}

// hookedByNumber finds the hooked call behind a number of one machine.
func MediatedByNumber(arch Arch) map[uint32]MediatedCall {
	m := make(map[uint32]MediatedCall)
	for _, h := range append(MediatedCalls(), attributeCalls()...) {
		if nr, ok := CallNumber(arch, h.Call); ok {
			m[nr] = h
		}
	}
	return m
}
