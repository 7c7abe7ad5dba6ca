package landlock

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	// NewestABI is the highest ABI whose rights are known here and in go-landlock.
	// On a newer kernel only the rights of this ABI are handled.
	NewestABI = 11
	// scopeErratum is erratum 2, which lets threads of one process signal one another
	// although their signals are scoped (landlock(7), LANDLOCK_CREATE_RULESET_ERRATA).
	scopeErratum = 1 << (2 - 1)

	// fileRights are the rights that a rule may have whose object is not a directory. The
	// kernel answers EINVAL to others.
	fileRights = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// policyRights maps each right of a policy to rights of the kernel.
var policyRights = [...]struct {
	right  policy.Rights
	access uint64
}{
	{policy.Read, ll.AccessFSReadFile | ll.AccessFSReadDir},
	{policy.Create, ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSRefer},
	{policy.Update, ll.AccessFSWriteFile | ll.AccessFSTruncate},
	{policy.Delete, ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer},
	{policy.Execute, ll.AccessFSExecute},
}

// right is a right of the kernel. The field What says what is not restricted without it.
type right struct {
	Name  string
	Since int // ABI
	Axis  policy.Axis
	What  string

	fs, net, scope uint64
}

// kernelRights are the rights of all ABIs, oldest first.
var kernelRights = [...]right{
	{Name: "files", Since: 1, Axis: policy.AxisFs, fs: 1<<13 - 1, What: "every right on files and directories"},
	{Name: "refer", Since: 2, Axis: policy.AxisFs, fs: ll.AccessFSRefer,
		What: "moving and linking between directories (refused everywhere, also where it is granted)"},
	{Name: "truncate", Since: 3, Axis: policy.AxisFs, fs: ll.AccessFSTruncate,
		What: "truncating files without the right to update them"},
	{Name: "bind_tcp", Since: 4, Axis: policy.AxisNet, net: ll.AccessNetBindTCP, What: "listening on TCP ports"},
	{Name: "connect_tcp", Since: 4, Axis: policy.AxisNet, net: ll.AccessNetConnectTCP, What: "connecting to TCP ports"},
	{Name: "ioctl_dev", Since: 5, Axis: policy.AxisProcess, fs: ll.AccessFSIoctlDev, What: "device commands on devices that are not granted"},
	{Name: "scope_abstract_unix_socket", Since: 6, Axis: policy.AxisIPC, scope: ll.ScopeAbstractUnixSocket,
		What: "abstract UNIX sockets of other processes"},
	{Name: "scope_signal", Since: 6, Axis: policy.AxisProcess, scope: ll.ScopeSignal, What: "signals to other processes"},
	{Name: "resolve_unix", Since: 9, Axis: policy.AxisIPC, fs: ll.AccessFSResolveUnix, What: "UNIX sockets of other processes by path, without a mount that hides them"},
	{Name: "bind_udp", Since: 10, Axis: policy.AxisNet, net: ll.AccessNetBindUDP, What: "receiving on UDP ports"},
	{Name: "send_udp", Since: 10, Axis: policy.AxisNet, net: ll.AccessNetConnectSendUDP, What: "sending to UDP ports"},
}

// EffectiveABI returns the ABI to compile for. A kernel with scopes and without scopeErratum
// counts as one without scopes.
func EffectiveABI(abi int, errata uint32) int {
	if abi >= 6 && errata&scopeErratum == 0 {
		return 5
	}
	return max(0, min(abi, NewestABI))
}

// Input has the arguments of Compile.
type Input struct {
	ABI     int            // from EffectiveABI
	Entries []policy.Entry // of the profile
	// Own are entries of the jail itself: /tmp, /dev/shm, its /proc. If one is in Entries
	// too, the rights of both hold.
	Own []policy.Entry
	// Programs are the files that may be executed if a rule about commands lists them,
	// with the ELF and script interpreters that they need. If nil, every file may be executed whose
	// entry has the right to execute.
	Programs []string
	// DenyPorts denies all TCP ports and, from ABI 10 on, all UDP ports. It is for a jail
	// without a network namespace. In an empty namespace it must be false: a server talks to
	// its children over 127.0.0.1.
	DenyPorts bool
	// Identify puts the identity of its entry's object into each rule. It is for a jail without mounts:
	// with mounts, package jail checks the identity.
	Identify bool
}

// Ruleset is compiled for exactly one ABI.
type Ruleset struct {
	FS, Net, Scoped uint64 // the handled rights
	Rules           []Rule
}

// Rule allows rights on an object and below it.
type Rule struct {
	Path   string
	Access uint64
	ID     policy.FileID // the object that must be at Path; zero: not checked
}

// compiled is a compiled ruleset, with the rights and entries that it does not hold.
type compiled struct {
	ABI int
	Ruleset
	// Unhandled are the wanted rights that the ABI lacks.
	Unhandled []right
	// Carved are the entries that take away what a wider one grants. Mounts must hold them;
	// without mounts each is a gap.
	Carved []Carve
	// Unreadable are the entries with execute and without read. The kernel opens a program
	// for reading, so nothing can be executed there.
	Unreadable []string
}

// Carve is an entry below a wider one that grants more.
type Carve struct {
	Entry policy.Entry
	Taken policy.Rights // the rights of an entry above that this one lacks
}

// Compile compiles for exactly one ABI. For ABI 0 it handles nothing and lists all
// rights as unhandled.
func Compile(in Input) compiled {
	p := compiled{ABI: in.ABI}
	for _, r := range kernelRights {
		if r.net != 0 && !in.DenyPorts {
			continue
		}
		if in.ABI < r.Since {
			p.Unhandled = append(p.Unhandled, r)
			continue
		}
		p.FS, p.Net, p.Scoped = p.FS|r.fs, p.Net|r.net, p.Scoped|r.scope
	}

	p.Rules = make([]Rule, 0, len(in.Own)+len(in.Entries)+len(in.Programs))
	for _, list := range [][]policy.Entry{in.Own, in.Entries} {
		for _, e := range list {
			r := Rule{Path: e.Path, Access: entryAccess(e, in.Programs != nil)}
			if in.Identify {
				r.ID = e.ID
			}
			p.Rules = append(p.Rules, r)
		}
	}
	for _, file := range in.Programs {
		p.Rules = append(p.Rules, Rule{Path: file, Access: ll.AccessFSExecute})
	}
	p.Rules = mergeRules(p.Rules, p.FS)
	p.Carved = carved(slices.Concat(in.Own, in.Entries))
	for _, e := range in.Entries {
		if e.Rights.Has(policy.Execute) && !e.Rights.Has(policy.Read) {
			p.Unreadable = append(p.Unreadable, e.Path)
		}
	}
	return p
}

// mergeRules sorts rules by path and merges those of one path. It keeps handled rights only.
func mergeRules(rules []Rule, handled uint64) []Rule {
	slices.SortStableFunc(rules, func(a, b Rule) int { return strings.Compare(a.Path, b.Path) })
	out := rules[:0]
	for _, r := range rules {
		r.Access &= handled
		if n := len(out); n > 0 && out[n-1].Path == r.Path {
			out[n-1].Access |= r.Access
			if r.ID != (policy.FileID{}) {
				out[n-1].ID = r.ID
			}
			continue
		}
		out = append(out, r)
	}
	return slices.DeleteFunc(out, func(r Rule) bool { return r.Access == 0 })
}

// entryAccess returns what the rule of an entry allows, in the rights of NewestABI.
func entryAccess(e policy.Entry, listedPrograms bool) uint64 {
	var a uint64
	for _, r := range policyRights {
		if e.Rights.Has(r.right) && !(listedPrograms && r.right == policy.Execute) {
			a |= r.access
		}
	}
	// Devices are terminals and entries below /dev. Elsewhere mounts have nodev, and a
	// device in a granted directory accepts no device command.
	if e.Rights&(policy.Read|policy.Update) != 0 && (e.Kind == policy.KindSpecial || policy.Within(e.Path, "/dev")) {
		a |= ll.AccessFSIoctlDev
	}
	// The socket of a process outside must be an entry itself. Sockets made in the jail
	// need no rule.
	if e.Kind == policy.KindSpecial && e.Rights.Has(policy.Update) {
		a |= ll.AccessFSResolveUnix
	}
	if e.Kind != policy.KindDir {
		a &= fileRights
	}
	return a
}

// carved lists the entries that lack a right of an entry above them, by path. For a file, create
// and delete are rights on its directory.
func carved(entries []policy.Entry) []Carve {
	rights := make(map[string]policy.Rights)
	for _, e := range entries {
		rights[e.Path] |= e.Rights
	}
	var out []Carve
	for _, e := range entries {
		var above policy.Rights
		// Landlock adds up the rights of all ancestors.
		for p := e.Path; p != "/" && p != ""; {
			p = p[:strings.LastIndexByte(p, '/')]
			if p == "" {
				p = "/"
			}
			above |= rights[p]
		}
		if e.Kind != policy.KindDir && e.Rights != 0 {
			above &^= policy.Create | policy.Delete
		}
		if taken := above &^ rights[e.Path]; taken != 0 {
			out = append(out, Carve{Entry: e, Taken: taken})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Entry.Path < out[j].Entry.Path })
	return out
}

// fsNames are the names of the file system rights in the kernel's documentation, by bit.
var fsNames = [...]string{
	"execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir",
	"make_reg", "make_sock", "make_fifo", "make_block", "make_sym", "refer", "truncate", "ioctl_dev", "resolve_unix",
}

// AccessNames returns the names of a set of file system rights.
func AccessNames(access uint64) string { return bitNames(access, fsNames[:]) }

func bitNames(bits uint64, names []string) string {
	var out []string
	for i, n := range names {
		if bits&(1<<i) != 0 {
			out = append(out, n)
			bits &^= 1 << i
		}
	}
	if bits != 0 {
		out = append(out, fmt.Sprintf("%#x", bits))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " ")
}

// String prints p for golden files, one rule a line.
func (p compiled) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "abi %d\nhandled fs: %s\nhandled net: %s\nscoped: %s\n", p.ABI, AccessNames(p.FS),
		bitNames(p.Net, []string{"bind_tcp", "connect_tcp", "bind_udp", "send_udp"}),
		bitNames(p.Scoped, []string{"abstract_unix_socket", "signal"}))
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "rule %s: %s\n", r.Path, AccessNames(r.Access))
	}
	for _, u := range p.Unhandled {
		fmt.Fprintf(&b, "unhandled %s (ABI %d, %s): %s\n", u.Name, u.Since, u.Axis, u.What)
	}
	for _, c := range p.Carved {
		fmt.Fprintf(&b, "carved %s: %s\n", c.Entry.Path, c.Taken)
	}
	for _, u := range p.Unreadable {
		fmt.Fprintf(&b, "unreadable %s\n", u)
	}
	return b.String()
}
