package seccomp

// What the filter refuses, call by call. Everything that no rule names stays
// allowed. Every rule covers a call in its old and in its *at form: a filter that
// lists one of them only breaks node and Python or is walked around.
//
// Pointers cannot be looked through, so a call whose arguments live in a struct
// (clone3, openat2) is answered with ENOSYS, upon which every caller in use
// falls back to the form that can be judged.

const (
	// CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. NEWTIME (0x80) does not exist
	// in clone: those bits are the exit signal.
	cloneNamespaces = 0x7e020000
	// CLONE_{VM,FS,FILES,SIGHAND,THREAD,SYSVSEM}: what unshare may be asked for.
	// Everything else is a namespace, or something newer than this table.
	unshareHarmless = 0x00050f00

	OAccMode = 0x3      // O_ACCMODE; 0 of it is O_RDONLY
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

	msgFastopen = 0x20000000

	tiocSTI   = 0x5412
	tiocLINUX = 0x541c
	tiocSETD  = 0x5423

	// Subvolumes of btrfs are made, copied and removed past the rights of Landlock,
	// and the snapshot of one shows what a mask hides in it.
	btrfsSnapCreate     = 0x50009401
	btrfsSubvolCreate   = 0x5000940e
	btrfsSnapDestroy    = 0x5000940f
	btrfsSnapCreateV2   = 0x50009417
	btrfsSubvolCreateV2 = 0x50009418
	btrfsSnapDestroyV2  = 0x5000943f
	memfdNoExecSeal     = 0x8

	// Flags of a file, and what makes it immutable, by a descriptor that only reads
	// (linux/fs.h, linux/fsverity.h, linux/fscrypt.h, linux/msdos_fs.h).
	FsSetFlags       = 0x40086602
	fsSetFlags32     = 0x40046602
	fsSetXattr       = 0x401c5820
	fsSetVersion     = 0x40087602
	ext4SetVersion   = 0x40086604
	fsEnableVerity   = 0x40806685
	fsSetEncryption  = 0x800c6613
	fatSetAttributes = 0x40047211

	// Leases, and delegations of Linux 6.19.
	fSetLease = 1024
	fSetDeleg = 1040

	mapHugetlb = 0x40000 // MAP_HUGETLB
	mfdHugetlb = 0x4     // MFD_HUGETLB
	ShmHugetlb = 0o4000  // SHM_HUGETLB

	// maxSemaphores is for one set: SEMMSL before Linux 3.19. The kernel would have 32000
	// in each of as many sets, 64 bytes of its memory for every one.
	maxSemaphores = 250

	prSetMM                = 35
	seccompSetModeFilter   = 1
	seccompFilterListeners = 1 << 3 // SECCOMP_FILTER_FLAG_NEW_LISTENER

	prioProcess   = 0
	ioprioProcess = 1
	personaQuery  = 0xffffffff
	personaLinux  = 0
)

// A seccompRule decides one call.
type rule struct {
	call string
	node *Node
}

// supervisorRules refuse what a server's supervisor itself needs: to read arguments,
// to resolve names without following magic links, to get the listener, to act on the
// server's sockets.
func supervisorRules(opts Options) []rule {
	eperm := ErrnoNode(LinuxEPERM)
	rules := []rule{
		// The mode and the flags lie behind a pointer: see openMode.
		{"openat2", ErrnoNode(LinuxENOSYS)},
		{"process_vm_readv", eperm},
		// Filters on top of this one are fine (Chromium), a second listener is not.
		{"seccomp", WhenEqual(Low(0), seccompSetModeFilter, WhenAny(Low(1), seccompFilterListeners, eperm, AllowNode), AllowNode)},
	}
	if opts.Sockets {
		rules = append(rules, rule{"pidfd_getfd", eperm})
	}
	return rules
}

// rules is the deny-list.
func rules(opts Options) []rule {
	rules := make([]rule, 0, 160)
	if !opts.Supervised {
		rules = append(rules, supervisorRules(opts)...)
	}
	add := func(node *Node, calls ...string) {
		for _, c := range calls {
			rules = append(rules, rule{c, node})
		}
	}
	eperm, enosys := ErrnoNode(LinuxEPERM), ErrnoNode(LinuxENOSYS)

	// Runtimes fall back on ENOSYS; EPERM from clone3 aborts node and threads of
	// glibc. io_uring does its own opens and connects, behind every filter.
	add(enosys, "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
	// Newer ways to list mounts and namespaces; /proc is what programs ask.
	add(enosys, "statmount", "listmount", "listns")
	// There are so many contexts for a host, and one process can take them all. What uses
	// them does without where a kernel has none.
	add(enosys, "io_setup", "io_destroy", "io_submit", "io_getevents", "io_pgetevents", "io_cancel")

	// Namespaces. The kernel cuts clone's flags to 32 bits, not unshare's.
	add(WhenAny(Low(0), cloneNamespaces, eperm, AllowNode), "clone")
	add(WhenAny(Low(0), ^uint32(unshareHarmless), eperm, WhenEqual(high(0), 0, AllowNode, eperm)), "unshare")
	add(eperm, "setns")

	// Mounts and roots.
	add(eperm, "mount", "umount2", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount",
		"fspick", "mount_setattr", "pivot_root", "chroot")

	// Other processes' memory and descriptors. kcmp tells addresses apart.
	add(eperm, "ptrace", "process_vm_writev", "process_madvise", "kcmp")
	if !opts.Sockets {
		add(eperm, "pidfd_getfd")
	}

	// The kernel itself.
	add(eperm, "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module",
		"finit_module", "delete_module", "swapon", "swapoff", "fanotify_init", "quotactl", "quotactl_fd", "syslog",
		"reboot", "sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime",
		"acct", "iopl", "ioperm", "modify_ldt", "vhangup", "lookup_dcookie", "nfsservctl", "uselib", "ustat")

	// Keys belong to the user, not to the jail. Handles open by inode, past
	// every path.
	add(eperm, "add_key", "request_key", "keyctl")
	add(eperm, "name_to_handle_at", "open_by_handle_at")

	// Only the query, and the way back to the plain personality: the others take
	// address randomisation and the lowest mappable page away.
	add(WhenOneOf(Low(0), []uint32{personaQuery, personaLinux}, AllowNode, eperm), "personality")

	// A lease is had of a file that may only be read, and holds up the host's writers.
	add(WhenOneOf(Low(1), []uint32{fSetLease, fSetDeleg}, eperm, AllowNode), "fcntl")

	// Huge pages come from a pool of the host's, and no limit of memory counts them.
	noHugePages := ErrnoNode(linuxENOMEM)
	add(WhenAny(Low(3), mapHugetlb, noHugePages, AllowNode), "mmap")
	memfd := AllowNode
	if opts.Programs {
		memfd = WhenAny(Low(1), memfdNoExecSeal, AllowNode, enosys)
	}
	// EINVAL, as from kernels that do not know the flag: Chromium asks with all flags set,
	// and ends itself upon anything else.
	add(WhenAny(Low(1), mfdHugetlb, ErrnoNode(linuxEINVAL), memfd), "memfd_create")

	// Limits and priorities of others. Pids cannot be known here, so also one's
	// own pid is "another": callers use 0.
	add(WhenEqual(Low(0), 0, AllowNode, eperm), "prlimit64")
	add(WhenEqual(Low(0), prioProcess, WhenEqual(Low(1), 0, AllowNode, eperm), eperm), "setpriority")
	add(WhenEqual(Low(0), ioprioProcess, WhenEqual(Low(1), 0, AllowNode, eperm), eperm), "ioprio_set")
	// glibc sets a thread's affinity and policy by thread id. In a PID namespace
	// every id is the jail's own.
	if !opts.OwnPIDs {
		add(WhenEqual(Low(0), 0, AllowNode, eperm), "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
	}

	// PR_SET_MM rewrites what /proc shows as this process's command line.
	add(WhenEqual(Low(0), prSetMM, eperm, AllowNode), "prctl")
	// Typing into the terminal that the jail was started from. The kernel cuts
	// the command to 32 bits.
	commands := []uint32{
		tiocSTI, tiocLINUX, tiocSETD,
		btrfsSnapCreate, btrfsSubvolCreate, btrfsSnapDestroy, btrfsSnapCreateV2, btrfsSubvolCreateV2, btrfsSnapDestroyV2,
	}
	if !opts.Attributes {
		// Programs that preserve attributes go on without them on this errno. Landlock
		// does not restrict reading them either.
		add(ErrnoNode(linuxEOPNOTSUPP), "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
			"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")
		add(enosys, "setxattrat", "removexattrat", "getxattrat", "listxattrat", "file_setattr")
		commands = append(commands, FsSetFlags, fsSetFlags32, fsSetXattr, fsSetVersion, ext4SetVersion, fsEnableVerity, fsSetEncryption, fatSetAttributes)
	}
	add(WhenOneOf(Low(1), commands, eperm, AllowNode), "ioctl")

	// Set-id files outlive the jail in a writable grant, and there no nosuid
	// mount holds. mkdir drops those bits by itself.
	add(WhenAny(Low(1), setIDBits, eperm, AllowNode), "chmod", "fchmod", "creat")
	add(WhenAny(Low(2), setIDBits, eperm, AllowNode), "fchmodat", "fchmodat2")
	add(openMode(opts, 1, 2), "open")
	add(openMode(opts, 2, 3), "openat")
	if !opts.Truncate {
		add(eperm, "truncate")
	}
	add(nodeMode(1), "mknod")
	add(nodeMode(2), "mknodat")
	// A whiteout is a character device.
	add(WhenAny(Low(4), renameWhiteout, eperm, AllowNode), "renameat2")

	add(socketRule(opts), "socket")
	add(socketpairRule(opts), "socketpair")
	// Fast Open connects without the connect call.
	fastopen := ErrnoNode(linuxEOPNOTSUPP)
	add(WhenAny(Low(3), msgFastopen, fastopen, AllowNode), "sendto", "sendmmsg")
	add(WhenAny(Low(2), msgFastopen, fastopen, AllowNode), "sendmsg")

	// In a namespace of its own Landlock refuses to open a POSIX queue when the kernel has
	// made it, and has counted it as the user's.
	add(eperm, "mq_open", "mq_unlink")
	if opts.OwnIPC {
		add(WhenAny(Low(2), ShmHugetlb, noHugePages, AllowNode), "shmget")
		add(whenGreater(Low(1), maxSemaphores, ErrnoNode(linuxEINVAL), AllowNode), "semget")
	} else {
		add(eperm, "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl")
	}
	return rules
}

// openMode refuses set-id bits where the call may make a file; elsewhere the
// mode is garbage that the kernel does not read. Without Truncate it also refuses
// to truncate a file that is opened for reading, for which Landlock's right to
// write is not asked.
//
// Access mode 3 of open(2), neither to read nor to write, is refused altogether:
// Landlock takes such an open for one that needs no right at all, and yet it
// truncates (before ABI 3) and gives a device to send commands to (before ABI 5).
func openMode(opts Options, flags, mode int) *Node {
	eperm := ErrnoNode(LinuxEPERM)
	n := WhenAny(Low(flags), OCreat|OTmpfile, WhenAny(Low(mode), setIDBits, eperm, AllowNode), AllowNode)
	if !opts.Truncate {
		n = WhenEqual(Low(flags).and(oTrunc|OAccMode), oTrunc, eperm, n)
	}
	return WhenEqual(Low(flags).and(OAccMode), OAccMode, eperm, n)
}

// nodeMode lets mknod make files, pipes and sockets.
func nodeMode(mode int) *Node {
	eperm := ErrnoNode(LinuxEPERM)
	return WhenOneOf(Low(mode).and(sIFMT), []uint32{sIFCHR, sIFBLK}, eperm,
		WhenAny(Low(mode), setIDBits, eperm, AllowNode))
}

// socketRule: UNIX, TCP and UDP as far as granted. Everything else has no
// family here.
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

// socketpairRule: AF_UNIX only. One end of a datagram pair can be connected to
// another address later, so without Unix only pairs that cannot are made.
// (SOCK_RAW of AF_UNIX is a datagram socket.)
func socketpairRule(opts Options) *Node {
	none := ErrnoNode(linuxEAFNOSUPPORT)
	pair := AllowNode
	if !opts.Unix {
		pair = WhenOneOf(Low(1).and(sockTypeMask), []uint32{sockStream, sockSeqpacket}, AllowNode, none)
	}
	return WhenEqual(Low(0), afUnix, pair, none)
}
