package seccomp

import "slices"

// This file lists the mediated calls: those that the second filter passes to the
// supervisor (package mediator). There are two kinds:
//
//   - Calls that make, change or remove a name, change attributes, truncate a file, or open
//     it for writing. The supervisor decides such a call by name and carries it out itself,
//     so that the object it judged is the object that changes.
//   - Observed calls: connect (for UNIX sockets), exec, umask, bind and, with mounts, opens that only read. The
//     supervisor lets the kernel decide them and records those that the kernel will refuse.
//     To continue such a call grants nothing. From umask the supervisor learns that the
//     server has changed its file mode mask, and from bind at which port it will listen.

// An Op is the operation of a mediated call.
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
	OpLook
	OpBind
)

// NoArg marks an argument that a call does not have.
const NoArg = -1

// AtCwd as a directory argument means that the name is relative to the working directory.
const AtCwd = -2

// A MediatedCall has the positions of a call's arguments, or NoArg.
type MediatedCall struct {
	Call string
	Op   Op
	// For each name: the directory descriptor and the pointer to the name.
	Dir, Path   int
	Dir2, Path2 int
	Flags       int
	Mode        int // for mknod the device follows it
	Text        int // for symlink: the pointer to the content of the link
	when        []bits
}

// WritesOrCreates are the O_* bits of an open that the supervisor carries out.
const WritesOrCreates = oWronly | oRdwr | OCreat | oTrunc

const (
	oWronly = 0x1
	oRdwr   = 0x2
	oPath   = 0x200000
)

// opens returns the condition under which an open is mediated. With O_PATH the kernel
// ignores the bits of WritesOrCreates, and the supervisor could not pass an O_PATH descriptor.
func opens(arg int) []bits {
	return []bits{{Arg: arg, Bits: WritesOrCreates, Not: oPath}}
}

// MediatedCalls returns the mediated calls, in their old and in their *at form.
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

// ipv4Length is the size of sockaddr_in.
const ipv4Length = 16

// NotifyRules returns the notifications for the mediated calls of a jail with namespaces. With reads
// it includes every open, so that the supervisor can record refused reads. With hosts it leaves out the
// connections to IPv4, which the gateway sees, since a notification takes time. A filter sees no more of an
// address than its length, so a refused UNIX socket of that length is not recorded there.
func NotifyRules(reads, hosts bool) []Notify {
	calls := notifyRules(reads)
	connect := Notify{Call: "connect"}
	if hosts {
		connect.Unless = values{Arg: 2, Values: []uint32{ipv4Length}}
	}
	return append(calls, connect)
}

func notifyRules(reads bool) []Notify {
	calls := MediatedCalls()
	out := make([]Notify, 0, len(calls))
	for _, h := range calls {
		switch {
		case h.Op == OpConnect:
		case reads && h.Op == OpOpen:
			out = append(out, Notify{Call: h.Call})
		default:
			out = append(out, Notify{Call: h.Call, When: h.when})
		}
	}
	return out
}

// attributeCalls returns the calls that change attributes of a file. A read-only mount
// restricts them and Landlock does not. Calls on a descriptor have no name argument.
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

// lookCalls returns the calls that ask for a name and open nothing.
func lookCalls() (calls []MediatedCall) {
	one := func(call string, dir, path int) {
		calls = append(calls, MediatedCall{Call: call, Op: OpLook, Dir: dir, Path: path, Dir2: NoArg, Path2: NoArg, Flags: NoArg, Mode: NoArg, Text: NoArg})
	}
	for _, call := range []string{"stat", "lstat", "access", "readlink", "chdir"} {
		one(call, AtCwd, 0)
	}
	for _, call := range []string{"newfstatat", "statx", "faccessat", "faccessat2", "readlinkat"} {
		one(call, 0, 1)
	}
	return calls
}

// NotifyLooks returns the notifications for the calls that ask for a name and open nothing, so that the supervisor can
// record what they do not find.
func NotifyLooks() (out []Notify) {
	for _, h := range lookCalls() {
		out = append(out, Notify{Call: h.Call})
	}
	return out
}

func bindCall() MediatedCall {
	return MediatedCall{Call: "bind", Op: OpBind, Dir: NoArg, Path: 1, Dir2: NoArg, Path2: NoArg, Flags: NoArg, Mode: NoArg, Text: NoArg}
}

// NotifyBinds returns the notification for bind, for a jail into which ports lead.
func NotifyBinds() []Notify { return []Notify{{Call: bindCall().Call}} }

// NotifyStarts returns the notifications for the calls that start a program.
func NotifyStarts() []Notify { return []Notify{{Call: "execve"}, {Call: "execveat"}} }

// NotifyRulesHostNS returns the notifications for a jail in the host's namespaces. They
// include the attribute calls, and with reads every open, so that the supervisor decides reads.
func NotifyRulesHostNS(reads bool) []Notify {
	return append(notifyRules(reads), NotifyAttributes()...)
}

// NotifyAttributes returns the notifications for the attribute calls.
func NotifyAttributes() []Notify {
	var out []Notify
	for _, h := range attributeCalls() {
		out = append(out, Notify{Call: h.Call})
	}
	return out
}

// MediatedByNumber returns the mediated calls by their numbers on arch.
func MediatedByNumber(arch Arch) map[uint32]MediatedCall {
	m := make(map[uint32]MediatedCall)
	for _, h := range slices.Concat(MediatedCalls(), attributeCalls(), lookCalls(), []MediatedCall{bindCall()}) {
		if nr, ok := CallNumber(arch, h.Call); ok {
			m[nr] = h
		}
	}
	return m
}
