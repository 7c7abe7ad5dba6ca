package seccomp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// callNames are the names of calls by their numbers.
var callNames = func() map[Arch]map[uint32]string {
	names := map[Arch]map[uint32]string{}
	for _, arch := range bothArchs {
		names[arch] = map[uint32]string{}
		for _, c := range syscallTable {
			if nr, ok := CallNumber(arch, c.name); ok {
				names[arch][nr] = c.name
			}
		}
	}
	return names
}()

// oracle returns the wanted verdict. It is written from the specification and not from the
// rules.
func oracle(arch Arch, o Options, audit, nr uint32, a [6]uint64) uint32 {
	refuse := func(errno uint32) uint32 { return 0x00050000 | errno }
	const eperm, enomem, einval, enosys, enoproto, eproto, eopnot, eafno = 1, 12, 22, 38, 92, 93, 95, 97
	const ok = 0x7fff0000

	switch {
	case arch == ArchAMD64 && audit != 0xc000003e, arch == archARM64 && audit != 0xc00000b7:
		return refuse(eperm)
	case arch == ArchAMD64 && nr>>30 == 1:
		return refuse(eperm)
	case nr > 471:
		return refuse(enosys)
	}
	name := callNames[arch][nr]
	v := func() uint32 {
		i := func(n int) int32 { return int32(a[n]) } // the part that the kernel reads of an int
		setid := func(mode uint64) bool { return uint16(mode)&0o6000 != 0 }
		yes := func(cond bool, errno uint32) uint32 {
			if cond {
				return refuse(errno)
			}
			return ok
		}
		switch name {
		case "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "openat2", "statmount", "listmount", "listns",
			"io_setup", "io_destroy", "io_submit", "io_getevents", "io_pgetevents", "io_cancel":
			return refuse(enosys)
		case "setns", "mount", "umount2", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsmount", "fsconfig",
			"fspick", "mount_setattr", "pivot_root", "chroot", "ptrace", "process_vm_readv", "process_vm_writev",
			"process_madvise", "pidfd_getfd", "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl",
			"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff",
			"name_to_handle_at", "open_by_handle_at", "fanotify_init", "quotactl", "quotactl_fd", "syslog", "reboot",
			"sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "acct", "iopl",
			"ioperm", "modify_ldt", "vhangup", "lookup_dcookie", "nfsservctl", "uselib", "ustat", "kcmp", "mq_open", "mq_unlink", "lsm_set_self_attr":
			return refuse(eperm)
		case "fcntl":
			if i(1) >= 36 && i(1) <= 38 { // F_OFD_*
				return refuse(einval)
			}
			return yes(i(1) == 1024 || i(1) == 1040, eperm)
		case "mmap":
			return yes(a[3]&0x40000 != 0, enomem)
		case "clone":
			for _, f := range []uint32{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
				if uint32(a[0])&f != 0 {
					return refuse(eperm)
				}
			}
			return yes(a[0]&0x400 != 0 && a[0]&0x10000 == 0 && !o.Guarded, eperm)
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
			return prctlOracle(uint32(a[0]))
		case "ioctl":
			return ioctlOracle(o, uint32(a[1]))
		case "splice", "tee":
			return refuse(einval)
		case "uretprobe", "uprobe", "vmsplice", "memfd_secret", "landlock_create_ruleset", "setxattrat", "file_setattr":
			return refuse(enosys)
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
		case "setxattr", "lsetxattr", "fsetxattr":
			return refuse(eopnot)
		case "removexattr", "lremovexattr", "fremovexattr",
			"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr":
			return yes(!o.Attributes, eopnot)
		case "removexattrat", "getxattrat", "listxattrat":
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
			return yes(uint32(a[3])&0x24000000 != 0, eopnot)
		case "sendmsg":
			return yes(uint32(a[2])&0x24000000 != 0, eopnot)
		case "setsockopt":
			return yes(!optionOracle(uint32(a[1]), uint32(a[2]), o.Sockets), enoproto)
		case "memfd_create":
			if uint32(a[1])&4 != 0 {
				return refuse(einval)
			}
			return yes(o.Programs && uint32(a[1])&8 == 0, enosys)
		case "shmget":
			if o.OwnIPC {
				return yes(uint32(a[2])&0o4000 != 0, enomem)
			}
			return refuse(eperm)
		case "semget":
			if o.OwnIPC {
				return yes(uint32(a[1]) > 17, einval)
			}
			return refuse(eperm)
		case "shmat", "shmctl", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl":
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
		"renameat", "renameat2", "unlink", "unlinkat", "rmdir", "execve", "execveat", "umask":
		return 0x7fc00000
	case "connect": // but with the length of an IPv4 address
		if uint32(a[2]) != 16 {
			return 0x7fc00000
		}
	}
	return ok
}

// prctlOracle returns the wanted verdict for an option of prctl.
func prctlOracle(option uint32) uint32 {
	switch option {
	case 35: // PR_SET_MM
		return 0x50000 | 1
	case 1, 2, 3, 4, 7, 8, 15, 16, 21, 22, 23, 24, 27, 28, 29, 30, 36, 37, 38, 39, 41, 42, 47, 50, 51, 52, 53, 55, 56, 74, 75, 76,
		0x41555856, 0x53564d41, 0x59616d61: // "AUXV", "SVMA", "Yama"
		return 0x7fff0000
	}
	return 0x50000 | 22
}

// ioctlOracle returns the wanted verdict for a command of ioctl.
func ioctlOracle(o Options, c uint32) uint32 {
	const ok, eperm, enotty, eopnot = 0x7fff0000, 0x50000 | 1, 0x50000 | 25, 0x50000 | 95
	switch c {
	case 0x5412, 0x541c, 0x541d, 0x5423, 0x5437: // STI, LINUX, CONS, SETD, VHANGUP
		return eperm
	case 0x40086602, 0x40046602: // SETFLAGS
		if o.Attributes {
			return ok
		}
		return eperm
	case 0x8946: // ETHTOOL
		return eopnot
	}
	nr, size, dir := c&0xff, c>>16&0x3fff, c>>30
	granted := false
	for t := range 256 {
		granted = granted || o.Devices.Has(byte(t)) && c>>8&0xff == uint32(t)
	}
	plain := c>>16 == 0
	switch {
	case granted, c == 2:
		return ok
	case c>>8&0xff == 0x21:
		if o.Supervised && slices.Contains([]uint32{0xc0502100, 0xc0182101, 0x40082102, 0x40182103, 0x40082104}, c) {
			return ok
		}
	case c>>8&0xff == 'T' && plain:
		if nr >= 0x01 && nr <= 0x18 || nr == 0x1b || nr >= 0x20 && nr <= 0x25 || nr >= 0x27 && nr <= 0x29 || nr == 0x41 || nr >= 0x50 && nr <= 0x52 || nr == 0x60 {
			return ok
		}
	case c>>8&0xff == 'T' && size == 44:
		if dir == 2 && nr == 0x2a || dir == 1 && nr >= 0x2b && nr <= 0x2d {
			return ok
		}
	case c>>8&0xff == 'T' && size == 4 && (dir == 1 || dir == 2):
		if dir == 2 && slices.Contains([]uint32{0x30, 0x32, 0x38, 0x39, 0x40}, nr) || dir == 1 && (nr == 0x31 || nr == 0x36) {
			return ok
		}
	case c>>8 == 0x89:
		if nr >= 1 && nr <= 7 || slices.Contains([]uint32{0x4b, 0x10, 0x12, 0x13, 0x33, 0x38, 0x42, 0x15, 0x17, 0x19, 0x1b, 0x1d, 0x21, 0x27, 0x70}, nr) {
			return ok
		}
		return eperm
	case slices.Contains([]uint32{0x80108906, 0x80108907, 0x40049409, 0x4020940d, 0xc0189436, 0xc020660b, 0x80086601, 0x80046601, 0x801c581f, 0x80045200}, c):
		return ok
	}
	return enotty
}

// socketsOracle returns the wanted verdict where the supervisor makes the sockets.
func socketsOracle(name string, a [6]uint64) (verdict uint32, decided bool) {
	const ask, refused, noEffect = 0x7fc00000, 0x50000 | 13, 0x50000
	level, option := uint32(a[1]), uint32(a[2])
	switch name {
	case "listen":
		return refused, true
	case "socket", "connect", "bind", "getsockname", "recvmsg":
		return ask, true
	case "sendto", "recvfrom":
		return ask, a[4] != 0
	case "setsockopt":
		return noEffect, level == 0 && option == 11 || level == 41 && option == 25 // IP_RECVERR, IPV6_RECVERR
	}
	return 0, false
}

// optionOracle reports whether an option of a socket may be set. made tells that the supervisor makes the sockets.
func optionOracle(level, option uint32, made bool) bool {
	in := func(of ...uint32) bool { return slices.Contains(of, option) }
	switch level {
	case 1: // no SO_ATTACH_FILTER, SO_LOCK_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_*, SO_ZEROCOPY, SO_TXTIME, SO_RESERVE_MEM, …
		return in(2, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 20, 21, 25, 29, 34, 35, 40, 62, 76, 83)
	case 6: // no TCP_MD5SIG, TCP_REPAIR, TCP_FASTOPEN, TCP_ULP, …
		return in(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 18, 25, 36)
	case 17:
		return in(1, 103, 104)
	case 0: // no IP_OPTIONS, IP_HDRINCL, IP_MSFILTER, …
		return in(1, 2, 8, 10, 11, 12, 13, 15, 24, 33, 34) || !made && in(32, 35, 36, 49)
	case 41: // no IPV6_FLOWLABEL_MGR, IPV6_RTHDR, IPV6_HOPOPTS, …
		return in(16, 18, 19, 23, 25, 26, 49, 51, 62, 66, 67, 70, 72) || !made && in(17, 20, 21, 29)
	case 270:
		return in(1, 2, 3, 4, 5, 10, 11, 12)
	}
	return false
}

// interestingWords are the values that rules compare with, values that differ from them in
// a few bits, and garbage for the upper halves.
var interestingWords = []uint64{
	0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 16, 17, 23, 26, 29, 30, 31, 35, 38, 39, 40, 41, 57, 132, 136, 262, 0x80, 0xff, 0x40, 0x241, 0x400000, 0x410002,
	0x200001, 0x200242, 0x800, 0x80000, 0x80001, 0x80802, 0o644, 0o4755, 0o2755, 0o6755, 0o1777, 0o100644, 0o104755, 0o20666, 0o60660, 0o10644, 0o140777,
	0x40086602, 0x40046602, 0x401c5820, 0x40087602, 0x40086604, 0x40806685, 0x800c6613, 0x40047211, 0x40046603, 0x50009401, 0x4008941a, 0xc0506617, 0xc0406618, 0x4004f501,
	0xae01, 0x8004ae02, 0xc0106440, 0x541e, 0x4e4a, 0x20000000, 0x20004000, 0x4000, 0x20000, 0x2000000, 0x10000000, 0x40000000, 0x4000000, 0x4004000,
	0x40022, 0x78040022, 18, 250, 251, 0o5600, 12, 1024, 1025, 1026, 1039, 1040,
	0x3d0f00, 0x1200011, 0x50f00, 0x200, 0x400, 0x600, 0x100000, 0xffffffff, 0xfffffffe, 0x80000000, 0x20008,
}

func TestRulesAgainstOracle(t *testing.T) {
	for mode, opts := range filterModes {
		for _, arch := range bothArchs {
			t.Run(fmt.Sprintf("%s/%s", mode, arch), func(t *testing.T) {
				vm := filterVM(t, arch, opts)
				check := func(audit, nr uint32, a [6]uint64) {
					got := vm(seccompData(audit, nr, a))
					if want := oracle(arch, opts, audit, nr, a); got != want {
						t.Helper() // not for each: it costs as much as the look
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
				// The calls whose arguments the filter tests, argument by argument over every interesting word.
				for call := range tested(opts) {
					nr, ok := CallNumber(arch, call)
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
				checkSockets(arch, check)
				checkOptions(arch, check)
				checkListed(arch, opts.Devices != (DeviceTypes{}), check)
				checkForeign(check)
			})
		}
	}
}

// tested returns the calls of which a filter tests arguments.
func tested(opts Options) map[string]bool {
	calls := map[string]bool{}
	for _, r := range rules(opts) {
		if !r.node.leaf() {
			calls[r.call] = true
		}
	}
	if opts.Supervised {
		for _, n := range NotifyRules(false, true) {
			calls[n.Call] = true
		}
	}
	return calls
}

// checkSockets tries all combinations of family, type and protocol.
func checkSockets(arch Arch, check func(audit, nr uint32, a [6]uint64)) {
	nr, _ := CallNumber(arch, "socket")
	pair, _ := CallNumber(arch, "socketpair")
	for fam := range uint64(50) {
		for kind := range uint64(17) {
			for _, flags := range []uint64{0, 0x200242, 0x80800} {
				for _, proto := range []uint64{0, 1, 6, 17, 58, 132, 136, 255, 256, 262, 0x106} {
					check(arch.audit(), nr, [6]uint64{fam, kind | flags, proto})
					check(arch.audit(), pair, [6]uint64{fam, kind | flags, proto})
				}
			}
		}
	}
}

// checkOptions tries all options of the levels that are known, and of those beside them.
func checkOptions(arch Arch, check func(audit, nr uint32, a [6]uint64)) {
	nr, _ := CallNumber(arch, "setsockopt")
	for _, level := range []uint64{0, 1, 2, 5, 6, 7, 16, 17, 18, 40, 41, 42, 58, 255, 263, 269, 270, 271, 282, 284, 1 << 31, 0xffffffff} {
		for option := range uint64(256) {
			for _, garbage := range []uint64{0, 0xdeadbeef << 32} {
				check(arch.audit(), nr, [6]uint64{3, level | garbage, option | garbage})
			}
			check(arch.audit(), nr, [6]uint64{3, level, option | 0x100})
		}
	}
}

// checkListed tries every listed option of prctl and command of ioctl, and those beside them.
// With all it tries every command without a direction.
func checkListed(arch Arch, all bool, check func(audit, nr uint32, a [6]uint64)) {
	prctl, _ := CallNumber(arch, "prctl")
	ioctl, _ := CallNumber(arch, "ioctl")
	try := func(v uint64) {
		for _, garbage := range []uint64{0, 0xdeadbeef << 32} {
			check(arch.audit(), prctl, [6]uint64{v | garbage})
			check(arch.audit(), ioctl, [6]uint64{0, v | garbage})
		}
	}
	for v := range uint64(0x10000) {
		if all || v < 256 || v>>8 == 'T' || v>>8 == 0x89 {
			try(v)
		}
	}
	for _, v := range slices.Concat(processOptions, fileCommands, terminalCommands, socketCommands, privilegedCommands, flagCommands, listenerCommands) {
		for bit := range 32 {
			try(uint64(v ^ 1<<bit))
		}
		try(uint64(v - 1))
		try(uint64(v))
		try(uint64(v + 1))
	}
}

// checkForeign tries other architectures, x32 and numbers that do not exist.
func checkForeign(check func(audit, nr uint32, a [6]uint64)) {
	for _, audit := range []uint32{0x40000003, 0x40000028, 0xc000003e, 0xc00000b7, 0, 0xffffffff} {
		for _, nr := range []uint32{0, 1, 39, 59, 221, 471, 472, 0x40000000, 0x40000027, 0x40000208, 0x7fffffff, 0x80000000, 0xffffffff} {
			check(audit, nr, [6]uint64{})
		}
	}
}
