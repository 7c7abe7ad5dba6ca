package seccomp

// This file is the deny list: the calls that the first filter refuses, and which sockets may be
// made. A call that no rule names is allowed if its number is at most lastKnownCall. Calls with higher numbers get ENOSYS (segments in filter.go).
//
// Each rule covers a call in its old form and in its *at form. A rule for one form alone
// would break programs that use the other one, or would not hold them.
//
// EPERM is the usual errno. A rule uses another errno where programs then fall back to another
// way.

// A rule decides one call.
type rule struct {
	call string
	node *Node
}

// A ruleSet collects rules.
type ruleSet []rule

func (s *ruleSet) add(node *Node, calls ...string) {
	for _, c := range calls {
		*s = append(*s, rule{c, node})
	}
}

// supervisorRules returns the rules for calls that the supervisor itself needs: to read
// arguments, to resolve names without following magic links, to get the listener, to act on
// the server's sockets, and to trace the starts of programs. In a supervised jail they are part of
// the second filter.
func supervisorRules(opts Options) []rule {
	eperm := ErrnoNode(linuxEPERM)
	rules := []rule{
		// The mode and the flags are reached through a pointer: see openMode.
		{"openat2", ErrnoNode(linuxENOSYS)},
		{"process_vm_readv", eperm},
		// The server may add filters on top of this one, as Chromium does, but no listener.
		{"seccomp", WhenEqual(Low(0), seccompSetModeFilter, whenAny(Low(1), seccompFilterListeners, eperm, AllowNode), AllowNode)},
	}
	if opts.Traced {
		rules = append(rules, rule{"ptrace", eperm}, rule{"process_vm_writev", eperm})
	}
	return rules
}

func rules(opts Options) []rule {
	s := make(ruleSet, 0, 160)
	if !opts.Supervised {
		s = append(s, supervisorRules(opts)...)
	}
	s.unjudgeable()
	s.namespaces(opts)
	s.otherProcesses(opts)
	s.kernel()
	s.memory(opts)
	s.priorities(opts)
	s.ioctls(opts)
	s.files(opts)
	s.sockets(opts)
	s.ipc(opts)
	return s
}

// unjudgeable refuses, with ENOSYS, calls that a filter cannot judge.
func (s *ruleSet) unjudgeable() {
	enosys := ErrnoNode(linuxENOSYS)
	// EPERM from clone3 would abort node and threads of glibc. io_uring opens files and
	// connects sockets without passing a filter.
	s.add(enosys, "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
	// Newer ways to list mounts and namespaces. Programs fall back on /proc.
	s.add(enosys, "statmount", "listmount", "listns")
	// The host has a limited number of AIO contexts, and one process can take them all.
	// Programs do without AIO if a kernel has none.
	s.add(enosys, "io_setup", "io_destroy", "io_submit", "io_getevents", "io_pgetevents", "io_cancel")
}

func (s *ruleSet) namespaces(opts Options) {
	eperm := ErrnoNode(linuxEPERM)
	table := AllowNode
	if !opts.Guarded {
		table = sharedTable()
	}
	// The kernel reads 32 bits of clone's flags, and all 64 of unshare's.
	s.add(whenAny(Low(0), cloneNamespaces, eperm, table), "clone")
	s.add(whenAny(Low(0), ^uint32(unshareHarmless), eperm, WhenEqual(high(0), 0, AllowNode, eperm)), "unshare")
	s.add(eperm, "setns")
	s.add(eperm, "mount", "umount2", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount",
		"fspick", "mount_setattr", "pivot_root", "chroot")
}

// sharedTable refuses clone if it makes a process that shares the table of descriptors. Record locks stay as
// long as a table, under the number of the process that made them. Where another process shares the table, that
// number can be gone: see package supervisor.
func sharedTable() *Node {
	return whenAny(Low(0), cloneFiles, whenAny(Low(0), cloneThread, AllowNode, ErrnoNode(linuxEPERM)), AllowNode)
}

func (s *ruleSet) otherProcesses(opts Options) {
	eperm := ErrnoNode(linuxEPERM)
	s.add(eperm, "process_madvise", "kcmp", "pidfd_getfd") // kcmp compares kernel addresses
	if !opts.Traced {
		s.add(eperm, "ptrace", "process_vm_writev")
	}
}

func (s *ruleSet) kernel() {
	eperm := ErrnoNode(linuxEPERM)
	s.add(eperm, "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module",
		"finit_module", "delete_module", "swapon", "swapoff", "fanotify_init", "quotactl", "quotactl_fd", "syslog",
		"reboot", "sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime",
		"acct", "iopl", "ioperm", "modify_ldt", "vhangup", "lookup_dcookie", "nfsservctl", "uselib", "ustat")
	// Keys belong to the user and not to the jail.
	s.add(eperm, "add_key", "request_key", "keyctl")
	// File handles open files by inode, without a path that a mount could hide.
	s.add(eperm, "name_to_handle_at", "open_by_handle_at")
	// Only the query and the plain personality pass. Other values turn off address
	// randomisation or lower the lowest mappable page.
	s.add(WhenOneOf(Low(0), []uint32{personaQuery, personaLinux}, AllowNode, eperm), "personality")
	s.add(prctlRule(), "prctl")
	// lsm_set_self_attr does what a write to /proc/self/attr does.
	s.add(eperm, "lsm_set_self_attr")
	// Only code that the kernel has placed makes these calls. Since 6.14 it passes the first
	// one, and since 6.18 both, without asking a filter.
	s.add(ErrnoNode(linuxENOSYS), "uretprobe", "uprobe")
}

// memory refuses what no memory limit counts: huge pages, which come from a pool of the host's, and vmsplice,
// since a pipe keeps 2 MiB for each page that its process unmaps. Of secret memory there is no count at all, and
// each restriction of Landlock copies the rules of those before it. With opts.Programs memory also refuses memfds
// that can be executed.
func (s *ruleSet) memory(opts Options) {
	noHugePages := ErrnoNode(linuxENOMEM)
	s.add(whenAny(Low(3), mapHugetlb, noHugePages, AllowNode), "mmap")
	s.add(ErrnoNode(linuxENOSYS), "vmsplice", "memfd_secret", "landlock_create_ruleset")
	// A slot of a pipe keeps what splice puts there of a file's cache. Programs copy by themselves.
	s.add(ErrnoNode(linuxEINVAL), "splice", "tee")
	memfd := AllowNode
	if opts.Programs {
		memfd = whenAny(Low(1), memfdNoExecSeal, AllowNode, ErrnoNode(linuxENOSYS))
	}
	// Kernels that do not know the flag answer EINVAL. Chromium asks with all flags set and
	// exits on any other errno.
	s.add(whenAny(Low(1), mfdHugetlb, ErrnoNode(linuxEINVAL), memfd), "memfd_create")
}

// priorities refuses to change limits and priorities of other processes. A filter does
// not know the caller's own pid, so only 0, which means the caller, passes.
func (s *ruleSet) priorities(opts Options) {
	eperm := ErrnoNode(linuxEPERM)
	s.add(WhenEqual(Low(0), 0, AllowNode, eperm), "prlimit64")
	s.add(WhenEqual(Low(0), prioProcess, WhenEqual(Low(1), 0, AllowNode, eperm), eperm), "setpriority")
	s.add(WhenEqual(Low(0), ioprioProcess, WhenEqual(Low(1), 0, AllowNode, eperm), eperm), "ioprio_set")
	// glibc sets a thread's affinity and policy by thread id. In a PID namespace every id
	// belongs to the jail.
	if !opts.OwnPIDs {
		s.add(WhenEqual(Low(0), 0, AllowNode, eperm), "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
	}
}

// ioctls allows the commands of ioctl.go. No server sets extended attributes: no limit counts those of a memfd.
// Landlock restricts neither reading nor removing them, so these calls go as well if mounts do not decide about
// them. Programs that preserve attributes continue without them on EOPNOTSUPP.
func (s *ruleSet) ioctls(opts Options) {
	s.add(commandRule(opts), "ioctl")
	s.add(ErrnoNode(linuxEOPNOTSUPP), "setxattr", "lsetxattr", "fsetxattr")
	s.add(ErrnoNode(linuxENOSYS), "setxattrat", "file_setattr")
	if opts.Attributes {
		return
	}
	s.add(ErrnoNode(linuxEOPNOTSUPP), "removexattr", "lremovexattr", "fremovexattr",
		"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")
	s.add(ErrnoNode(linuxENOSYS), "removexattrat", "getxattrat", "listxattrat")
}

// files refuses set-id files, device nodes, leases, and opens that Landlock does not
// judge. A set-id file in a writable grant would outlive the jail, on a host mount
// without nosuid. mkdir needs no rule: it drops the set-id bits by itself.
func (s *ruleSet) files(opts Options) {
	eperm := ErrnoNode(linuxEPERM)
	s.add(whenAny(Low(1), setIDBits, eperm, AllowNode), "chmod", "fchmod", "creat")
	s.add(whenAny(Low(2), setIDBits, eperm, AllowNode), "fchmodat", "fchmodat2")
	s.add(openMode(opts, 1, 2), "open")
	s.add(openMode(opts, 2, 3), "openat")
	if !opts.Truncate {
		s.add(eperm, "truncate")
	}
	s.add(nodeMode(1), "mknod")
	s.add(nodeMode(2), "mknodat")
	// A whiteout is a character device.
	s.add(whenAny(Low(4), renameWhiteout, eperm, AllowNode), "renameat2")
	// A read-only descriptor is enough to take a lease, which delays writers on the host. Record
	// locks of an open file belong to no process, so the sampler could not count them. Before
	// Linux 3.15 there are none, and programs fall back on the others.
	s.add(WhenOneOf(Low(1), []uint32{fSetLease, fSetDeleg}, eperm,
		WhenOneOf(Low(1), []uint32{fOFDGetLock, fOFDSetLock, fOFDSetLockWait}, ErrnoNode(linuxEINVAL), AllowNode)), "fcntl")
}

// sockets refuses socket families, types and options that are not granted, TCP Fast Open, which
// connects without the connect call, and MSG_ZEROCOPY, which keeps the pages that are sent.
func (s *ruleSet) sockets(opts Options) {
	s.add(socketRule(opts), "socket")
	s.add(socketpairRule(opts), "socketpair")
	s.add(setsockoptRule(opts), "setsockopt")
	unsupported := ErrnoNode(linuxEOPNOTSUPP)
	s.add(whenAny(Low(3), msgFastopen|msgZerocopy, unsupported, AllowNode), "sendto", "sendmmsg")
	s.add(whenAny(Low(2), msgFastopen|msgZerocopy, unsupported, AllowNode), "sendmsg")
}

// ipc refuses message queues of POSIX, and System V IPC if it is the host's.
func (s *ruleSet) ipc(opts Options) {
	eperm := ErrnoNode(linuxEPERM)
	// In an IPC namespace Landlock refuses to open a POSIX queue only after the kernel has
	// made it and counted it as the user's.
	s.add(eperm, "mq_open", "mq_unlink")
	if !opts.OwnIPC {
		s.add(eperm, "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl")
		return
	}
	s.add(whenAny(Low(2), shmHugetlb, ErrnoNode(linuxENOMEM), AllowNode), "shmget")
	s.add(whenGreater(Low(1), maxSemaphores, ErrnoNode(linuxEINVAL), AllowNode), "semget")
}

// openMode refuses set-id bits if the call may create a file. In other calls the
// kernel does not read the mode. Without opts.Truncate it also refuses to truncate a file
// that is opened for reading, because Landlock does not ask for the right to write there.
//
// openMode refuses access mode 3 of open(2), neither reading nor writing, in every case.
// Landlock asks for no right for such an open. Yet the open truncates (before ABI 3), and
// returns a descriptor that accepts commands to a device (before ABI 5).
func openMode(opts Options, flags, mode int) *Node {
	eperm := ErrnoNode(linuxEPERM)
	n := whenAny(Low(flags), OCreat|OTmpfile, whenAny(Low(mode), setIDBits, eperm, AllowNode), AllowNode)
	if !opts.Truncate {
		n = WhenEqual(Low(flags).and(oTrunc|OAccMode), oTrunc, eperm, n)
	}
	return WhenEqual(Low(flags).and(OAccMode), OAccMode, eperm, n)
}

// nodeMode allows mknod to make regular files, pipes and sockets, without set-id bits.
func nodeMode(mode int) *Node {
	eperm := ErrnoNode(linuxEPERM)
	return WhenOneOf(Low(mode).and(sIFMT), []uint32{sIFCHR, sIFBLK}, eperm,
		whenAny(Low(mode), setIDBits, eperm, AllowNode))
}

// The rules for calls on sockets. socketRule and socketpairRule are part of the deny
// list. socketRules is part of the second filter.

// socketRule allows UNIX, TCP and UDP sockets as far as opts grants them. Every other
// family gets EAFNOSUPPORT.
func socketRule(opts Options) *Node {
	none := ErrnoNode(linuxEAFNOSUPPORT)
	n := none
	if opts.RouteNetlink {
		n = WhenEqual(Low(0), afNetlink, WhenEqual(Low(2), netlinkRoute, AllowNode, none), n)
	}
	if opts.Inet || opts.Sockets {
		kind := Low(1).and(sockTypeMask)
		stream := WhenOneOf(Low(2), []uint32{0, protoTCP}, AllowNode,
			WhenEqual(Low(2), protoMPTCP, ErrnoNode(linuxEPROTONOSUPPORT), none))
		dgram := WhenOneOf(Low(2), []uint32{0, protoUDP}, AllowNode, none)
		inet := WhenEqual(kind, sockStream, stream, WhenEqual(kind, sockDgram, dgram, none))
		n = WhenOneOf(Low(0), []uint32{afInet, afInet6}, inet, n)
	}
	if opts.Unix {
		n = WhenEqual(Low(0), afUnix, AllowNode, n)
	}
	return n
}

// socketpairRule allows AF_UNIX only. One end of a datagram pair can later be connected
// to another address. So without opts.Unix it allows stream and seqpacket pairs only.
// SOCK_RAW of AF_UNIX is a datagram socket.
func socketpairRule(opts Options) *Node {
	none := ErrnoNode(linuxEAFNOSUPPORT)
	pair := AllowNode
	if !opts.Unix {
		pair = WhenOneOf(Low(1).and(sockTypeMask), []uint32{sockStream, sockSeqpacket}, AllowNode, none)
	}
	return WhenEqual(Low(0), afUnix, pair, none)
}

// Without a network namespace, a server with granted hosts may hold TCP sockets, but it
// may not use one by itself. The supervisor makes, names and connects them (socketHandler
// of package mediate). In place of a UDP socket the server holds a UNIX socket, so calls that
// send and receive are harmless. Those that resolvers make are mediated, so that they find
// the address of the DNS server.

func socketRules() []rule {
	ask := &Node{Verdict: verdictNotify}
	noEffect := ErrnoNode(0) // the call returns 0
	given := whenAny(Low(4), AllBits, ask, whenAny(high(4), AllBits, ask, AllowNode))
	rules := []rule{
		{"listen", ErrnoNode(linuxEACCES)},
		{"sendto", given}, {"recvfrom", given}, // mediated if they pass an address
		// glibc asks no DNS server by a socket that refuses these options.
		{"setsockopt", WhenEqual(Low(1), solIP, WhenEqual(Low(2), ipRecvErr, noEffect, AllowNode),
			WhenEqual(Low(1), solIPv6, WhenEqual(Low(2), ipv6RecvErr, noEffect, AllowNode), AllowNode))},
	}
	for _, call := range []string{"socket", "connect", "bind", "getsockname", "recvmsg"} {
		rules = append(rules, rule{call, ask})
	}
	return rules
}

// socketCalls are the calls that socketRules passes to the supervisor.
var socketCalls = []string{"socket", "connect", "bind", "getsockname", "sendto", "recvfrom", "recvmsg"}

// SocketCallsByNumber returns the names of socketCalls by their numbers on arch.
func SocketCallsByNumber(arch Arch) map[uint32]string {
	m := make(map[uint32]string, len(socketCalls))
	for _, call := range socketCalls {
		if nr, ok := CallNumber(arch, call); ok {
			m[nr] = call
		}
	}
	return m
}

// This file lists the options of setsockopt(2) that pass, by level. Options are new calls under one
// number: a filter of a socket is compiled into a room of the kernel's that all users share
// (net.core.bpf_jit_limit), SO_ZEROCOPY keeps 2 MiB for each byte that waits to be sent, and flow
// labels of IPv6 are counted for the whole host. So an option that is not listed gets ENOPROTOOPT,
// as from an older kernel, and programs do without.

const (
	solIP      = 0
	solSocket  = 1
	solTCP     = 6
	solUDP     = 17
	solIPv6    = 41
	solNetlink = 270

	ipRecvErr   = 11
	ipv6RecvErr = 25
)

// socketOptions are what runtimes, browsers, and clients of databases and SSH set. The supervisor has
// the same filter, and sets SO_BINDTOIFINDEX and SO_PASSRIGHTS besides.
var socketOptions = map[uint32][]uint32{
	// SO_REUSEADDR, DONTROUTE to OOBINLINE, PRIORITY, LINGER, REUSEPORT, PASSCRED, RCVLOWAT, RCVTIMEO, SNDTIMEO,
	// BINDTODEVICE, TIMESTAMP, PASSSEC, TIMESTAMPNS, RXQ_OVFL, BINDTOIFINDEX, PASSPIDFD, PASSRIGHTS
	solSocket:  {2, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 20, 21, 25, 29, 34, 35, 40, 62, 76, 83},
	solTCP:     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 18, 25, 36}, // linux/tcp.h
	solUDP:     {1, 103, 104},                                               // UDP_CORK, UDP_SEGMENT, UDP_GRO
	solNetlink: {1, 2, 3, 4, 5, 10, 11, 12},                                 // linux/netlink.h
	solIP:      {1, 2, 8, 10, 11, 12, 13, 15, 24, 33, 34},                   // IP_TOS to IP_MULTICAST_LOOP, linux/in.h
	solIPv6:    {16, 18, 19, 23, 25, 26, 49, 51, 62, 66, 67, 70, 72},        // linux/in6.h
}

// multicastOptions join groups (IP_MULTICAST_IF, IP_ADD_MEMBERSHIP, …). In the host's network they could
// lead datagrams elsewhere.
var multicastOptions = map[uint32][]uint32{
	solIP:   {32, 35, 36, 49},
	solIPv6: {17, 20, 21, 29},
}

// setsockoptRule decides setsockopt by its level and option. Where the supervisor makes the sockets, an
// option must not lead a connection elsewhere than connect was told to, or prevent it.
func setsockoptRule(opts Options) *Node {
	unknown := ErrnoNode(linuxENOPROTOOPT)
	levels := make(map[uint32]*Node, len(socketOptions))
	for level, options := range socketOptions {
		levels[level] = WhenOneOf(Low(2), options, AllowNode, unknown)
		if more := multicastOptions[level]; more != nil && !opts.Sockets {
			levels[level] = WhenOneOf(Low(2), more, AllowNode, levels[level])
		}
	}
	return search(Low(1), overlay([]segment{{0, unknown}}, levels))
}
