package seccomp

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"
)

// The seccomp filter: a deny-list compiled from a table (seccomp_rules.go) into
// one classic BPF program. Compiling is pure and runs on every OS; installing
// is in seccomp_linux.go.
//
// Shape of a program: the architecture, then a balanced binary search over the
// number, then the tests of that one call. A call that no rule names costs
// about ten instructions, and as no argument is read on its way the kernel
// (5.11 and later) recognises it as always allowed and skips the program.

// Arch is a machine that the compiler knows the system calls of.
type Arch uint8

const (
	ArchAMD64 Arch = iota + 1
	ArchARM64
)

// archOf returns the Arch of a GOARCH value; ok is false for the others, which
// cannot be filtered.
func ArchOf(goarch string) (a Arch, ok bool) {
	switch goarch {
	case "amd64":
		return ArchAMD64, true
	case "arm64":
		return ArchARM64, true
	}
	return 0, false
}

func (a Arch) String() string {
	switch a {
	case ArchAMD64:
		return "amd64"
	case ArchARM64:
		return "arm64"
	}
	return fmt.Sprintf("Arch(%d)", uint8(a))
}

// audit is the AUDIT_ARCH_* value that the kernel puts into seccomp_data.
func (a Arch) audit() uint32 {
	if a == ArchARM64 {
		return 0xc00000b7
	}
	return 0xc000003e
}

// seccompOptions says what the other walls already hold, so that the filter
// need not. The zero value is the strictest filter.
type Options struct {
	// Unix lets AF_UNIX sockets be made: the host's sockets are out of reach by
	// path (mounts) and by abstract name (own network namespace or Landlock
	// scope). Without it only connected pairs can be made.
	Unix bool
	// Inet lets TCP and UDP sockets be made: the network namespace or Landlock
	// decides what they reach.
	Inet bool
	// RouteNetlink lets NETLINK_ROUTE sockets be made, with which getifaddrs
	// lists interfaces. Only inside an own network namespace.
	RouteNetlink bool
	// OwnPIDs says that every pid the jail can name is its own (PID namespace),
	// so that scheduling calls on other threads stay allowed.
	OwnPIDs bool
	// Sockets has the supervisor make TCP and UDP sockets, connect and name them
	// (socketRules). It takes Supervised.
	Sockets bool
	// OwnIPC says that what System V has is the jail's own.
	OwnIPC bool
	// Truncate says that Landlock decides who may truncate (ABI 3), or mounts do.
	Truncate bool
	// Attributes says that mounts decide who may read and change extended attributes
	// and flags.
	Attributes bool
	// Programs says that only listed files may be started. A memfd has no path
	// that Landlock could judge, so it must be one that cannot be executed.
	Programs bool
	// Supervised leaves out what the jail's init itself has to do for the server:
	// a second filter, for the server alone, refuses that (compileListener).
	Supervised bool
}

// seccompNotify hands one call to the supervisor where any of When holds, or
// always when When is empty; and never with one of Unless.
type Notify struct {
	Call   string
	When   []bits
	Unless values
}

// values are what the low half of argument Arg may be.
type values struct {
	Arg    int
	Values []uint32
}

// bits is true when one of Bits is set in the low half of argument Arg, and
// none of Not.
type bits struct {
	Arg       int
	Bits, Not uint32
}

// Verdicts: SECCOMP_RET_*.
const (
	VerdictAllow  uint32 = 0x7fff0000
	verdictErrno  uint32 = 0x00050000
	verdictNotify uint32 = 0x7fc00000
)

// Linux errnos: the compiler runs on systems whose own numbers differ.
const (
	LinuxEPERM           = 1
	linuxENOMEM          = 12
	linuxEACCES          = 13
	linuxEINVAL          = 22
	LinuxENOSYS          = 38
	linuxENOPROTOOPT     = 92
	linuxEPROTONOSUPPORT = 93
	linuxEOPNOTSUPP      = 95
	linuxEAFNOSUPPORT    = 97
)

// Offsets into struct seccomp_data. Both machines are little-endian.
const (
	DataNr   = 0
	dataArch = 4
	dataArgs = 16
)

// maxProgram is BPF_MAXINSNS.
const MaxProgram = 4096

const sizeofSockFilter = 8

// A filterNode is a decision: a leaf (yes and no nil) or a test with two ways on.
type Node struct {
	Verdict uint32 // of a leaf

	word    Word
	op      bpf.JumpTest
	k       uint32
	yes, no *Node
}

func (n *Node) leaf() bool { return n.yes == nil }

// A filterWord is what a test looks at: 32 bits of seccomp_data under a mask.
type Word struct{ Off, Mask uint32 }

var AllBits = ^uint32(0)

// low is the half of an argument that the kernel looks at where the parameter
// is an int, unsigned, pid_t, mode or command: what a caller leaves in the
// other half is garbage and must change nothing.
func Low(arg int) Word { return Word{uint32(dataArgs + 8*arg), AllBits} }

// high is the other half, for the few parameters that are long.
func high(arg int) Word { return Word{uint32(dataArgs + 8*arg + 4), AllBits} }

func (w Word) and(mask uint32) Word { return Word{w.Off, mask} }

var AllowNode = &Node{Verdict: VerdictAllow}

func ErrnoNode(errno uint32) *Node { return &Node{Verdict: verdictErrno | errno} }

func WhenAny(w Word, bits uint32, yes, no *Node) *Node {
	return &Node{word: w, op: bpf.JumpBitsSet, k: bits, yes: yes, no: no}
}

func WhenEqual(w Word, k uint32, yes, no *Node) *Node {
	return &Node{word: w, op: bpf.JumpEqual, k: k, yes: yes, no: no}
}

func whenGreater(w Word, k uint32, yes, no *Node) *Node {
	return &Node{word: w, op: bpf.JumpGreaterThan, k: k, yes: yes, no: no}
}

func WhenOneOf(w Word, ks []uint32, yes, no *Node) *Node {
	for i := len(ks) - 1; i >= 0; i-- {
		no = WhenEqual(w, ks[i], yes, no)
	}
	return no
}

// onAllow returns n with next in the place of every allowing leaf.
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

// compileSeccomp returns the deny-list for one machine. It fails on a machine
// that it does not know.
func Compile(arch Arch, opts Options) ([]bpf.RawInstruction, error) {
	return CompileFilter(arch, rules(opts), nil)
}

// compileListener returns the second filter of a supervised server. It hands calls
// over, and refuses what the first one leaves to the supervisor. A refusal by
// either comes before a notification (seccomp(2)).
func CompileListener(arch Arch, opts Options, notify []Notify) ([]bpf.RawInstruction, error) {
	rules := supervisorRules(opts)
	if opts.Sockets {
		rules = append(rules, socketRules()...)
	}
	return CompileFilter(arch, rules, notify)
}

func CompileFilter(arch Arch, rules []rule, notify []Notify) ([]bpf.RawInstruction, error) {
	root, err := compileTree(arch, rules, notify)
	if err != nil {
		return nil, err
	}
	return Assemble(root)
}

// filterRecords is prog as the kernel takes it: an array of struct sock_filter
// in the byte order of both machines. In this form it crosses to the shim.
func Records(prog []bpf.RawInstruction) []byte {
	b := make([]byte, 0, sizeofSockFilter*len(prog))
	for _, ins := range prog {
		b = binary.LittleEndian.AppendUint16(b, ins.Op)
		b = append(b, ins.Jt, ins.Jf)
		b = binary.LittleEndian.AppendUint32(b, ins.K)
	}
	return b
}

// compileTree is the program as a decision tree.
func compileTree(arch Arch, rules []rule, notify []Notify) (*Node, error) {
	if arch != ArchAMD64 && arch != ArchARM64 {
		return nil, fmt.Errorf("seccomp: no system call table for %s", arch)
	}
	nodes := make([]*Node, LastKnownCall+1)
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
			continue // arm64 has only the *at form
		}
		ask := &Node{Verdict: verdictNotify}
		if len(n.When) > 0 {
			next := AllowNode
			for i := len(n.When) - 1; i >= 0; i-- {
				w := n.When[i]
				yes := WhenAny(Low(w.Arg), w.Bits, ask, next)
				if w.Not != 0 {
					yes = WhenAny(Low(w.Arg), w.Not, next, yes)
				}
				next = yes
			}
			ask = next
		}
		ask = WhenOneOf(Low(n.Unless.Arg), n.Unless.Values, AllowNode, ask)
		before := nodes[nr]
		if before == nil {
			before = AllowNode
		}
		nodes[nr] = before.onAllow(ask)
	}

	foreign := ErrnoNode(LinuxEPERM)
	numbers := searchNumbers(segments(arch, nodes, foreign))
	return WhenEqual(Word{dataArch, AllBits}, arch.audit(), numbers, foreign), nil
}

// A segment is a run of numbers, up to the next one, that are decided alike.
type segment struct {
	from uint32
	node *Node
}

// segments cuts the numbers into runs; where nodes has nil, the call is allowed. What
// lies beyond the last call that was known when the table was written answers ENOSYS,
// as an older kernel would: a deny-list must not allow what it has never heard of.
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
	unknown := ErrnoNode(LinuxENOSYS)
	add(uint32(len(nodes)), unknown)
	if arch == ArchAMD64 {
		// x32: the same table behind __X32_SYSCALL_BIT, with other meanings.
		add(0x40000000, foreign)
		add(0x80000000, unknown)
	}
	return segs
}

// searchNumbers is a balanced search over segments.
func searchNumbers(segs []segment) *Node {
	if len(segs) == 1 {
		return segs[0].node
	}
	mid := len(segs) / 2
	return &Node{
		word: Word{DataNr, AllBits}, op: bpf.JumpGreaterOrEqual, k: segs[mid].from,
		yes: searchNumbers(segs[mid:]), no: searchNumbers(segs[:mid]),
	}
}
