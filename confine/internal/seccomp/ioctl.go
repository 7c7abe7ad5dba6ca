package seccomp

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// Constants of Linux. They are written out because the compilers run on systems whose
// own constants differ.

const (
	// CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. NEWTIME (0x80) does not exist
	// in clone: those bits are the exit signal.
	cloneNamespaces = 0x7e020000
	cloneFiles      = 0x400   // CLONE_FILES
	cloneThread     = 0x10000 // CLONE_THREAD
	// CLONE_{VM,FS,FILES,SIGHAND,THREAD,SYSVSEM}: what unshare may be asked for.
	// Every other bit is a namespace, or is newer than this table.
	unshareHarmless = 0x00050f00

	OAccMode = 0x3      // O_ACCMODE; O_RDONLY is 0
	oTrunc   = 0x200    // O_TRUNC
	OCreat   = 0x40     // O_CREAT
	OTmpfile = 0x400000 // __O_TMPFILE

	setIDBits = 0o6000 // S_ISUID | S_ISGID
	sIFMT     = 0o170000
	sIFCHR    = 0o020000
	sIFBLK    = 0o060000

	renameWhiteout = 0x4

	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16

	sockTypeMask  = 0xf
	sockStream    = 1
	sockDgram     = 2
	sockRaw       = 3
	sockSeqpacket = 5

	protoTCP     = 6
	protoUDP     = 17
	protoMPTCP   = 262
	netlinkRoute = 0

	msgZerocopy = 0x4000000
	msgFastopen = 0x20000000

	// Commands of ioctl(2) that rules name. ioctl.go has the lists.
	tiocSTI      = 0x5412
	tiocLINUX    = 0x541c
	tiocCONS     = 0x541d
	tiocSETD     = 0x5423
	tiocVHANGUP  = 0x5437
	siocEthtool  = 0x8946
	fsGetFlags   = 0x80086601
	FsSetFlags   = 0x40086602
	fsSetFlags32 = 0x40046602

	// SECCOMP_IOCTL_NOTIF_*, the commands of a seccomp listener.
	NotifRecv     = 0xc0502100
	NotifSend     = 0xc0182101
	notifIDValid  = 0x40082102
	notifAddFD    = 0x40182103
	notifSetFlags = 0x40082104

	memfdNoExecSeal = 0x8

	// F_SETLEASE; F_SETDELEG of Linux 6.19.
	fSetLease = 1024
	fSetDeleg = 1040

	fOFDGetLock     = 36 // F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW
	fOFDSetLock     = 37
	fOFDSetLockWait = 38

	mapHugetlb = 0x40000 // MAP_HUGETLB
	mfdHugetlb = 0x4     // MFD_HUGETLB
	shmHugetlb = 0o4000  // SHM_HUGETLB

	// maxSemaphores bounds one semaphore set, of which there can be 32000. A semaphore takes 64 bytes of kernel
	// memory. PostgreSQL makes sets of 17.
	maxSemaphores = 17

	prSetMM                = 35
	seccompSetModeFilter   = 1
	seccompFilterListeners = 1 << 3 // SECCOMP_FILTER_FLAG_NEW_LISTENER

	prioProcess   = 0
	ioprioProcess = 1
	personaQuery  = 0xffffffff
	personaLinux  = 0
)

// Verdicts: SECCOMP_RET_*.
const (
	VerdictAllow  uint32 = 0x7fff0000
	verdictErrno  uint32 = 0x00050000
	verdictNotify uint32 = 0x7fc00000
)

// Errnos.
const (
	linuxEPERM           = 1
	linuxENOMEM          = 12
	linuxEACCES          = 13
	linuxEINVAL          = 22
	linuxENOTTY          = 25
	linuxENOSYS          = 38
	linuxENOPROTOOPT     = 92
	linuxEPROTONOSUPPORT = 93
	linuxEOPNOTSUPP      = 95
	linuxEAFNOSUPPORT    = 97
)

// Offsets into struct seccomp_data.
const (
	DataNr   = 0
	dataArch = 4
	dataArgs = 16
)

// maxProgram is BPF_MAXINSNS, the longest program that the kernel takes.
const maxProgram = 4096

// sizeofSockFilter is the size of a struct sock_filter.
const sizeofSockFilter = 8

// schedulingCalls take a thread by its number. Programs use them on their own threads, so
// the deny list allows them in a PID namespace. The init belongs to the same user and needs a
// guard.
var schedulingCalls = []string{"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"}

// CompileServerGuard returns a filter for the server of a jail whose init is thread 1. It refuses what the
// init and the supervisor may do: to change the scheduling of the init, and to share a table of descriptors with
// another process (Options.Guarded). It allows everything else.
func CompileServerGuard(arch Arch) ([]bpf.RawInstruction, error) {
	number := Word{DataNr, AllBits}
	var numbers []uint32
	for _, call := range schedulingCalls {
		if nr, ok := CallNumber(arch, call); ok {
			numbers = append(numbers, nr)
		}
	}
	clone, ok := CallNumber(arch, "clone")
	if !ok {
		return nil, fmt.Errorf("seccomp: no number for the call %q", "clone")
	}
	tree := WhenOneOf(number, numbers, WhenEqual(Low(0), 1, ErrnoNode(linuxEPERM), AllowNode), WhenEqual(number, clone, sharedTable(), AllowNode))
	return Assemble(WhenEqual(Word{dataArch, AllBits}, arch.audit(), tree, AllowNode))
}

// CompileSignalGuard returns a filter that refuses to signal one thread of a supervisor in
// the host's namespaces. That thread is in the server's Landlock domain, so that it can signal
// every process in the domain when the jail ends. Without the guard the processes in the domain
// could signal that thread too.
//
// A signal reaches a thread by its number, by a pidfd, or as the owner of a file. The guard
// refuses every call that sets an owner through a pointer.
func CompileSignalGuard(arch Arch, tid uint32) ([]bpf.RawInstruction, error) {
	const (
		setOwner, setOwnerEx = 8, 15          // F_SETOWN, F_SETOWN_EX
		fioSetOwn, siocSPGRP = 0x8901, 0x8902 // the same for a socket
	)
	eperm := ErrnoNode(linuxEPERM)
	first, second := WhenEqual(Low(0), tid, eperm, AllowNode), WhenEqual(Low(1), tid, eperm, AllowNode)
	node := AllowNode
	for _, rule := range []rule{
		{"kill", first}, {"tkill", first}, {"tgkill", second},
		{"rt_sigqueueinfo", first}, {"rt_tgsigqueueinfo", second}, {"pidfd_open", first},
		{"fcntl", WhenEqual(Low(1), setOwner, WhenEqual(Low(2), tid, eperm, AllowNode), WhenEqual(Low(1), setOwnerEx, eperm, AllowNode))},
		{"ioctl", WhenOneOf(Low(1), []uint32{fioSetOwn, siocSPGRP}, eperm, AllowNode)},
	} {
		if nr, ok := CallNumber(arch, rule.call); ok {
			node = WhenEqual(Word{DataNr, AllBits}, nr, rule.node, node)
		}
	}
	return Assemble(WhenEqual(Word{dataArch, AllBits}, arch.audit(), node, AllowNode))
}

// Assemble writes a decision tree as a program: the test, the branch if it holds, the
// branch if it does not. Jumps share one copy of a verdict as far as they reach, because
// the kernel translates every instruction at every start.
func Assemble(root *Node) ([]bpf.RawInstruction, error) {
	e := assembler{back: make([]bpf.RawInstruction, 0, 256)}
	e.node(root, Word{})
	if len(e.back) > maxProgram {
		return nil, fmt.Errorf("seccomp: the program has %d instructions, the kernel takes %d", len(e.back), maxProgram)
	}
	slices.Reverse(e.back)
	return e.back, e.err
}

// An assembler writes a program from its end to its beginning. Jumps lead forwards only, so
// the target of a jump is written before the jump. A place is an index of back.
type assembler struct {
	back    []bpf.RawInstruction
	returns []returnPlace
	err     error
}

// A returnPlace is the nearest place of a verdict.
type returnPlace struct {
	verdict uint32
	at      int
}

func (e *assembler) put(ins bpf.RawInstruction, err error) (at int) {
	if err != nil {
		e.err = err
	}
	e.back = append(e.back, ins)
	return len(e.back) - 1
}

// reaches reports whether a conditional jump can lead to a place. It leaves room for the
// two plain jumps that near may add before it.
func (e *assembler) reaches(at int) bool { return len(e.back)-at <= 255-2 }

func (e *assembler) near(at int) int {
	if e.reaches(at) {
		return at
	}
	return e.put(bpf.Jump{Skip: uint32(len(e.back) - at - 1)}.Assemble())
}

// node writes a tree and returns where it begins. loaded is the word in the accumulator at
// that point, or the zero Word if it is unknown.
func (e *assembler) node(n *Node, loaded Word) int {
	if n.leaf() {
		return e.leaf(n.Verdict)
	}
	no := e.node(n.no, n.word)
	yes := e.node(n.yes, n.word)
	no, yes = e.near(no), e.near(yes)
	next := len(e.back) - 1
	at := e.put(bpf.JumpIf{Cond: n.op, Val: n.k, SkipTrue: uint8(next - yes), SkipFalse: uint8(next - no)}.Assemble())
	if loaded == n.word {
		return at
	}
	if n.word.Mask != AllBits {
		e.put(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: n.word.Mask}.Assemble())
	}
	return e.put(bpf.LoadAbsolute{Off: n.word.Off, Size: 4}.Assemble())
}

func (e *assembler) leaf(verdict uint32) int {
	i := slices.IndexFunc(e.returns, func(r returnPlace) bool { return r.verdict == verdict })
	if i >= 0 && e.reaches(e.returns[i].at) {
		return e.returns[i].at
	}
	r := returnPlace{verdict, e.put(bpf.RetConstant{Val: verdict}.Assemble())}
	if i >= 0 {
		e.returns[i] = r
	} else {
		e.returns = append(e.returns, r)
	}
	return r.at
}

// This file lists the commands of ioctl(2) that pass. A read-only descriptor of any granted file
// reaches the state of its whole filesystem by ioctl: keys of fscrypt, subvolumes and flags of
// btrfs. Neither Landlock nor a mount decides about these, so every command that is not listed
// gets ENOTTY, as from a kernel that lacks it, and programs fall back. A command for which the
// kernel asks for a privilege gets EPERM, because the caller then looks for the right reason.

// fileCommands act on an open file of any kind, or read and clone content that the server
// can read and write anyway.
var fileCommands = []uint32{
	0x2,        // FIGETBSZ
	0x541b,     // FIONREAD, TIOCINQ, SIOCINQ
	0x5421,     // FIONBIO
	0x5450,     // FIONCLEX
	0x5451,     // FIOCLEX
	0x5452,     // FIOASYNC
	0x5460,     // FIOQSIZE
	0x40049409, // FICLONE
	0x4020940d, // FICLONERANGE
	0xc0189436, // FIDEDUPERANGE
	0xc020660b, // FS_IOC_FIEMAP
	fsGetFlags, // FS_IOC_GETFLAGS
	0x80046601, // FS_IOC32_GETFLAGS
	0x801c581f, // FS_IOC_FSGETXATTR
	0x80045200, // RNDGETENTCNT, of /dev/random
}

// terminalCommands are those of asm-generic/ioctls.h that act on the jail's own terminals.
// Serial lines have more: see DeviceTypes.
var terminalCommands = []uint32{
	0x5401, 0x5402, 0x5403, 0x5404, // TCGETS, TCSETS, TCSETSW, TCSETSF
	0x5405, 0x5406, 0x5407, 0x5408, // TCGETA, TCSETA, TCSETAW, TCSETAF
	0x802c542a, 0x402c542b, 0x402c542c, 0x402c542d, // TCGETS2, TCSETS2, TCSETSW2, TCSETSF2
	0x5409, 0x540a, 0x540b, 0x5425, // TCSBRK, TCXONC, TCFLSH, TCSBRKP
	0x5427, 0x5428, // TIOCSBRK, TIOCCBRK
	0x540c, 0x540d, 0x80045440, // TIOCEXCL, TIOCNXCL, TIOCGEXCL
	0x540e, 0x5422, // TIOCSCTTY, TIOCNOTTY
	0x540f, 0x5410, 0x5429, // TIOCGPGRP, TIOCSPGRP, TIOCGSID
	0x5411,         // TIOCOUTQ, SIOCOUTQ
	0x5413, 0x5414, // TIOCGWINSZ, TIOCSWINSZ
	0x5415, 0x5416, 0x5417, 0x5418, // TIOCMGET, TIOCMBIS, TIOCMBIC, TIOCMSET
	0x5424,                         // TIOCGETD
	0x5420, 0x80045438, 0x40045436, // TIOCPKT, TIOCGPKT, TIOCSIG
	0x80045430, 0x5441, // TIOCGPTN, TIOCGPTPEER
	0x40045431, 0x80045439, // TIOCSPTLCK, TIOCGPTLCK
	0x80045432, // TIOCGDEV
}

// socketCommands read the state of a socket or of the interfaces, or choose the receiver of a
// socket's signals as fcntl does.
var socketCommands = []uint32{
	0x8901, 0x8902, 0x8903, 0x8904, // FIOSETOWN, SIOCSPGRP, FIOGETOWN, SIOCGPGRP
	0x8905,                                 // SIOCATMARK
	0x8906, 0x8907, 0x80108906, 0x80108907, // SIOCGSTAMP, SIOCGSTAMPNS, and both _NEW
	0x894b,                                         // SIOCOUTQNSD
	0x8910, 0x8912, 0x8913, 0x8933, 0x8938, 0x8942, // SIOCGIFNAME, CONF, FLAGS, INDEX, COUNT, TXQLEN
	0x8915, 0x8917, 0x8919, 0x891b, // SIOCGIFADDR, DSTADDR, BRDADDR, NETMASK
	0x891d, 0x8921, 0x8927, 0x8970, // SIOCGIFMETRIC, MTU, HWADDR, MAP
}

// privilegedCommands get EPERM: they type into the terminal from which the jail was started,
// change what its bytes mean, or take it away.
var privilegedCommands = []uint32{tiocSTI, tiocLINUX, tiocCONS, tiocSETD, tiocVHANGUP}

// flagCommands set flags of a file, for which a read-only descriptor is enough. They pass where
// mounts decide which files may be changed.
var flagCommands = []uint32{FsSetFlags, fsSetFlags32}

// listenerCommands are those of a seccomp listener. The server has none: it could not make one.
var listenerCommands = []uint32{NotifRecv, NotifSend, notifIDValid, notifAddFD, notifSetFlags}

// DeviceTypes is the set of the type bytes (bits 8 to 15 of a command) of granted devices.
type DeviceTypes [4]uint64

// Add adds the bytes of types.
func (d *DeviceTypes) Add(types string) {
	for _, t := range []byte(types) {
		d[t/64] |= 1 << (t % 64)
	}
}

// Has reports whether a type byte is in the set.
func (d *DeviceTypes) Has(t byte) bool { return d[t/64]&(1<<(t%64)) != 0 }

// commandRule decides ioctl by its command. The kernel reads 32 bits of it.
func commandRule(opts Options) *Node {
	eperm, enotty := ErrnoNode(linuxEPERM), ErrnoNode(linuxENOTTY)
	nodes := make(map[uint32]*Node, 100)
	set := func(node *Node, commands []uint32) {
		for _, c := range commands {
			nodes[c] = node
		}
	}
	set(eperm, privilegedCommands)
	set(eperm, flagCommands)
	if opts.Attributes {
		set(AllowNode, flagCommands)
	}
	// A driver without ethtool answers so, and psutil expects no other error.
	nodes[siocEthtool] = ErrnoNode(linuxEOPNOTSUPP)
	device := search(Low(1), overlay([]segment{{0, AllowNode}}, nodes))

	set(AllowNode, fileCommands)
	set(AllowNode, terminalCommands)
	set(AllowNode, socketCommands)
	if opts.Supervised {
		set(AllowNode, listenerCommands)
	}
	// The other commands of sockets set up interfaces, for which the kernel asks for a privilege.
	listed := search(Low(1), overlay([]segment{{0, enotty}, {0x8900, eperm}, {0x8a00, enotty}}, nodes))
	if opts.Devices == (DeviceTypes{}) {
		return listed
	}
	var types []segment
	for t := range uint32(256) {
		node := listed
		if opts.Devices.Has(byte(t)) {
			node = device
		}
		if len(types) == 0 || node != types[len(types)-1].node {
			types = append(types, segment{t << 8, node})
		}
	}
	return search(Low(1).and(0xff00), types)
}
