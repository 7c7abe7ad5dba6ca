package seatbelt

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The base is what every program needs before it does anything. Each line has a probe in the
// self-test. It is not yet run on a Mac.
const (
	start = `; a program starts, and sees itself
(allow process-info* (target self) (target same-sandbox))
(allow signal (target self) (target same-sandbox))
(allow mach-task-name (target self))
(allow sysctl-read
  (sysctl-name-prefix "hw.optional.arm")
  (sysctl-name-prefix "hw.optional.armv8_")
  (sysctl-name-prefix "hw.perflevel")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "hw.activecpu") (sysctl-name "hw.byteorder") (sysctl-name "hw.cacheconfig")
  (sysctl-name "hw.cachelinesize") (sysctl-name "hw.cachelinesize_compat") (sysctl-name "hw.cpufamily")
  (sysctl-name "hw.cpufrequency") (sysctl-name "hw.cpufrequency_compat") (sysctl-name "hw.cpusubfamily")
  (sysctl-name "hw.cputype") (sysctl-name "hw.l1dcachesize") (sysctl-name "hw.l1icachesize")
  (sysctl-name "hw.l2cachesize") (sysctl-name "hw.l3cachesize") (sysctl-name "hw.logicalcpu")
  (sysctl-name "hw.logicalcpu_max") (sysctl-name "hw.machine") (sysctl-name "hw.memsize")
  (sysctl-name "hw.model") (sysctl-name "hw.ncpu") (sysctl-name "hw.nperflevels")
  (sysctl-name "hw.packages") (sysctl-name "hw.pagesize") (sysctl-name "hw.pagesize_compat")
  (sysctl-name "hw.physicalcpu") (sysctl-name "hw.physicalcpu_max") (sysctl-name "hw.tbfrequency")
  (sysctl-name "hw.vectorunit")
  (sysctl-name "kern.argmax") (sysctl-name "kern.bootargs") (sysctl-name "kern.hostname")
  (sysctl-name "kern.iossupportversion") (sysctl-name "kern.maxfiles") (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc") (sysctl-name "kern.ngroups") (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease") (sysctl-name "kern.ostype") (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion") (sysctl-name "kern.secure_kernel") (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version") (sysctl-name "kern.willshutdown")
  (sysctl-name "machdep.ptrauth_enabled") (sysctl-name "security.mac.lockdown_mode_state")
  (sysctl-name "sysctl.proc_cputype") (sysctl-name "vm.loadavg"))
; threads of V8; Java
(allow sysctl-write (sysctl-name "kern.tcsm_enable") (sysctl-name "kern.grade_cputype"))
; users and groups, notifications, the log, preferences of the system
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.DirectoryService.libinfo_v1")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.logd")
  (global-name "com.apple.diagnosticd")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.secinitd")
  (global-name "com.apple.cfprefsd.agent")
  (global-name "com.apple.cfprefsd.daemon"))
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
; multiprocessing of Python
(allow ipc-posix-sem)
; libSystem
(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow system-mac-syscall
  (mac-policy-name "vnguard")
  (require-all (mac-policy-name "Sandbox") (mac-syscall-number 67)))
(allow system-fsctl (fsctl-command FSIOC_CAS_BSDFLAGS))
(allow system-info)
; dyld reads the names in the root
(allow file-read-data (literal "/"))
(allow file-read-metadata file-test-existence
  (literal "/")
  (literal "/etc")
  (literal "/tmp")
  (literal "/var")
  (literal "/private")
  (literal "/dev")
  (literal "/dev/stdin")
  (literal "/dev/stdout")
  (literal "/dev/stderr")
  (literal "/dev/tty")
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/autofs_nowait")
  (literal "/dev/dtracehelper")
  (subpath "/dev/fd"))
(allow file-read-data
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/autofs_nowait")
  (literal "/dev/dtracehelper")
  (subpath "/dev/fd"))
(allow file-write-data
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/dtracehelper")
  (subpath "/dev/fd"))
(allow file-ioctl
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/autofs_nowait")
  (literal "/dev/dtracehelper"))
; libraries of the system
(allow file-map-executable
  (subpath "/usr/lib")
  (subpath "/System/Library")
  (subpath "/System/Cryptexes")
  (subpath "/System/Volumes/Preboot/Cryptexes")
  (subpath "/System/iOSSupport")
  (subpath "/Library/Apple"))
`
	fork = "(allow process-fork)\n"
	// pty lets a server with a rule for /dev/ptmx make terminals.
	pty = "(allow pseudo-tty)\n"
)

// self returns the rules for the program that executes the server from inside.
func self(program string) []rule {
	own := []filter{literal(program)}
	return []rule{
		{Ops: opsMetadata, Filters: own, Why: "mcp-jail, which executes the server"},
		{Ops: opsRead, Filters: own}, {Ops: opsExecute, Filters: own}, {Ops: opsMap, Filters: own},
	}
}

// withTempDir returns a profile with an entry for the server's own directory of temporary files, in
// which no name is protected.
func withTempDir(p *policy.Profile, dir string) *policy.Profile {
	out := *p
	own := policy.Entry{Path: dir, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome}
	i, there := slices.BinarySearchFunc(p.Entries, dir, func(e policy.Entry, dir string) int { return strings.Compare(e.Path, dir) })
	if there {
		out.Entries = slices.Concat(p.Entries[:i], []policy.Entry{own}, p.Entries[i+1:])
	} else {
		out.Entries = slices.Concat(p.Entries[:i], []policy.Entry{own}, p.Entries[i:])
	}
	return &out
}
