package landlock

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The Landlock ruleset: the same entries as the mounts, said a second time in
// another mechanism. Compiling is pure and runs on every OS; applying is in
// landlock_linux.go.
//
// Landlock adds rights along a path and takes none away, so the rule of an
// entry is exactly its Rights, an entry without rights has no rule, and what a
// narrower entry takes away is held by a mount. What no mount holds is listed
// in landlockPlan.Carved.
//
// There is no best effort. The set of handled rights is the whole of what the
// ABI has, and every right that it lacks is named in landlockPlan.Unhandled.

const (
	// newestLandlock is the highest ABI whose rights are known here and in go-landlock.
	// On a newer kernel only the rights of this ABI are handled.
	NewestLandlock = 11
	// scopeErratum is the erratum that repairs the scoping of signals between
	// threads of one process (landlock(7), LANDLOCK_CREATE_RULESET_ERRATA).
	scopeErratum = 1 << (2 - 1)

	// landlockFileRights are the rights that a rule on something that is not a
	// directory may hold; others are EINVAL.
	landlockFileRights = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// landlockRights says which kernel rights make up a right of the policy.
var landlockRights = [...]struct {
	right  policy.Rights
	access uint64
}{
	{policy.Read, ll.AccessFSReadFile | ll.AccessFSReadDir},
	{policy.Create, ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSRefer},
	{policy.Update, ll.AccessFSWriteFile | ll.AccessFSTruncate},
	{policy.Delete, ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer},
	{policy.Execute, ll.AccessFSExecute},
}

// A landlockRight is one right of the kernel with what its absence means.
type landlockRight struct {
	Name  string
	Since int // ABI
	Axis  policy.Axis
	What  string // what does not hold on an older kernel

	fs, net, scope uint64
}

var landlockAdditions = [...]landlockRight{
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

// effectiveABI is the level to compile for. A kernel with scopes that lacks the
// repair of the signal scope counts as one without scopes.
func EffectiveABI(abi int, errata uint32) int {
	if abi >= 6 && errata&scopeErratum == 0 {
		return 5
	}
	return max(0, min(abi, NewestLandlock))
}

// landlockInput is what the compiler works on.
type LandlockInput struct {
	ABI     int            // from effectiveABI
	Entries []policy.Entry // of the profile
	// Own are the jail's own places: /tmp, /dev/shm, its /proc. Where one of
	// them is an entry too, the rights of both hold.
	Own []policy.Entry
	// Programs are the files that may be started when a command rule says so,
	// the ELF interpreters and script interpreters that they need included; nil
	// means any that an entry lets execute.
	Programs []string
	// DenyPorts handles TCP and, where the kernel can, UDP, and allows no port.
	// It is for a jail without a network namespace. In an empty namespace it
	// must stay false: a server talks to its own children over 127.0.0.1.
	DenyPorts bool
	// Pin has each rule carry the identity of its entry's object, for a jail in
	// which no mount does that.
	Pin bool
}

// landlockPlan is a compiled ruleset with what it does not hold.
type landlockPlan struct {
	ABI int
	LandlockRules
	// Unhandled are the rights that the ABI lacks, of those that are wanted.
	Unhandled []landlockRight
	// Carved are the entries that take away what a wider one grants: the mounts
	// must hold them, or each is a Gap.
	Carved []LandlockCarve
	// Unreadable are the entries with execute and without read. The kernel opens
	// a program for reading, so nothing can be started there.
	Unreadable []string
}

// landlockCarve is an entry below a wider one.
type LandlockCarve struct {
	Entry policy.Entry
	Taken policy.Rights // held by an ancestor and not by the entry
}

// compileLandlock compiles for exactly one ABI. ABI 0 gives a plan that handles
// nothing and lists everything as unhandled.
func CompileLandlock(in LandlockInput) landlockPlan {
	p := landlockPlan{ABI: in.ABI}
	for _, r := range landlockAdditions {
		if r.net != 0 && !in.DenyPorts {
			continue
		}
		if in.ABI < r.Since {
			p.Unhandled = append(p.Unhandled, r)
			continue
		}
		p.FS, p.Net, p.Scoped = p.FS|r.fs, p.Net|r.net, p.Scoped|r.scope
	}

	p.Rules = make([]LandlockRule, 0, len(in.Own)+len(in.Entries)+len(in.Programs))
	for _, list := range [][]policy.Entry{in.Own, in.Entries} {
		for _, e := range list {
			r := LandlockRule{Path: e.Path, Access: EntryAccess(e, in.Programs != nil)}
			if in.Pin {
				r.ID = e.ID
			}
			p.Rules = append(p.Rules, r)
		}
	}
	for _, file := range in.Programs {
		p.Rules = append(p.Rules, LandlockRule{Path: file, Access: ll.AccessFSExecute})
	}
	p.Rules = oneRuleEach(p.Rules, p.FS)
	p.Carved = carved(slices.Concat(in.Own, in.Entries))
	for _, e := range in.Entries {
		if e.Rights.Has(policy.Execute) && !e.Rights.Has(policy.Read) {
			p.Unreadable = append(p.Unreadable, e.Path)
		}
	}
	return p
}

// oneRuleEach sorts rules and joins those of one path, in the rights that are handled.
func oneRuleEach(rules []LandlockRule, handled uint64) []LandlockRule {
	slices.SortStableFunc(rules, func(a, b LandlockRule) int { return strings.Compare(a.Path, b.Path) })
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
	return slices.DeleteFunc(out, func(r LandlockRule) bool { return r.Access == 0 })
}

// entryAccess is what one entry's rule allows, in the rights of the newest ABI.
func EntryAccess(e policy.Entry, listedPrograms bool) uint64 {
	var a uint64
	for _, r := range landlockRights {
		if e.Rights.Has(r.right) && !(listedPrograms && r.right == policy.Execute) {
			a |= r.access
		}
	}
	// Devices: terminals and what a rule below /dev names. Elsewhere mounts carry
	// nodev, and a device in a granted directory stays without commands.
	if e.Rights&(policy.Read|policy.Update) != 0 && (e.Kind == policy.KindSpecial || policy.Within(e.Path, "/dev")) {
		a |= ll.AccessFSIoctlDev
	}
	// A daemon's socket must be named itself. Sockets that were made inside the
	// jail need no rule.
	if e.Kind == policy.KindSpecial && e.Rights.Has(policy.Update) {
		a |= ll.AccessFSResolveUnix
	}
	if e.Kind != policy.KindDir {
		a &= landlockFileRights
	}
	return a
}

// carved lists the entries that hold less than the ones above them, in order of
// path. Create and delete of a file are its directory's business.
func carved(entries []policy.Entry) []LandlockCarve {
	rights := make(map[string]policy.Rights)
	for _, e := range entries {
		rights[e.Path] |= e.Rights
	}
	var out []LandlockCarve
	for _, e := range entries {
		var above policy.Rights
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
			out = append(out, LandlockCarve{Entry: e, Taken: taken})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Entry.Path < out[j].Entry.Path })
	return out
}

var landlockNames = [...]string{
	"execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir",
	"make_reg", "make_sock", "make_fifo", "make_block", "make_sym", "refer", "truncate", "ioctl_dev", "resolve_unix",
}

// accessNames names the bits of a filesystem access set, as the kernel's
// documentation does.
func AccessNames(access uint64) string { return bitNames(access, landlockNames[:]) }

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

// String prints the plan, one rule a line.
func (p landlockPlan) String() string {
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
