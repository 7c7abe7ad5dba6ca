package seccomp

// This file is the deny list: the calls that the first filter refuses. refused_sockets.go says
// which sockets may be made. A call that no rule names is allowed if its number is at most
// LastKnownCall. Calls with higher numbers get ENOSYS (segments in filter.go).
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
	eperm := ErrnoNode(LinuxEPERM)
	rules := []rule{
		// The mode and the flags are reached through a pointer: see openMode.
		{"openat2", ErrnoNode(LinuxENOSYS)},
		{"process_vm_readv", eperm},
		// The server may add filters on top of this one, as Chromium does, but no listener.
		{"seccomp", WhenEqual(Low(0), seccompSetModeFilter, WhenAny(Low(1), seccompFilterListeners, eperm, AllowNode), AllowNode)},
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
	enosys := ErrnoNode(LinuxENOSYS)
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
	eperm := ErrnoNode(LinuxEPERM)
	table := AllowNode
	if !opts.Guarded {
		table = sharedTable()
	}
	// The kernel reads 32 bits of clone's flags, and all 64 of unshare's.
	s.add(WhenAny(Low(0), cloneNamespaces, eperm, table), "clone")
	s.add(WhenAny(Low(0), ^uint32(unshareHarmless), eperm, WhenEqual(high(0), 0, AllowNode, eperm)), "unshare")
	s.add(eperm, "setns")
	s.add(eperm, "mount", "umount2", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount",
		"fspick", "mount_setattr", "pivot_root", "chroot")
}

// sharedTable refuses clone if it makes a process that shares the table of descriptors. Record locks stay as
// long as a table, under the number of the process that made them. Where another process shares the table, that
// number can be gone: see package oom.
func sharedTable() *Node {
	return WhenAny(Low(0), cloneFiles, WhenAny(Low(0), cloneThread, AllowNode, ErrnoNode(LinuxEPERM)), AllowNode)
}

func (s *ruleSet) otherProcesses(opts Options) {
	eperm := ErrnoNode(LinuxEPERM)
	s.add(eperm, "process_madvise", "kcmp", "pidfd_getfd") // kcmp compares kernel addresses
	if !opts.Traced {
		s.add(eperm, "ptrace", "process_vm_writev")
	}
}

func (s *ruleSet) kernel() {
	eperm := ErrnoNode(LinuxEPERM)
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
	s.add(ErrnoNode(LinuxENOSYS), "uretprobe", "uprobe")
}

// memory refuses huge pages, which come from a pool of the host's and which no memory
// limit counts, and vmsplice: a pipe keeps 2 MiB for each page that its process unmaps, and no
// limit counts those. With opts.Programs it also refuses memfds that can be executed.
func (s *ruleSet) memory(opts Options) {
	noHugePages := ErrnoNode(linuxENOMEM)
	s.add(WhenAny(Low(3), mapHugetlb, noHugePages, AllowNode), "mmap")
	s.add(ErrnoNode(LinuxENOSYS), "vmsplice")
	// A slot of a pipe keeps what splice puts there of a file's cache. Programs copy by themselves.
	s.add(ErrnoNode(linuxEINVAL), "splice", "tee")
	memfd := AllowNode
	if opts.Programs {
		memfd = WhenAny(Low(1), memfdNoExecSeal, AllowNode, ErrnoNode(LinuxENOSYS))
	}
	// Kernels that do not know the flag answer EINVAL. Chromium asks with all flags set and
	// exits on any other errno.
	s.add(WhenAny(Low(1), mfdHugetlb, ErrnoNode(linuxEINVAL), memfd), "memfd_create")
}

// priorities refuses to change limits and priorities of other processes. A filter does
// not know the caller's own pid, so only 0, which means the caller, passes.
func (s *ruleSet) priorities(opts Options) {
	eperm := ErrnoNode(LinuxEPERM)
	s.add(WhenEqual(Low(0), 0, AllowNode, eperm), "prlimit64")
	s.add(WhenEqual(Low(0), prioProcess, WhenEqual(Low(1), 0, AllowNode, eperm), eperm), "setpriority")
	s.add(WhenEqual(Low(0), ioprioProcess, WhenEqual(Low(1), 0, AllowNode, eperm), eperm), "ioprio_set")
	// glibc sets a thread's affinity and policy by thread id. In a PID namespace every id
	// belongs to the jail.
	if !opts.OwnPIDs {
		s.add(WhenEqual(Low(0), 0, AllowNode, eperm), "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
	}
}

// ioctls allows the commands of ioctl.go. Landlock restricts neither reading nor writing
// extended attributes, so they go if mounts do not decide about them.
func (s *ruleSet) ioctls(opts Options) {
	s.add(commandRule(opts), "ioctl")
	if opts.Attributes {
		return
	}
	// Programs that preserve attributes continue without them on EOPNOTSUPP.
	s.add(ErrnoNode(linuxEOPNOTSUPP), "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
		"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")
	s.add(ErrnoNode(LinuxENOSYS), "setxattrat", "removexattrat", "getxattrat", "listxattrat", "file_setattr")
}

// files refuses set-id files, device nodes, leases, and opens that Landlock does not
// judge. A set-id file in a writable grant would outlive the jail, on a host mount
// without nosuid. mkdir needs no rule: it drops the set-id bits by itself.
func (s *ruleSet) files(opts Options) {
	eperm := ErrnoNode(LinuxEPERM)
	s.add(WhenAny(Low(1), setIDBits, eperm, AllowNode), "chmod", "fchmod", "creat")
	s.add(WhenAny(Low(2), setIDBits, eperm, AllowNode), "fchmodat", "fchmodat2")
	s.add(openMode(opts, 1, 2), "open")
	s.add(openMode(opts, 2, 3), "openat")
	if !opts.Truncate {
		s.add(eperm, "truncate")
	}
	s.add(nodeMode(1), "mknod")
	s.add(nodeMode(2), "mknodat")
	// A whiteout is a character device.
	s.add(WhenAny(Low(4), renameWhiteout, eperm, AllowNode), "renameat2")
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
	s.add(WhenAny(Low(3), msgFastopen|msgZerocopy, unsupported, AllowNode), "sendto", "sendmmsg")
	s.add(WhenAny(Low(2), msgFastopen|msgZerocopy, unsupported, AllowNode), "sendmsg")
}

// ipc refuses message queues of POSIX, and System V IPC if it is the host's.
func (s *ruleSet) ipc(opts Options) {
	eperm := ErrnoNode(LinuxEPERM)
	// In an IPC namespace Landlock refuses to open a POSIX queue only after the kernel has
	// made it and counted it as the user's.
	s.add(eperm, "mq_open", "mq_unlink")
	if !opts.OwnIPC {
		s.add(eperm, "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl")
		return
	}
	s.add(WhenAny(Low(2), ShmHugetlb, ErrnoNode(linuxENOMEM), AllowNode), "shmget")
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
	eperm := ErrnoNode(LinuxEPERM)
	n := WhenAny(Low(flags), OCreat|OTmpfile, WhenAny(Low(mode), setIDBits, eperm, AllowNode), AllowNode)
	if !opts.Truncate {
		n = WhenEqual(Low(flags).and(oTrunc|OAccMode), oTrunc, eperm, n)
	}
	return WhenEqual(Low(flags).and(OAccMode), OAccMode, eperm, n)
}

// nodeMode allows mknod to make regular files, pipes and sockets, without set-id bits.
func nodeMode(mode int) *Node {
	eperm := ErrnoNode(LinuxEPERM)
	return WhenOneOf(Low(mode).and(sIFMT), []uint32{sIFCHR, sIFBLK}, eperm,
		WhenAny(Low(mode), setIDBits, eperm, AllowNode))
}
