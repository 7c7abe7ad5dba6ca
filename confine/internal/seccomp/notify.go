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
type HookedOp uint8

const (
	HookOpen HookedOp = iota + 1
	HookTruncate
	HookMkdir
	HookMknod
	HookSymlink
	HookLink
	HookRename
	HookRemove
	HookExec
	HookConnect
	HookMode
	HookOwner
	HookTimes
	HookUmask
)

// noArg stands for an argument that a call does not have.
const NoArg = -1

// atCwd as a directory argument: the name is relative to the working directory.
const AtCwd = -2

// A hookedCall says where the arguments of one call are.
type HookedCall struct {
	Call string
	Op   HookedOp
	// The names: the descriptor that each is relative to, and the pointer to it.
	Dir, Path   int
	Dir2, Path2 int
	Flags       int
	Mode        int // of mknod: the mode, with the device behind it
	Text        int // of symlink: what the link will hold
	when        []seccompBits
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
func opens(arg int) []seccompBits {
	return []seccompBits{{Arg: arg, Bits: WritesOrCreates, Not: oPath}}
}

// hookedCalls are all of them, in their old and in their *at form.
func HookedCalls() []HookedCall {
	one := func(call string, op HookedOp, dir, path, flags, mode int) HookedCall {
		return HookedCall{Call: call, Op: op, Dir: dir, Path: path, Dir2: NoArg, Path2: NoArg, Flags: flags, Mode: mode, Text: NoArg}
	}
	two := func(call string, op HookedOp, dir, path, dir2, path2, flags int) HookedCall {
		return HookedCall{Call: call, Op: op, Dir: dir, Path: path, Dir2: dir2, Path2: path2, Flags: flags, Mode: NoArg, Text: NoArg}
	}
	open, openat := one("open", HookOpen, AtCwd, 0, 1, 2), one("openat", HookOpen, 0, 1, 2, 3)
	open.when, openat.when = opens(1), opens(2)
	symlink, symlinkat := one("symlink", HookSymlink, AtCwd, 1, NoArg, NoArg), one("symlinkat", HookSymlink, 1, 2, NoArg, NoArg)
	symlink.Text, symlinkat.Text = 0, 0
	return []HookedCall{
		open, openat,
		one("creat", HookOpen, AtCwd, 0, NoArg, 1),
		one("truncate", HookTruncate, AtCwd, 0, NoArg, NoArg),
		one("mkdir", HookMkdir, AtCwd, 0, NoArg, 1), one("mkdirat", HookMkdir, 0, 1, NoArg, 2),
		one("mknod", HookMknod, AtCwd, 0, NoArg, 1), one("mknodat", HookMknod, 0, 1, NoArg, 2),
		symlink, symlinkat,
		two("link", HookLink, AtCwd, 0, AtCwd, 1, NoArg), two("linkat", HookLink, 0, 1, 2, 3, 4),
		two("rename", HookRename, AtCwd, 0, AtCwd, 1, NoArg), two("renameat", HookRename, 0, 1, 2, 3, NoArg),
		two("renameat2", HookRename, 0, 1, 2, 3, 4),
		one("unlink", HookRemove, AtCwd, 0, NoArg, NoArg), one("unlinkat", HookRemove, 0, 1, 2, NoArg),
		one("rmdir", HookRemove, AtCwd, 0, NoArg, NoArg),
		one("execve", HookExec, AtCwd, 0, NoArg, NoArg), one("execveat", HookExec, 0, 1, 4, NoArg),
		one("connect", HookConnect, NoArg, 1, NoArg, NoArg),
		one("umask", HookUmask, NoArg, NoArg, NoArg, NoArg),
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
func Hooks(connects watchedConnects, reads bool) []SeccompNotify {
	calls := HookedCalls()
	out := make([]SeccompNotify, 0, len(calls))
	for _, h := range calls {
		n := SeccompNotify{Call: h.Call, When: h.when}
		if reads && h.Op == HookOpen {
			n.When = nil
		}
		if h.Op == HookConnect {
			switch connects {
			case watchNone:
				continue
			case WatchUnix:
				n.Unless = seccompValues{Arg: 2, Values: internetLengths}
			}
		}
		out = append(out, n)
	}
	return out
}

// attributeCalls change what a file is like, which Landlock does not restrict and
// a read-only mount does. Those on descriptors have no name.
func attributeCalls() []HookedCall {
	one := func(call string, op HookedOp, dir, path, flags, value int) HookedCall {
		return HookedCall{Call: call, Op: op, Dir: dir, Path: path, Dir2: NoArg, Path2: NoArg, Flags: flags, Mode: value, Text: NoArg}
	}
	return []HookedCall{
		one("chmod", HookMode, AtCwd, 0, NoArg, 1), one("fchmod", HookMode, 0, NoArg, NoArg, 1),
		one("fchmodat", HookMode, 0, 1, NoArg, 2), one("fchmodat2", HookMode, 0, 1, 3, 2),
		one("chown", HookOwner, AtCwd, 0, NoArg, 1), one("fchown", HookOwner, 0, NoArg, NoArg, 1),
		one("lchown", HookOwner, AtCwd, 0, NoArg, 1), one("fchownat", HookOwner, 0, 1, 4, 2),
		one("utime", HookTimes, AtCwd, 0, NoArg, 1), one("utimes", HookTimes, AtCwd, 0, NoArg, 1),
		one("futimesat", HookTimes, 0, 1, NoArg, 2), one("utimensat", HookTimes, 0, 1, 3, 2),
	}
}

// bareHooks is hooks for a jail without mounts: attributes, and with reads every
// open.
func BareHooks(reads bool) []SeccompNotify {
	return append(Hooks(watchNone, reads), AttributeHooks()...)
}

func AttributeHooks() []SeccompNotify {
	var out []SeccompNotify
	for _, h := range attributeCalls() {
		out = append(out, SeccompNotify{Call: h.Call})
	}
	return out
}

// hookedByNumber finds the hooked call behind a number of one machine.
func HookedByNumber(arch Arch) map[uint32]HookedCall {
	m := make(map[uint32]HookedCall)
	for _, h := range append(HookedCalls(), attributeCalls()...) {
		if nr, ok := CallNumber(arch, h.Call); ok {
			m[nr] = h
		}
	}
	return m
}
