package seccomp

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/bpftest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/net/bpf"
)

// filterModes are the filters that the launcher asks for.
var filterModes = map[string]Options{
	"strict":     {},
	"hostns":     {Truncate: true},
	"hostns-net": {Inet: true},
	"namespaces": {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true},
	"programs":   {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Programs: true},
	"netlink":    {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, RouteNetlink: true},
	"sockets":    {Truncate: true, Supervised: true, Sockets: true},
	"devices":    {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Devices: devices("\xaed\x00T")},
	"all":        {Truncate: true, Supervised: true, Devices: devices("\x00\x12NTVd\xae\xff")},
	"supervised": {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Supervised: true},
	"guarded":    {Unix: true, Inet: true, OwnPIDs: true, Guarded: true, OwnIPC: true, Truncate: true, Attributes: true, Supervised: true},
	"traced":     {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Programs: true, Supervised: true, Traced: true},
}

func devices(types string) (d DeviceTypes) {
	d.Add(types)
	return d
}

var bothArchs = []Arch{ArchAMD64, archARM64}

// seccompData returns a struct seccomp_data for the machine of x/net/bpf, which loads words
// as big-endian. The kernel loads them in host order.
func seccompData(audit, nr uint32, a [6]uint64) []byte {
	b := make([]byte, 64)
	binary.BigEndian.PutUint32(b[0:], nr)
	binary.BigEndian.PutUint32(b[4:], audit)
	for i, v := range a {
		binary.BigEndian.PutUint32(b[16+8*i:], uint32(v))
		binary.BigEndian.PutUint32(b[20+8*i:], uint32(v>>32))
	}
	return b
}

// filterVM runs the filters of a mode: the first filter and, if supervised, the second
// one. A refusal by either takes precedence over a notification.
func filterVM(t testing.TB, arch Arch, opts Options) func(data []byte) uint32 {
	t.Helper()
	first := testkit.Get(Compile(arch, opts))(t)
	programs := [][]bpf.RawInstruction{first}
	if opts.Supervised {
		second := testkit.Get(CompileListener(arch, opts, NotifyRules(false, true)))(t)
		programs = append(programs, second)
	}
	var machines []*bpf.VM
	for _, raw := range programs {
		machines = append(machines, bpftest.VM(t, raw))
	}
	return func(data []byte) uint32 {
		verdict := VerdictAllow
		for _, vm := range machines {
			got, err := vm.Run(data)
			if err != nil {
				t.Fatal(err)
			}
			verdict = min(verdict, uint32(got)) // their numbers are in the order of precedence
		}
		return verdict
	}
}

func TestSyscallTableIsSorted(t *testing.T) {
	if !slices.IsSortedFunc(syscallTable[:], func(a, b syscallRow) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the table is searched by name and must be sorted by name")
	}
}

func TestRulesNameEachCallOnce(t *testing.T) {
	for mode, opts := range filterModes {
		seen := make(map[string]bool)
		for _, r := range rules(opts) {
			if seen[r.call] {
				t.Errorf("%s: two rules for %s", mode, r.call)
			}
			seen[r.call] = true
			if !callKnown(r.call) {
				t.Errorf("%s: no number for %s", mode, r.call)
			}
		}
	}
}

func TestCompileRefusesUnknownArchAndCall(t *testing.T) {
	testkit.Fails(t, "an unknown machine was compiled for", testkit.ErrorOf(Compile(Arch(9), Options{})), "")
	if _, err := CompileListener(ArchAMD64, Options{}, []Notify{{Call: "nonesuch"}}); err == nil {
		t.Error("an unknown call was compiled")
	}
	if _, ok := ArchOf("riscv64"); ok {
		t.Error("riscv64 is said to be known")
	}
}

// TestAssembleFarJumps puts together a tree whose branches are out of reach of a conditional jump.
func TestAssembleFarJumps(t *testing.T) {
	nodes := make([]*Node, lastKnownCall+1)
	for nr := uint32(0); nr < 470; nr += 2 {
		nodes[nr] = WhenEqual(Low(0), nr, ErrnoNode(linuxENOSYS), WhenEqual(high(1), nr, ErrnoNode(linuxEPERM), AllowNode))
	}
	tree := search(Word{DataNr, AllBits}, segments(ArchAMD64, nodes, ErrnoNode(linuxEPERM)))
	raw := testkit.Get(Assemble(tree))(t)
	if len(raw) < 1000 {
		t.Fatalf("only %d instructions: no jump is far", len(raw))
	}
	vm := bpftest.VM(t, raw)
	for nr := uint32(0); nr < 470; nr++ {
		for i, a := range [][6]uint64{{}, {uint64(nr)}, {1 << 20, uint64(nr) << 32}, {1 << 20, 1 << 52}} {
			want := VerdictAllow
			if nr%2 == 0 {
				switch {
				case uint32(a[0]) == nr:
					want = verdictErrno | linuxENOSYS
				case uint32(a[1]>>32) == nr:
					want = verdictErrno | linuxEPERM
				}
			}
			if got, err := vm.Run(seccompData(0, nr, a)); err != nil || uint32(got) != want {
				t.Fatalf("nr %d case %d: %#x, %v, want %#x", nr, i, got, err, want)
			}
		}
	}
}

// TestUnnamedCallsReadNoArgument keeps the kernel's cache of calls that
// are always allowed effective: such a call must depend on number and architecture alone.
func TestUnnamedCallsReadNoArgument(t *testing.T) {
	opts := filterModes["namespaces"]
	for _, arch := range bothArchs {
		named := make(map[uint32]bool)
		for _, r := range rules(opts) {
			if nr, ok := CallNumber(arch, r.call); ok {
				named[nr] = true
			}
		}
		tree := testkit.Get(compileTree(arch, rules(opts), nil))(t)
		deepest := 0
		for nr := uint32(0); nr <= lastKnownCall; nr++ {
			if named[nr] {
				continue
			}
			n, steps := tree, 0
			for ; !n.leaf(); steps++ {
				v := nr
				switch n.word.Off {
				case dataArch:
					v = arch.audit()
				case DataNr:
				default:
					t.Fatalf("%s: number %d has an argument read", arch, nr)
				}
				if n.op == bpf.JumpEqual && v == n.k || n.op == bpf.JumpGreaterOrEqual && v >= n.k {
					n = n.yes
				} else {
					n = n.no
				}
			}
			deepest = max(deepest, steps)
		}
		if deepest > 10 {
			t.Errorf("%s: %d tests until a common call is allowed", arch, deepest)
		}
	}
}
