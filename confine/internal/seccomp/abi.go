package seccomp

// Constants of Linux. They are written out because the compilers run on systems whose
// own constants differ.

const (
	// CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. NEWTIME (0x80) does not exist
	// in clone: those bits are the exit signal.
	cloneNamespaces = 0x7e020000
	cloneFiles      = 0x400   // CLONE_FILES
	cloneThread     = 0x10000 // CLONE_THREAD
	// CLONE_{VM,FS,FILES,SIGHAND,THREAD,SYSVSEM}: what unshare may be asked for.
	// Every other bit is a namespace, or is newer than this table.
	unshareHarmless = 0x00050f00

	OAccMode = 0x3      // O_ACCMODE; O_RDONLY is 0
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

	msgZerocopy = 0x4000000
	msgFastopen = 0x20000000

	// Commands of ioctl(2) that rules name. ioctl.go has the lists.
	tiocSTI      = 0x5412
	tiocLINUX    = 0x541c
	tiocCONS     = 0x541d
	tiocSETD     = 0x5423
	tiocVHANGUP  = 0x5437
	siocEthtool  = 0x8946
	fsGetFlags   = 0x80086601
	FsSetFlags   = 0x40086602
	fsSetFlags32 = 0x40046602

	// SECCOMP_IOCTL_NOTIF_*, the commands of a seccomp listener.
	NotifRecv     = 0xc0502100
	NotifSend     = 0xc0182101
	notifIDValid  = 0x40082102
	notifAddFD    = 0x40182103
	notifSetFlags = 0x40082104

	memfdNoExecSeal = 0x8

	// F_SETLEASE; F_SETDELEG of Linux 6.19.
	fSetLease = 1024
	fSetDeleg = 1040

	fOFDGetLock     = 36 // F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW
	fOFDSetLock     = 37
	fOFDSetLockWait = 38

	mapHugetlb = 0x40000 // MAP_HUGETLB
	mfdHugetlb = 0x4     // MFD_HUGETLB
	ShmHugetlb = 0o4000  // SHM_HUGETLB

	// maxSemaphores bounds one semaphore set. It is SEMMSL before Linux 3.19. Newer kernels
	// accept 32000 sets of 32000 semaphores, 64 bytes of kernel memory each.
	maxSemaphores = 250

	prSetMM                = 35
	seccompSetModeFilter   = 1
	seccompFilterListeners = 1 << 3 // SECCOMP_FILTER_FLAG_NEW_LISTENER

	prioProcess   = 0
	ioprioProcess = 1
	personaQuery  = 0xffffffff
	personaLinux  = 0
)

// Verdicts: SECCOMP_RET_*.
const (
	VerdictAllow  uint32 = 0x7fff0000
	verdictErrno  uint32 = 0x00050000
	verdictNotify uint32 = 0x7fc00000
)

// Errnos.
const (
	LinuxEPERM           = 1
	linuxENOMEM          = 12
	linuxEACCES          = 13
	linuxEINVAL          = 22
	linuxENOTTY          = 25
	LinuxENOSYS          = 38
	linuxENOPROTOOPT     = 92
	linuxEPROTONOSUPPORT = 93
	linuxEOPNOTSUPP      = 95
	linuxEAFNOSUPPORT    = 97
)

// Offsets into struct seccomp_data.
const (
	DataNr   = 0
	dataArch = 4
	dataArgs = 16
)

// maxProgram is BPF_MAXINSNS, the longest program that the kernel takes.
const maxProgram = 4096

// sizeofSockFilter is the size of a struct sock_filter.
const sizeofSockFilter = 8
