// Package seccomp compiles, installs and serves the seccomp filters of a jail.
//
// # Two filters
//
// The first filter, from [Compile], is a deny list. It holds for init, supervisor and
// server, which inherits it from the init, and refuses calls with an errno. A call that no rule
// names is allowed. A call whose number is above lastKnownCall gets ENOSYS, as an older kernel would
// answer.
//
// The second filter, from [CompileListener], holds for the server alone. It passes the
// mediated calls to the supervisor by user notification (seccomp_unotify(2)), and refuses
// the calls that the supervisor itself needs. A refusal by either filter takes precedence
// over a notification (seccomp(2)).
//
// # Where to look
//
//	refused.go         which calls the first filter refuses, and with which errno; which sockets
//	                   may be made, and which of their calls are mediated; which options of sockets pass
//	ioctl.go           which commands of ioctl(2) pass; constants of the kernel's interface; two small
//	                   filters that protect the init, and a thread of the supervisor; from a decision
//	                   tree to a BPF program
//	mediated.go        which calls go to the supervisor, and where their arguments are
//	numbers.go         the numbers of all calls that rules name
//	filter.go          from rules to a decision tree; which options of prctl(2) pass
//	install_linux.go   seccomp(2)
//	listener_linux.go  the supervisor's side of user notification
//
// Compiling is pure and runs on every OS. Only the files with _linux make system calls.
//
// # Shape of a program
//
// A program tests the architecture, then searches the call number in a balanced binary
// tree, then runs the tests of that one call. A call that no rule names costs about ten
// instructions. No argument is read on its way, so the kernel (5.11 and later) caches it
// as always allowed and skips the program.
//
// # Limits
//
// A filter cannot follow pointers. A call whose arguments are in a struct (clone3,
// openat2) gets ENOSYS, and callers fall back to the form that a filter can judge. The
// tables cover amd64 and arm64, both little-endian. Every other architecture, and the x32
// calls of amd64, are refused with EPERM.
package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// Arch is an architecture whose system calls the compiler knows.
type Arch uint8

const (
	ArchAMD64 Arch = iota + 1
	archARM64
)

// ArchOf returns the Arch of a GOARCH value. ok is false for an architecture that has no
// filter.
func ArchOf(goarch string) (a Arch, ok bool) {
	switch goarch {
	case "amd64":
		return ArchAMD64, true
	case "arm64":
		return archARM64, true
	}
	return 0, false
}

func (a Arch) String() string {
	switch a {
	case ArchAMD64:
		return "amd64"
	case archARM64:
		return "arm64"
	}
	return fmt.Sprintf("Arch(%d)", uint8(a))
}

// audit returns the AUDIT_ARCH_* value that the kernel puts into seccomp_data.
func (a Arch) audit() uint32 {
	if a == archARM64 {
		return 0xc00000b7
	}
	return 0xc000003e
}

// Options lists what other mechanisms already enforce, so that the filter need not. The
// zero value gives the strictest filter.
type Options struct {
	// Unix allows AF_UNIX sockets. Mounts hide the host's socket files, and a network
	// namespace or Landlock's scope hides the host's abstract names. Without Unix the filter allows
	// connected pairs only.
	Unix bool
	// Inet allows TCP and UDP sockets. The network namespace or Landlock decides what
	// they reach.
	Inet bool
	// RouteNetlink allows NETLINK_ROUTE sockets, with which getifaddrs lists interfaces.
	// It is for jails with a network namespace only.
	RouteNetlink bool
	// OwnPIDs tells that a PID namespace gives the jail pids of its own. Scheduling calls
	// on other threads stay allowed then.
	OwnPIDs bool
	// Guarded tells that the server has a filter of CompileServerGuard. The filter then allows a process to
	// share its table of descriptors, which building the jail takes.
	Guarded bool
	// Sockets has the supervisor make, connect and name TCP and UDP sockets (socketRules).
	// It requires Supervised.
	Sockets bool
	// OwnIPC tells that an IPC namespace gives the jail System V objects of its own.
	OwnIPC bool
	// Truncate tells that Landlock (ABI 3) or mounts decide which files may be truncated.
	Truncate bool
	// Attributes tells that mounts decide which extended attributes may be read and removed, and
	// which flags may be changed.
	Attributes bool
	// Programs tells that only listed files may be executed. A memfd has no path that
	// Landlock could judge, so the filter allows only memfds that cannot be executed.
	Programs bool
	// Traced has the supervisor trace the starts of programs. It requires Supervised.
	Traced bool
	// Devices are the type bytes of the commands that the granted devices take.
	Devices DeviceTypes
	// Supervised leaves out the rules for calls that the supervisor makes on behalf of the
	// server. The second filter, for the server alone, has them (CompileListener).
	Supervised bool
}

// Notify passes one call to the supervisor if any of When holds, or if When is empty. It
// does not pass the call if Unless holds.
type Notify struct {
	Call   string
	When   []bits
	Unless values
}

// values is true when the low half of argument Arg is one of Values.
type values struct {
	Arg    int
	Values []uint32
}

// bits is true when one of Bits and none of Not is set in the low half of argument Arg.
type bits struct {
	Arg       int
	Bits, Not uint32
}

// A Node is a decision: a leaf with a verdict, or a test with two branches.
type Node struct {
	Verdict uint32 // of a leaf; yes and no are nil there

	word    Word
	op      bpf.JumpTest
	k       uint32
	yes, no *Node
}

func (n *Node) leaf() bool { return n.yes == nil }

// A Word is the operand of a test: 32 bits of seccomp_data under a mask.
type Word struct{ Off, Mask uint32 }

// AllBits is the mask of a whole word.
var AllBits = ^uint32(0)

// Low returns the low half of an argument. The kernel reads only this half of an int,
// unsigned, pid_t, mode or command, so a filter must ignore the other half.
func Low(arg int) Word { return Word{uint32(dataArgs + 8*arg), AllBits} }

func high(arg int) Word { return Word{uint32(dataArgs + 8*arg + 4), AllBits} }

func (w Word) and(mask uint32) Word { return Word{w.Off, mask} }

// AllowNode allows the call.
var AllowNode = &Node{Verdict: VerdictAllow}

// ErrnoNode refuses the call with errno.
func ErrnoNode(errno uint32) *Node { return &Node{Verdict: verdictErrno | errno} }

// whenAny decides by yes if any of bits is set in w, and else by no.
func whenAny(w Word, bits uint32, yes, no *Node) *Node {
	return &Node{word: w, op: bpf.JumpBitsSet, k: bits, yes: yes, no: no}
}

// WhenEqual decides by yes if w is k, and else by no.
func WhenEqual(w Word, k uint32, yes, no *Node) *Node {
	return &Node{word: w, op: bpf.JumpEqual, k: k, yes: yes, no: no}
}

func whenGreater(w Word, k uint32, yes, no *Node) *Node {
	return &Node{word: w, op: bpf.JumpGreaterThan, k: k, yes: yes, no: no}
}

// WhenOneOf decides by yes if w is one of ks, and else by no.
func WhenOneOf(w Word, ks []uint32, yes, no *Node) *Node {
	for i := len(ks) - 1; i >= 0; i-- {
		no = WhenEqual(w, ks[i], yes, no)
	}
	return no
}

func (n *Node) onAllow(next *Node) *Node {
	if n.leaf() {
		if n.Verdict == VerdictAllow {
			return next
		}
		return n
	}
	c := *n
	c.yes, c.no = n.yes.onAllow(next), n.no.onAllow(next)
	return &c
}

// Compile returns the first filter, the deny list, for one architecture. It fails for an
// architecture that it does not know.
func Compile(arch Arch, opts Options) ([]bpf.RawInstruction, error) {
	return CompileFilter(arch, rules(opts), nil)
}

// CompileListener returns the second filter, for a supervised server. It passes the calls
// of notify to the supervisor, and refuses the calls that the first filter leaves to the
// supervisor.
func CompileListener(arch Arch, opts Options, notify []Notify) ([]bpf.RawInstruction, error) {
	rules := supervisorRules(opts)
	if opts.Sockets {
		rules = append(rules, socketRules()...)
	}
	return CompileFilter(arch, rules, notify)
}

// CompileFilter returns a filter with the given rules and notifications.
func CompileFilter(arch Arch, rules []rule, notify []Notify) ([]bpf.RawInstruction, error) {
	root, err := compileTree(arch, rules, notify)
	if err != nil {
		return nil, err
	}
	return Assemble(root)
}

// Records encodes prog as the kernel takes it: an array of struct sock_filter. The spec of
// a jail carries filters in this form.
func Records(prog []bpf.RawInstruction) []byte {
	b := make([]byte, 0, sizeofSockFilter*len(prog))
	for _, ins := range prog {
		b = binary.LittleEndian.AppendUint16(b, ins.Op)
		b = append(b, ins.Jt, ins.Jf)
		b = binary.LittleEndian.AppendUint32(b, ins.K)
	}
	return b
}

func compileTree(arch Arch, rules []rule, notify []Notify) (*Node, error) {
	if arch != ArchAMD64 && arch != archARM64 {
		return nil, fmt.Errorf("seccomp: no system call table for %s", arch)
	}
	nodes := make([]*Node, lastKnownCall+1)
	for _, r := range rules {
		if nr, ok := CallNumber(arch, r.call); ok {
			nodes[nr] = r.node
		}
	}
	for _, n := range notify {
		if !callKnown(n.Call) {
			return nil, fmt.Errorf("seccomp: no number for the call %q", n.Call)
		}
		nr, ok := CallNumber(arch, n.Call)
		if !ok {
			continue // arm64 has the *at form only
		}
		before := nodes[nr]
		if before == nil {
			before = AllowNode
		}
		nodes[nr] = before.onAllow(n.node())
	}

	foreign := ErrnoNode(linuxEPERM)
	numbers := search(Word{DataNr, AllBits}, segments(arch, nodes, foreign))
	return WhenEqual(Word{dataArch, AllBits}, arch.audit(), numbers, foreign), nil
}

func (n *Notify) node() *Node {
	ask := &Node{Verdict: verdictNotify}
	if len(n.When) > 0 {
		next := AllowNode
		for i := len(n.When) - 1; i >= 0; i-- {
			w := n.When[i]
			yes := whenAny(Low(w.Arg), w.Bits, ask, next)
			if w.Not != 0 {
				yes = whenAny(Low(w.Arg), w.Not, next, yes)
			}
			next = yes
		}
		ask = next
	}
	return WhenOneOf(Low(n.Unless.Arg), n.Unless.Values, AllowNode, ask)
}

// A segment is a run of numbers with the same decision. It ends where the next one
// begins.
type segment struct {
	from uint32
	node *Node
}

// segments cuts the call numbers into runs. A call whose node is nil is allowed. A call
// after the last known one gets ENOSYS, as from an older kernel, because a deny list must
// not allow calls that were never judged.
func segments(arch Arch, nodes []*Node, foreign *Node) []segment {
	segs := make([]segment, 0, 128)
	add := func(from uint32, node *Node) {
		if n := len(segs); n > 0 {
			last := segs[n-1].node
			if last == node || last.leaf() && node.leaf() && last.Verdict == node.Verdict {
				return
			}
		}
		segs = append(segs, segment{from, node})
	}
	for nr, node := range nodes {
		if node == nil {
			node = AllowNode
		}
		add(uint32(nr), node)
	}
	unknown := ErrnoNode(linuxENOSYS)
	add(uint32(len(nodes)), unknown)
	if arch == ArchAMD64 {
		// The x32 calls, with __X32_SYSCALL_BIT set.
		add(0x40000000, foreign)
		add(0x80000000, unknown)
	}
	return segs
}

func overlay(base []segment, single map[uint32]*Node) []segment {
	at := make([]uint32, 0, len(base)+2*len(single))
	for _, s := range base {
		at = append(at, s.from)
	}
	// A number of its own is a segment that ends before the next number.
	for n := range single {
		at = append(at, n, n+1)
	}
	slices.Sort(at)
	var segs []segment
	for _, from := range slices.Compact(at) {
		for len(base) > 1 && base[1].from <= from {
			base = base[1:]
		}
		node := single[from]
		if node == nil {
			node = base[0].node
		}
		if len(segs) == 0 || segs[len(segs)-1].node != node {
			segs = append(segs, segment{from, node})
		}
	}
	return segs
}

func search(w Word, segs []segment) *Node {
	if len(segs) == 1 {
		return segs[0].node
	}
	mid := len(segs) / 2
	return &Node{
		word: w, op: bpf.JumpGreaterOrEqual, k: segs[mid].from,
		yes: search(w, segs[mid:]), no: search(w, segs[:mid]),
	}
}

// This file lists the options of prctl(2) that pass. Options are new calls under one number:
// PR_FUTEX_HASH takes 1 GiB of kernel memory for a process, which no limit of the jail counts.
// So an option that is not listed gets EINVAL, as from an older kernel, and programs do without.
// PR_SET_MM, which rewrites the command line that /proc shows, gets EPERM.

// processOptions are what runtimes, their libraries, and sandboxes within the jail ask for.
var processOptions = []uint32{
	1, 2, // PR_SET_PDEATHSIG, PR_GET_PDEATHSIG
	3, 4, // PR_GET_DUMPABLE, PR_SET_DUMPABLE
	7, 8, // PR_GET_KEEPCAPS, PR_SET_KEEPCAPS
	15, 16, // PR_SET_NAME, PR_GET_NAME
	21, 22, // PR_GET_SECCOMP, PR_SET_SECCOMP: no option for a listener
	23, 24, // PR_CAPBSET_READ, PR_CAPBSET_DROP
	27, 28, // PR_GET_SECUREBITS, PR_SET_SECUREBITS: locked
	29, 30, // PR_SET_TIMERSLACK, PR_GET_TIMERSLACK
	36, 37, // PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER
	38, 39, // PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS
	41, 42, // PR_SET_THP_DISABLE, PR_GET_THP_DISABLE
	47,     // PR_CAP_AMBIENT
	50, 51, // PR_SVE_SET_VL, PR_SVE_GET_VL: Java on arm64
	52, 53, // PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL
	55, 56, // PR_SET_TAGGED_ADDR_CTRL, PR_GET_TAGGED_ADDR_CTRL: malloc of glibc on arm64
	74, 75, 76, // PR_GET_, PR_SET_, PR_LOCK_SHADOW_STACK_STATUS: glibc on arm64
	0x41555856, // PR_GET_AUXV
	0x53564d41, // PR_SET_VMA: names of mappings
	0x59616d61, // PR_SET_PTRACER: crash handlers
}

// prctlRule decides prctl by its option. The kernel reads 32 bits of it.
func prctlRule() *Node {
	nodes := map[uint32]*Node{prSetMM: ErrnoNode(linuxEPERM)}
	for _, o := range processOptions {
		nodes[o] = AllowNode
	}
	return search(Low(0), overlay([]segment{{0, ErrnoNode(linuxEINVAL)}}, nodes))
}
