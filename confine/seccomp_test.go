package confine

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
)

// seccompModes are the filters that the launcher asks for.
var seccompModes = map[string]seccompOptions{
	"strict":     {},
	"bare":       {Truncate: true},
	"bare-net":   {Inet: true},
	"namespaces": {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true},
	"programs":   {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Programs: true},
	"netlink":    {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, RouteNetlink: true},
	"sockets":    {Truncate: true, Supervised: true, Sockets: true},
	"supervised": {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Supervised: true},
}

var bothArchs = []Arch{ArchAMD64, ArchARM64}

// oracle says what is wanted, from the text of the specification and not from
// the rules.
func oracle(arch Arch, o seccompOptions, audit, nr uint32, a [6]uint64) uint32 {
	refuse := func(errno uint32) uint32 { return 0x00050000 | errno }
	const eperm, enosys, eproto, eopnot, eafno = 1, 38, 93, 95, 97
	const ok = 0x7fff0000

	switch {
	case arch == ArchAMD64 && audit != 0xc000003e, arch == ArchARM64 && audit != 0xc00000b7:
		return refuse(eperm)
	case arch == ArchAMD64 && nr>>30 == 1:
		return refuse(eperm)
	case nr > 471:
		return refuse(enosys)
	}
	name := ""
	for _, c := range seccompCalls {
		if arch == ArchAMD64 && int64(c.amd64) == int64(nr) || arch == ArchARM64 && int64(c.arm64) == int64(nr) {
			name = c.name
		}
	}
	v := func() uint32 {
		i := func(n int) int32 { return int32(a[n]) } // what the kernel makes of an int
		setid := func(mode uint64) bool { return uint16(mode)&0o6000 != 0 }
		yes := func(cond bool, errno uint32) uint32 {
			if cond {
				return refuse(errno)
			}
			return ok
		}
		switch name {
		case "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "openat2", "statmount", "listmount", "listns":
			return refuse(enosys)
		case "setns", "mount", "umount2", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsmount", "fsconfig",
			"fspick", "mount_setattr", "pivot_root", "chroot", "ptrace", "process_vm_readv", "process_vm_writev",
			"process_madvise", "pidfd_getfd", "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl",
			"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff",
			"name_to_handle_at", "open_by_handle_at", "fanotify_init", "quotactl", "quotactl_fd", "syslog", "reboot",
			"sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "acct", "iopl",
			"ioperm", "modify_ldt", "vhangup", "lookup_dcookie", "nfsservctl", "uselib", "ustat", "kcmp":
			return refuse(eperm)
		case "clone":
			for _, f := range []uint32{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
				if uint32(a[0])&f != 0 {
					return refuse(eperm)
				}
			}
		case "unshare":
			rest := a[0]
			for _, f := range []uint64{0x100, 0x200, 0x400, 0x800, 0x10000, 0x40000} {
				rest &^= f
			}
			return yes(rest != 0, eperm)
		case "personality":
			return yes(uint32(a[0]) != 0xffffffff && uint32(a[0]) != 0, eperm)
		case "prlimit64":
			return yes(i(0) != 0, eperm)
		case "setpriority":
			return yes(i(0) != 0 || i(1) != 0, eperm)
		case "ioprio_set":
			return yes(i(0) != 1 || i(1) != 0, eperm)
		case "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr":
			return yes(!o.OwnPIDs && i(0) != 0, eperm)
		case "seccomp":
			return yes(uint32(a[0]) == 1 && uint32(a[1])&8 != 0, eperm)
		case "prctl":
			return yes(i(0) == 35, eperm)
		case "ioctl":
			if !o.Attributes && slices.Contains([]uint32{0x40086602, 0x40046602, 0x401c5820, 0x40087602, 0x40086604, 0x40806685, 0x800c6613, 0x40047211}, uint32(a[1])) {
				return refuse(eperm)
			}
			return yes(slices.Contains([]uint32{0x5412, 0x541c, 0x5423, 0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x5000943f}, uint32(a[1])), eperm)
		case "chmod", "fchmod", "creat":
			return yes(setid(a[1]), eperm)
		case "fchmodat", "fchmodat2":
			return yes(setid(a[2]), eperm)
		case "open":
			return yes(a[1]&3 == 3 || a[1]&0x400040 != 0 && setid(a[2]) || !o.Truncate && a[1]&0x203 == 0x200, eperm)
		case "openat":
			return yes(a[2]&3 == 3 || a[2]&0x400040 != 0 && setid(a[3]) || !o.Truncate && a[2]&0x203 == 0x200, eperm)
		case "truncate":
			return yes(!o.Truncate, eperm)
		case "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr":
			return yes(!o.Attributes, eopnot)
		case "setxattrat", "removexattrat", "file_setattr":
			return yes(!o.Attributes, enosys)
		case "mknod", "mknodat":
			mode := a[1]
			if name == "mknodat" {
				mode = a[2]
			}
			kind := uint16(mode) & 0xf000
			return yes(kind == 0x2000 || kind == 0x6000 || setid(mode), eperm)
		case "renameat2":
			return yes(uint32(a[4])&4 != 0, eperm)
		case "socket":
			kind, proto := i(1)&0xf, i(2)
			switch fam := i(0); {
			case fam == 1 && o.Unix:
				return ok
			case (fam == 2 || fam == 10) && (o.Inet || o.Sockets):
				switch {
				case kind == 1 && (proto == 0 || proto == 6), kind == 2 && (proto == 0 || proto == 17):
					return ok
				case kind == 1 && proto == 262:
					return refuse(eproto)
				}
			case fam == 16 && o.RouteNetlink && proto == 0:
				return ok
			}
			return refuse(eafno)
		case "socketpair":
			kind := i(1) & 0xf
			return yes(i(0) != 1 || !o.Unix && kind != 1 && kind != 5, eafno)
		case "sendto", "sendmmsg":
			return yes(uint32(a[3])&0x20000000 != 0, eopnot)
		case "sendmsg":
			return yes(uint32(a[2])&0x20000000 != 0, eopnot)
		case "memfd_create":
			return yes(o.Programs && uint32(a[1])&8 == 0, enosys)
		case "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv",
			"msgctl", "mq_open", "mq_unlink":
			return yes(!o.OwnIPC, eperm)
		}
		return ok
	}()
	if v != ok {
		return v
	}
	if !o.Supervised {
		return ok
	}
	bits := func(flags uint64) uint32 {
		if uint32(flags)&(0x1|0x2|0x40|0x200) != 0 && uint32(flags)&0x200000 == 0 { // O_WRONLY, O_RDWR, O_CREAT, O_TRUNC; O_PATH
			return 0x7fc00000
		}
		return ok
	}
	if v, decided := socketsOracle(name, a); o.Sockets && decided {
		return v
	}
	switch name {
	case "open":
		return bits(a[1])
	case "openat":
		return bits(a[2])
	case "creat", "truncate", "mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat", "link", "linkat", "rename",
		"renameat", "renameat2", "unlink", "unlinkat", "rmdir", "execve", "execveat", "connect", "umask":
		return 0x7fc00000
	}
	return ok
}

// socketsOracle is what is wanted where the supervisor makes the sockets.
func socketsOracle(name string, a [6]uint64) (verdict uint32, decided bool) {
	const ok, ask, unknown, refused = 0x7fff0000, 0x7fc00000, 0x50000 | 92, 0x50000 | 13
	level, option := uint32(a[1]), uint32(a[2])
	in := func(of ...uint32) bool { return slices.Contains(of, option) }
	switch name {
	case "listen":
		return refused, true
	case "socket", "connect", "bind", "getsockname", "getpeername", "sendmsg", "sendmmsg", "recvmsg", "recvmmsg":
		return ask, true
	case "sendto", "recvfrom":
		return ask, a[4] != 0
	case "getsockopt":
		return ask, level == 1 && in(3, 38, 39) // SO_TYPE, SO_PROTOCOL, SO_DOMAIN
	case "setsockopt":
		switch {
		case level == 1:
			return ok, true
		case level == 6 && in(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 18, 25, 36): // no TCP_MD5SIG, TCP_REPAIR, TCP_FASTOPEN, TCP_ULP, …
			return ok, true
		case level == 0 && in(1, 2, 8, 10, 11, 12, 13, 15, 24, 33, 34), level == 41 && in(16, 18, 19, 23, 25, 26, 49, 51, 62, 66, 67, 70, 72):
			return ask, true
		}
		return unknown, true
	}
	return 0, false
}

// seccompData is struct seccomp_data as x/net/bpf's machine must see it: that
// one loads words big-endian where the kernel loads them in host order.
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

// seccompVM runs the filters of a mode, the server's own behind the one of all: a
// refusal by either comes before a notification.
func seccompVM(t testing.TB, arch Arch, opts seccompOptions) func(data []byte) uint32 {
	t.Helper()
	first, err := compileSeccomp(arch, opts)
	if err != nil {
		t.Fatal(err)
	}
	programs := [][]bpf.RawInstruction{first}
	if opts.Supervised {
		second, err := compileListener(arch, opts, hooks(watchAll))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, second)
	}
	var machines []*bpf.VM
	for _, raw := range programs {
		prog, ok := bpf.Disassemble(raw)
		if !ok {
			t.Fatal("the program holds an instruction that does not disassemble")
		}
		vm, err := bpf.NewVM(prog)
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, vm)
	}
	return func(data []byte) uint32 {
		verdict := verdictAllow
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

// interestingWords are the values that rules turn on, their neighbours in bits
// and garbage for the upper halves.
var interestingWords = []uint64{
	0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 16, 17, 23, 26, 29, 30, 31, 35, 38, 39, 40, 41, 57, 132, 136, 262, 0x80, 0xff, 0x40, 0x241, 0x400000, 0x410002,
	0x200001, 0x200242, 0x800, 0x80000, 0x80001, 0x80802, 0o644, 0o4755, 0o2755, 0o6755, 0o1777, 0o100644, 0o104755, 0o20666, 0o60660, 0o10644, 0o140777,
	0x5412, 0x541c, 0x5423, 0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x5000943f, 0x40049409, 0x40086602, 0x40046602, 0x401c5820, 0x40087602, 0x40086604, 0x40806685, 0x800c6613, 0x40047211, 0x40046603, 0x5413, 0x5401, 0x20000000, 0x20004000, 0x4000, 0x20000, 0x2000000, 0x10000000, 0x40000000,
	0x3d0f00, 0x1200011, 0x50f00, 0x200, 0x400, 0x600, 0x100000, 0xffffffff, 0xfffffffe, 0x80000000, 0x20008,
}

func TestSeccompAgainstOracle(t *testing.T) {
	for mode, opts := range seccompModes {
		for _, arch := range bothArchs {
			t.Run(fmt.Sprintf("%s/%s", mode, arch), func(t *testing.T) {
				vm := seccompVM(t, arch, opts)
				check := func(audit, nr uint32, a [6]uint64) {
					t.Helper()
					got := vm(seccompData(audit, nr, a))
					if want := oracle(arch, opts, audit, nr, a); got != want {
						t.Fatalf("arch %#x nr %d args %#x: got %#x, want %#x", audit, nr, a, got, want)
					}
				}
				rng := rand.New(rand.NewPCG(1, 2))
				word := func() uint64 {
					v := interestingWords[rng.IntN(len(interestingWords))]
					switch rng.IntN(6) {
					case 0:
						v |= rng.Uint64() << 32
					case 1:
						v |= 1 << rng.IntN(64)
					case 2:
						v = rng.Uint64()
					}
					return v
				}
				// Every number with nothing, with everything, and at random.
				for nr := uint32(0); nr < 600; nr++ {
					check(arch.audit(), nr, [6]uint64{})
					check(arch.audit(), nr, [6]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)})
					for range 60 {
						check(arch.audit(), nr, [6]uint64{word(), word(), word(), word(), word(), word()})
					}
				}
				// The calls with tests, argument by argument over every interesting word.
				for _, c := range seccompCalls {
					nr, ok := callNumber(arch, c.name)
					if !ok {
						continue
					}
					for arg := range 5 {
						for _, v := range interestingWords {
							var a [6]uint64
							for i := range a {
								a[i] = word()
							}
							a[arg] = v
							check(arch.audit(), nr, a)
							a[arg] |= 0xdeadbeef << 32
							check(arch.audit(), nr, a)
						}
					}
				}
				// Sockets exhaustively where it matters.
				nr, _ := callNumber(arch, "socket")
				pair, _ := callNumber(arch, "socketpair")
				for fam := range uint64(50) {
					for kind := range uint64(17) {
						for _, flags := range []uint64{0, 0x200001, 0x200242, 0x800, 0x80000, 0x80800} {
							for _, proto := range []uint64{0, 1, 6, 17, 58, 132, 136, 255, 256, 262, 0x106} {
								check(arch.audit(), nr, [6]uint64{fam, kind | flags, proto})
								check(arch.audit(), pair, [6]uint64{fam, kind | flags, proto})
							}
						}
					}
				}
				// Foreign machines, x32 and numbers that do not exist.
				for _, audit := range []uint32{0x40000003, 0x40000028, 0xc000003e, 0xc00000b7, 0, 0xffffffff} {
					for _, nr := range []uint32{0, 1, 39, 59, 221, 471, 472, 0x40000000, 0x40000027, 0x40000208, 0x7fffffff, 0x80000000, 0xffffffff} {
						check(audit, nr, [6]uint64{})
					}
				}
			})
		}
	}
}

func TestSeccompCallsAreSorted(t *testing.T) {
	if !slices.IsSortedFunc(seccompCalls[:], func(a, b seccompCall) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the table is searched by name and must be sorted by name")
	}
}

func TestSeccompRulesNameEachCallOnce(t *testing.T) {
	for mode, opts := range seccompModes {
		seen := make(map[string]bool)
		for _, r := range seccompRules(opts) {
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

func TestSeccompRefusesWhatItCannotCompile(t *testing.T) {
	if _, err := compileSeccomp(Arch(9), seccompOptions{}); err == nil {
		t.Error("an unknown machine was compiled for")
	}
	if _, err := compileListener(ArchAMD64, seccompOptions{}, []seccompNotify{{Call: "nonesuch"}}); err == nil {
		t.Error("an unknown call was compiled")
	}
	if _, ok := archOf("riscv64"); ok {
		t.Error("riscv64 is said to be known")
	}
}

// TestSeccompFarJumps puts a tree together whose branches are out of reach of a
// conditional jump.
func TestSeccompFarJumps(t *testing.T) {
	nodes := make([]*filterNode, lastKnownCall+1)
	for nr := uint32(0); nr < 470; nr += 2 {
		nodes[nr] = whenEqual(low(0), nr, errnoNode(linuxENOSYS), whenEqual(high(1), nr, errnoNode(linuxEPERM), allow))
	}
	tree := searchNumbers(segments(ArchAMD64, nodes, errnoNode(linuxEPERM)))
	raw, err := assembleFilter(tree)
	if err != nil {
		t.Fatal(err)
	}
	prog, _ := bpf.Disassemble(raw)
	if len(prog) < 1000 {
		t.Fatalf("only %d instructions: nothing is far", len(prog))
	}
	vm, err := bpf.NewVM(prog)
	if err != nil {
		t.Fatal(err)
	}
	for nr := uint32(0); nr < 470; nr++ {
		for i, a := range [][6]uint64{{}, {uint64(nr)}, {1 << 20, uint64(nr) << 32}, {1 << 20, 1 << 52}} {
			want := verdictAllow
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

// TestSeccompUnnamedCallsReadNoArgument keeps the kernel's cache of calls that
// are always allowed effective: on their way only number and machine are read.
func TestSeccompUnnamedCallsReadNoArgument(t *testing.T) {
	opts := seccompModes["namespaces"]
	for _, arch := range bothArchs {
		named := make(map[uint32]bool)
		for _, r := range seccompRules(opts) {
			if nr, ok := callNumber(arch, r.call); ok {
				named[nr] = true
			}
		}
		tree, err := seccompTree(arch, seccompRules(opts), nil)
		if err != nil {
			t.Fatal(err)
		}
		deepest := 0
		for nr := uint32(0); nr <= lastKnownCall; nr++ {
			if named[nr] {
				continue
			}
			n, steps := tree, 0
			for ; !n.leaf(); steps++ {
				v := nr
				switch n.word.off {
				case dataArch:
					v = arch.audit()
				case dataNr:
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

// seccompListing prints the rules as a reader wants them and then the program.
func seccompListing(t *testing.T, arch Arch, opts seccompOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "machine %s %#x\n\nrules\n", arch, arch.audit())
	rules := seccompRules(opts)
	slices.SortFunc(rules, func(x, y seccompRule) int { return strings.Compare(x.call, y.call) })
	for _, r := range rules {
		if nr, ok := callNumber(arch, r.call); ok {
			fmt.Fprintf(&b, "%4d %-18s %s\n", nr, r.call, nodeText(r.node))
		}
	}
	raw, err := compileSeccomp(arch, opts)
	if err != nil {
		t.Fatal(err)
	}
	prog, _ := bpf.Disassemble(raw)
	fmt.Fprintf(&b, "\nprogram, %d instructions\n", len(prog))
	for i, ins := range prog {
		fmt.Fprintf(&b, "%4d %v\n", i, ins)
	}
	return b.String()
}

func nodeText(n *filterNode) string {
	if n.leaf() {
		switch {
		case n.verdict == verdictAllow:
			return "allow"
		case n.verdict == verdictNotify:
			return "notify"
		}
		return map[uint32]string{
			linuxEPERM: "EPERM", linuxENOSYS: "ENOSYS", linuxEAFNOSUPPORT: "EAFNOSUPPORT",
			linuxEPROTONOSUPPORT: "EPROTONOSUPPORT", linuxEOPNOTSUPP: "EOPNOTSUPP",
		}[n.verdict&0xffff]
	}
	word := fmt.Sprintf("arg%d", (n.word.off-dataArgs)/8)
	if n.word.off%8 == 4 {
		word += ".high"
	}
	if n.word.mask != allBits {
		word += fmt.Sprintf("&%#x", n.word.mask)
	}
	op := map[bpf.JumpTest]string{bpf.JumpBitsSet: "has any of", bpf.JumpEqual: "is"}[n.op]
	return fmt.Sprintf("(%s %s %#x? %s: %s)", word, op, n.k, nodeText(n.yes), nodeText(n.no))
}

func TestSeccompGolden(t *testing.T) {
	for _, arch := range bothArchs {
		for _, mode := range []string{"namespaces", "strict", "bare", "bare-net"} {
			file := filepath.Join("testdata", fmt.Sprintf("seccomp_%s_%s.golden", mode, arch))
			got := seccompListing(t, arch, seccompModes[mode])
			if *updateGolden {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs: look at it and run with -update", file)
			}
		}
	}
}

func BenchmarkCompileSeccomp(b *testing.B) {
	for b.Loop() {
		if _, err := compileSeccomp(ArchAMD64, seccompModes["namespaces"]); err != nil {
			b.Fatal(err)
		}
	}
}
