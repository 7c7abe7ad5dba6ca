package attacks

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// kernelAttacks are attacks by namespaces and mounts, by /proc and /sys, and by system calls that
// need no path.
func kernelAttacks() []attackGroup {
	var newNamespace, cloned, cloned3 []string
	for _, flag := range []uintptr{
		unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWIPC, unix.CLONE_NEWUTS, unix.CLONE_NEWCGROUP,
	} {
		newNamespace = append(newNamespace, fmt.Sprint("unshare-alone ", flag), fmt.Sprint("call unshare ", flag))
		cloned = append(cloned, fmt.Sprint("clone-into ", flag))
		cloned3 = append(cloned3, fmt.Sprint("clone3-into ", flag))
	}
	newNamespace = append(newNamespace, fmt.Sprint("unshare-alone ", unix.CLONE_NEWTIME))
	return []attackGroup{
		{"Namespaces, mounts and roots", []attack{
			{what: "a new namespace by unshare", forms: newNamespace},
			{what: "by clone", forms: cloned},
			{what: "by clone3, which no filter can look into", forms: append(cloned3, "reaches EINVAL clone3 #88 8")},
			{what: "enter another (setns)", forms: []string{"setns /proc/self/ns/uts", "setns /proc/self/ns/mnt", "setns /proc/self/ns/net", "reaches EBADF setns -1 0"}},
			{what: "mount", forms: []string{"mount WS/empty", "mount-of proc WS/empty", "mount-of sysfs WS/empty", "mount-of devpts WS/empty", "mount-of mqueue WS/empty", "bind / WS/empty", "bind OUT WS/empty", "reaches EFAULT mount 1 1 1 0 0"}},
			{what: "mount by the newer calls", forms: []string{
				"new-fs tmpfs", "fsopen proc", "clone-tree /", "clone-tree WS", "pick /tmp", "reaches EBADF move_mount -1 #4 -1 #4 0x44", "reaches EFAULT fsopen 1 0", "reaches EBADF fsconfig -1 6 0 0 0", "reaches EBADF fsmount -1 0 0",
				"call fspick -100 @/ 0", "call open_tree -100 @/ 0x80001", "call open_tree_attr -100 @/ 0x80001 0 0", "reaches EINVAL mount_setattr -1 #4 0x80000000 #32 32",
			}},
			{what: "make a read-only mount writable, a mount without devices one with", forms: []string{"remount /usr", "attributes /tmp", "attributes /"}},
			{what: "unmount what hides something", forms: []string{"umount /tmp", "unmount-all /proc", "unmount-all /dev/shm", "reaches EFAULT umount2 1 2"}},
			{what: "another root: chroot and climb, pivot_root", forms: []string{"chroot WS/empty", "chroot-out WS/empty OUT/secret", "pivot-out WS", "call chroot @WS", "reaches EFAULT pivot_root 1 1"}},
			{what: "list mounts and namespaces past /proc", forms: []string{"reaches EFAULT statmount 1 1 1 0", "reaches EFAULT listmount 1 1 1 0", "reaches EFAULT listns 1 1 1 0"}},
			{what: "a jail in the jail", forms: []string{"start"}},
		}},
		{"/proc and /sys", []attack{
			{what: "have the host's kernel start a program", forms: []string{
				"write /proc/sys/kernel/core_pattern", "write /proc/sys/kernel/modprobe", "write /proc/sys/kernel/hotplug", "write /sys/kernel/uevent_helper", "write /proc/sys/fs/binfmt_misc/register", "write /sys/fs/cgroup/memory/release_agent",
				"write /proc/sys/kernel/usermodehelper/bset", "write /proc/sys/kernel/poweroff_cmd",
			}},
			{what: "change the host's settings", forms: []string{
				"write /proc/sys/kernel/pid_max", "write /proc/sys/kernel/hostname", "write /proc/sys/vm/overcommit_memory", "write /proc/sys/vm/drop_caches", "write /proc/sys/kernel/randomize_va_space", "write /proc/sys/kernel/ns_last_pid",
				"write /proc/sys/net/ipv4/ip_forward", "write /proc/sys/user/max_user_namespaces", "write /proc/sys/fs/protected_hardlinks", "chmod /proc/sys/kernel/core_pattern", "write /proc/sys/kernel/yama/ptrace_scope", "write /proc/sys/kernel/dmesg_restrict",
			}},
			{what: "restart or crash it, meddle with its processors", forms: []string{"write /proc/sysrq-trigger", "write /proc/irq/default_smp_affinity", "write /sys/power/state", "write /proc/mtrr", "write /proc/sys/kernel/panic", "write /proc/acpi/wakeup", "write /sys/devices/system/cpu/cpu1/online"}},
			{what: "read the kernel's memory, log, keys and timers", forms: []string{
				"kcore", "open /proc/kmsg", "kallsyms", "open /proc/kpagecount", "open /proc/kpageflags", "open /proc/kpagecgroup", "read /proc/timer_list", "read /proc/slabinfo", "read /proc/vmallocinfo", "read /proc/keys", "read /proc/sched_debug", "dmesg", "open /dev/kmsg", "open /dev/mem",
			}},
			{what: "sysfs, debugfs, tracefs, cgroups, EFI", forms: []string{"list /sys/kernel", "list /sys/kernel/debug", "list /sys/kernel/tracing", "list /sys/fs/cgroup", "list /sys/firmware", "list /sys/class/net", "stat /sys/kernel/security", "write /sys/fs/cgroup/cgroup.procs", "write /sys/fs/cgroup/memory/tasks", "list /sys/fs/bpf"}},
			{what: "devices: disks, memory, kvm, fuse, loop, tun, console, input", forms: []string{
				"open /dev/vda", "open /dev/sda", "open /dev/mem", "open /dev/kvm", "open /dev/fuse", "open /dev/loop-control", "open /dev/loop0", "open /dev/net/tun", "open /dev/console", "open /dev/tty0", "open /dev/vcs", "open /dev/vhost-net", "open /dev/port", "open /dev/hpet",
				"open /dev/cpu/0/msr", "open /dev/input/event0", "open /dev/snd/timer", "open /dev/mapper/control", "open /dev/btrfs-control", "open /dev/userfaultfd", "open /dev/rtc0", "open /dev/hwrng", "open /dev/nvram", "open /dev/vsock", "open /dev/cuse", "open /dev/autofs", "open /dev/uinput",
				"litter /dev/attack", "list /dev", "litter-dir /dev/attack-dir",
			}},
		}},
		{"System calls that reach past every path", []attack{
			{what: "io_uring, whose requests no filter sees", forms: []string{"uring", "call io_uring_setup 1 #120", "reaches EBADF io_uring_enter -1 0 0 0 0 0", "reaches EBADF io_uring_register -1 0 0 0"}},
			{what: "asynchronous input and output, of whose contexts a host has so many", forms: []string{"io-contexts 8", "call io_setup 8 #8"}},
			{what: "a lease on a file that may only be read, for which the host's writers wait", forms: []string{"lease WS/src/code", "call fcntl =WS/src/code 1024 0"}},
			{what: "huge pages, which no limit of memory counts", forms: []string{"reaches EINVAL mmap 0 0 1 0x40022 -1 0", "reaches EFAULT memfd_create 1 4", "reaches EINVAL shmget 54321 0 05000"}},
			{what: "eBPF and perf", forms: []string{"bpf-map", "perf 0", "reaches EINVAL bpf 54321 0 0", "reaches EFAULT perf_event_open 1 0 -1 -1 0"}},
			{what: "userfaultfd", forms: []string{"userfault", "call userfaultfd 1"}},
			{what: "a seccomp listener of one's own", forms: []string{"listener"}},
			{what: "kernel modules, another kernel, restart", forms: []string{
				"reaches EFAULT init_module 1 1 1", "reaches EBADF finit_module -1 1 0", "reaches EFAULT delete_module 1 0", "reaches EINVAL kexec_load 0 0 0 0xffff", "reaches EBADF kexec_file_load -1 -1 0 0 0", "reaches EINVAL reboot 0 0 0 0",
			}},
			{what: "swap, accounting, quotas", forms: []string{"reaches EFAULT swapon 1 0", "reaches EFAULT swapoff 1", "reaches EFAULT acct 1", "reaches ENOENT acct @/nowhere/acct", "reaches EINVAL quotactl 0x7f7f7f00 0 0 0", "reaches EBADF quotactl_fd -1 0x80000100 0 0"}},
			{what: "the kernel's log", forms: []string{"dmesg", "call syslog 3 #4096 4096", "call syslog 10 0 0", "reaches EINVAL syslog 99 0 0"}},
			{what: "ports of the machine, segments of the processor", forms: []string{"reaches EINVAL iopl 99", "reaches EINVAL ioperm 0xffffff 1 1", "reaches ENOSYS modify_ldt 99 0 0", "call modify_ldt 0 #64 64"}},
			{what: "personality: no address randomisation, the lowest page", forms: []string{"personality", "personality-of 1048576", "call personality 0x0040000", "call personality 0x0100000"}},
			{what: "file-change notification for a whole filesystem", forms: []string{"fanotify /", "reaches EINVAL fanotify_init -1 0"}},
			{what: "openat2, whose mode no filter sees", forms: []string{"call openat2 -100 @WS/a #24 24"}},
			{what: "rewrite what /proc shows as one's command line", forms: []string{"set-mm", "reaches EINVAL prctl 35 99 0 0 1", "reaches EINVAL prctl 35 1 0 0 1"}},
			{what: "others' memory by advice (process_madvise)", forms: []string{"reaches EBADF process_madvise -1 0 0 0 0"}},
			{what: "others' descriptors (pidfd_getfd)", forms: []string{"reaches EBADF pidfd_getfd -1 0 0"}},
			{what: "calls that are out of use", forms: []string{"reaches EFAULT uselib 1", "reaches EFAULT ustat 0 1", "reaches EINVAL lookup_dcookie 0 0 0", "reaches EINVAL adjtimex 1", "reaches EFAULT adjtimex 1", "reaches EFAULT clock_adjtime 0 1"}},
			{what: "a program of 32 bits, whose calls have other numbers", forms: []string{"foreign-program"}},
			{what: "a core dump, which the host's kernel may pipe into a program", walls: []world{}, forms: []string{"crashes", "write /proc/self/coredump_filter"}},
			{what: "snapshots of btrfs, with what is hidden in them", forms: []string{
				"reaches EBADF ioctl -1 0x50009401 0", "reaches EBADF ioctl -1 0x5000940e 0", "reaches EBADF ioctl -1 0x50009417 0", "reaches EBADF ioctl -1 0x50009418 0", "reaches EBADF ioctl -1 0x5000940f 0", "reaches EBADF ioctl -1 0x5000943f 0",
			}},
			{what: "keys of an encrypted directory (fscrypt), and flags of files and filesystems", forms: []string{
				"reaches EBADF ioctl -1 0xc0506617 0", "reaches EBADF ioctl -1 0xc0406618 0", "reaches EBADF ioctl -1 0xc0406619 0", "reaches EBADF ioctl -1 0x800c6613 0", "reaches EBADF ioctl -1 0xc0096616 0",
				"reaches EBADF ioctl -1 0x4008941a 0", "reaches EBADF ioctl -1 0xc0c09425 0", "reaches EBADF ioctl -1 0x401c5820 0", "reaches EBADF ioctl -1 0x40806685 0", "reaches EBADF ioctl -1 0xc0045877 0", "reaches EBADF ioctl -1 0xf501 0",
			}},
			{what: "code on a socket, which takes room that all users share", forms: []string{
				"reaches EBADF setsockopt -1 1 26 0 0", "reaches EBADF setsockopt -1 1 44 0 0", "reaches EBADF setsockopt -1 1 50 0 0", "reaches EBADF setsockopt -1 1 51 0 0", "reaches EBADF setsockopt -1 1 52 0 0",
			}},
			{what: "messages that keep the pages that are sent", forms: []string{
				"reaches EBADF setsockopt -1 1 60 0 0", "reaches EBADF sendto -1 0 0 0x4000000 0 0", "reaches EBADF sendmsg -1 0 0x4000000", "reaches EBADF sendmmsg -1 0 0 0x4000000",
			}},
			{what: "flow labels and options of packets, which are counted for the whole host", forms: []string{"reaches EBADF setsockopt -1 41 32 0 0", "reaches EBADF setsockopt -1 0 4 0 0"}},
			{what: "a table of futexes, kernel memory that no limit counts", forms: []string{"call prctl 78 1 4096 0", "call prctl 78 1 16 0"}},
			{what: "TIOCSTI, TIOCLINUX, TIOCSETD on any descriptor", forms: []string{"reaches EBADF ioctl -1 0x5412 0", "reaches EBADF ioctl -1 0x541c 0", "reaches EBADF ioctl -1 0x5423 0"}},
		}},
	}
}
