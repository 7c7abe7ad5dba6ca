package seccomp

import "sort"

// This file has the numbers of the calls that rules name. They are written out so that
// filters for both architectures compile on every OS. A test compares them with
// golang.org/x/sys/unix.

// lastKnownCall is the highest call number that was judged when the rules were written
// (rseq_slice_yield, Linux 7.0). From 424 on all architectures share the numbers.
const lastKnownCall = 471

// noSyscall marks a call that an architecture does not have.
const noSyscall = -1

// A syscallRow is one row of syscallTable.
type syscallRow struct {
	name         string
	amd64, arm64 int16
}

// syscallTable is sorted by name. It is an array, so it costs nothing at program start.
var syscallTable = [...]syscallRow{
	{"access", 21, noSyscall},
	{"acct", 163, 89},
	{"add_key", 248, 217},
	{"adjtimex", 159, 171},
	{"bind", 49, 200},
	{"bpf", 321, 280},
	{"chdir", 80, 49},
	{"chmod", 90, noSyscall},
	{"chown", 92, noSyscall},
	{"chroot", 161, 51},
	{"clock_adjtime", 305, 266},
	{"clock_settime", 227, 112},
	{"clone", 56, 220},
	{"clone3", 435, 435},
	{"connect", 42, 203},
	{"creat", 85, noSyscall},
	{"delete_module", 176, 106},
	{"execve", 59, 221},
	{"execveat", 322, 281},
	{"faccessat", 269, 48},
	{"faccessat2", 439, 439},
	{"fanotify_init", 300, 262},
	{"fchmod", 91, 52},
	{"fchmodat", 268, 53},
	{"fchmodat2", 452, 452},
	{"fchown", 93, 55},
	{"fchownat", 260, 54},
	{"fcntl", 72, 25},
	{"fgetxattr", 193, 10},
	{"file_setattr", 469, 469},
	{"finit_module", 313, 273},
	{"flistxattr", 196, 13},
	{"fremovexattr", 199, 16},
	{"fsconfig", 431, 431},
	{"fsetxattr", 190, 7},
	{"fsmount", 432, 432},
	{"fsopen", 430, 430},
	{"fspick", 433, 433},
	{"futimesat", 261, noSyscall},
	{"getsockname", 51, 204},
	{"getxattr", 191, 8},
	{"getxattrat", 464, 464},
	{"init_module", 175, 105},
	{"io_cancel", 210, 3},
	{"io_destroy", 207, 1},
	{"io_getevents", 208, 4},
	{"io_pgetevents", 333, 292},
	{"io_setup", 206, 0},
	{"io_submit", 209, 2},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	{"io_uring_setup", 425, 425},
	{"ioctl", 16, 29},
	{"ioperm", 173, noSyscall},
	{"iopl", 172, noSyscall},
	{"ioprio_set", 251, 30},
	{"kcmp", 312, 272},
	{"kexec_file_load", 320, 294},
	{"kexec_load", 246, 104},
	{"keyctl", 250, 219},
	{"kill", 62, 129},
	{"landlock_add_rule", 445, 445},
	{"landlock_create_ruleset", 444, 444},
	{"landlock_restrict_self", 446, 446},
	{"lchown", 94, noSyscall},
	{"lgetxattr", 192, 9},
	{"link", 86, noSyscall},
	{"linkat", 265, 37},
	{"listen", 50, 201},
	{"listmount", 458, 458},
	{"listns", 470, 470},
	{"listxattr", 194, 11},
	{"listxattrat", 465, 465},
	{"llistxattr", 195, 12},
	{"lookup_dcookie", 212, 18},
	{"lremovexattr", 198, 15},
	{"lsetxattr", 189, 6},
	{"lsm_set_self_attr", 460, 460},
	{"lstat", 6, noSyscall},
	{"memfd_create", 319, 279},
	{"memfd_secret", 447, 447},
	{"mkdir", 83, noSyscall},
	{"mkdirat", 258, 34},
	{"mknod", 133, noSyscall},
	{"mknodat", 259, 33},
	{"mmap", 9, 222},
	{"modify_ldt", 154, noSyscall},
	{"mount", 165, 40},
	{"mount_setattr", 442, 442},
	{"move_mount", 429, 429},
	{"mq_open", 240, 180},
	{"mq_unlink", 241, 181},
	{"msgctl", 71, 187},
	{"msgget", 68, 186},
	{"msgrcv", 70, 188},
	{"msgsnd", 69, 189},
	{"name_to_handle_at", 303, 264},
	{"newfstatat", 262, 79},
	{"nfsservctl", 180, 42},
	{"open", 2, noSyscall},
	{"open_by_handle_at", 304, 265},
	{"open_tree", 428, 428},
	{"open_tree_attr", 467, 467},
	{"openat", 257, 56},
	{"openat2", 437, 437},
	{"perf_event_open", 298, 241},
	{"personality", 135, 92},
	{"pidfd_getfd", 438, 438},
	{"pidfd_open", 434, 434},
	{"pivot_root", 155, 41},
	{"prctl", 157, 167},
	{"prlimit64", 302, 261},
	{"process_madvise", 440, 440},
	{"process_vm_readv", 310, 270},
	{"process_vm_writev", 311, 271},
	{"ptrace", 101, 117},
	{"quotactl", 179, 60},
	{"quotactl_fd", 443, 443},
	{"readlink", 89, noSyscall},
	{"readlinkat", 267, 78},
	{"reboot", 169, 142},
	{"recvfrom", 45, 207},
	{"recvmsg", 47, 212},
	{"removexattr", 197, 14},
	{"removexattrat", 466, 466},
	{"rename", 82, noSyscall},
	{"renameat", 264, 38},
	{"renameat2", 316, 276},
	{"request_key", 249, 218},
	{"rmdir", 84, noSyscall},
	{"rt_sigqueueinfo", 129, 138},
	{"rt_tgsigqueueinfo", 297, 240},
	{"sched_setaffinity", 203, 122},
	{"sched_setattr", 314, 274},
	{"sched_setparam", 142, 118},
	{"sched_setscheduler", 144, 119},
	{"seccomp", 317, 277},
	{"semctl", 66, 191},
	{"semget", 64, 190},
	{"semop", 65, 193},
	{"semtimedop", 220, 192},
	{"sendmmsg", 307, 269},
	{"sendmsg", 46, 211},
	{"sendto", 44, 206},
	{"setdomainname", 171, 162},
	{"sethostname", 170, 161},
	{"setns", 308, 268},
	{"setpriority", 141, 140},
	{"setsockopt", 54, 208},
	{"settimeofday", 164, 170},
	{"setxattr", 188, 5},
	{"setxattrat", 463, 463},
	{"shmat", 30, 196},
	{"shmctl", 31, 195},
	{"shmget", 29, 194},
	{"socket", 41, 198},
	{"socketpair", 53, 199},
	{"splice", 275, 76},
	{"stat", 4, noSyscall},
	{"statmount", 457, 457},
	{"statx", 332, 291},
	{"swapoff", 168, 225},
	{"swapon", 167, 224},
	{"symlink", 88, noSyscall},
	{"symlinkat", 266, 36},
	{"syslog", 103, 116},
	{"tee", 276, 77},
	{"tgkill", 234, 131},
	{"tkill", 200, 130},
	{"truncate", 76, 45},
	{"umask", 95, 166},
	{"umount2", 166, 39},
	{"unlink", 87, noSyscall},
	{"unlinkat", 263, 35},
	{"unshare", 272, 97},
	{"uprobe", 336, noSyscall},
	{"uretprobe", 335, noSyscall},
	{"uselib", 134, noSyscall},
	{"userfaultfd", 323, 282},
	{"ustat", 136, noSyscall},
	{"utime", 132, noSyscall},
	{"utimensat", 280, 88},
	{"utimes", 235, noSyscall},
	{"vhangup", 153, 58},
	{"vmsplice", 278, 75},
}

func findCall(name string) (c syscallRow, ok bool) {
	i := sort.Search(len(syscallTable), func(i int) bool { return syscallTable[i].name >= name })
	if i == len(syscallTable) || syscallTable[i].name != name {
		return syscallRow{}, false
	}
	return syscallTable[i], true
}

func callKnown(name string) bool {
	_, ok := findCall(name)
	return ok
}

// CallNumber returns the number of a call. ok is false if arch does not have the call.
func CallNumber(arch Arch, name string) (nr uint32, ok bool) {
	c, ok := findCall(name)
	n := c.amd64
	if arch == archARM64 {
		n = c.arm64
	}
	if !ok || n == noSyscall {
		return 0, false
	}
	return uint32(n), true
}
