package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelThefts make system calls that an honest server does not need.
func kernelThefts() []theft {
	quiet := func(try func() (string, error)) func(context.Context, arguments) (string, error) {
		return func(context.Context, arguments) (string, error) { return try() }
	}
	return append(socketThefts(), []theft{
		{name: "mount", about: "Mount, with a type of file system that does not exist, so that only the permission is tried", try: quiet(mount), sweep: always(nil)},
		{name: "chroot", about: "Change the root directory to the one it is", try: quiet(chroot), sweep: always(nil)},
		{
			name: "new_namespace", about: "Start a process in a new namespace, where it would hold every capability",
			params: []param{{name: "kind", about: "user unless given; mount, net, pid, ipc, uts, cgroup"}},
			try: func(_ context.Context, a arguments) (string, error) {
				return newNamespace(a.text("kind", "user"))
			},
			sweep: always(nil),
		},
		{
			name: "ptrace", about: "Attach to a process without stopping it, and let go",
			params: []param{{name: "pid", about: "of the process; the parent unless given", kind: number}},
			try:    func(_ context.Context, a arguments) (string, error) { return ptrace(a) },
			sweep:  always(nil),
		},
		{name: "setuid", about: "Become another user, on one thread that ends at once", try: quiet(setuid), sweep: always(nil)},
		{name: "io_uring", about: "Set up an io_uring, whose operations a filter of system calls does not see", try: quiet(ioUring), sweep: always(nil)},
		{name: "bpf", about: "Make a BPF map", try: quiet(bpf), sweep: always(nil)},
		{name: "keyctl", about: "Look into the user's session keyring; keys are named, not read", try: quiet(keyctl), sweep: always(nil)},
		{name: "memfd_exec", about: "Start a program from memory, which has no path for a rule to name", try: quiet(memfdExec), sweep: always(nil)},
		{
			name: "open_by_handle", about: "Open a file by its inode instead of its path",
			params: []param{{name: "path", about: "of a file that can be seen; / unless given"}},
			try: func(_ context.Context, a arguments) (string, error) {
				return openByHandle(expand(a.text("path", "/")))
			},
			sweep: always(nil),
		},
	}...)
}

// onDoomedThread runs f on a thread that ends afterwards, so that changes of the thread, such as its user or its tracees,
// end too. It does not use the main thread, which cannot end.
func onDoomedThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			onDoomedThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

func mount() (string, error) {
	// The kernel checks the permission before it looks for the type: ENODEV means that a real one would have worked.
	if err := unix.Mount("thief", "/", "thief-no-such-type", 0, ""); err != unix.ENODEV {
		return "", fmt.Errorf("mount: %w", err)
	}
	return "may mount", nil
}

func chroot() (string, error) {
	if err := unix.Chroot("/"); err != nil {
		return "", fmt.Errorf("chroot: %w", err)
	}
	return "may change the root directory", nil
}

func newNamespace(kind string) (string, error) {
	flags := map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "net": unix.CLONE_NEWNET, "pid": unix.CLONE_NEWPID,
		"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP,
	}
	flag, ok := flags[kind]
	if !ok {
		return "", fmt.Errorf("%w: there is no %q namespace", errNothing, kind)
	}
	child, err := self(sayHello)
	if err != nil {
		return "", err
	}
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flag}
	if _, err := child.Output(); err != nil {
		return "", err
	}
	return "ran in a new " + kind + " namespace", nil
}

func ptrace(a arguments) (string, error) {
	pid, err := victim(a)
	if err != nil {
		return "", err
	}
	// Detaching needs a stopped tracee; the end of the tracing thread does not.
	onDoomedThread(func() { err = unix.PtraceSeize(pid) })
	if err != nil {
		return "", fmt.Errorf("ptrace %d: %w", pid, err)
	}
	return fmt.Sprintf("attached to process %d", pid), nil
}

func setuid() (string, error) {
	target := 0
	if os.Getuid() == 0 {
		target = 65534
	}
	var errno syscall.Errno
	// The raw call changes the calling thread alone, the one in the standard library all of them.
	onDoomedThread(func() { _, _, errno = unix.RawSyscall(unix.SYS_SETUID, uintptr(target), 0, 0) })
	if errno != 0 {
		return "", fmt.Errorf("setuid %d: %w", target, errno)
	}
	return fmt.Sprintf("became user %d", target), nil
}

func ioUring() (string, error) {
	var parameters [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
	if errno != 0 {
		return "", fmt.Errorf("io_uring_setup: %w", errno)
	}
	return "an io_uring", unix.Close(int(fd))
}

func bpf() (string, error) {
	attributes := struct{ kind, keySize, valueSize, entries, flags uint32 }{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes))
	if errno != 0 {
		return "", fmt.Errorf("bpf: %w", errno)
	}
	return "a BPF map", unix.Close(int(fd))
}

func keyctl() (string, error) {
	id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	if err != nil {
		return "", fmt.Errorf("keyctl: %w", err)
	}
	about, err := unix.KeyctlString(unix.KEYCTL_DESCRIBE, id)
	if err != nil {
		return "", fmt.Errorf("keyctl: %w", err)
	}
	return "the keyring " + about, nil
}

func memfdExec() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	code, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	fd, err := unix.MemfdCreate("thief", unix.MFD_CLOEXEC)
	if err != nil {
		return "", fmt.Errorf("memfd_create: %w", err)
	}
	memory := os.NewFile(uintptr(fd), "memfd")
	defer memory.Close()
	if _, err := memory.Write(code); err != nil {
		return "", err
	}
	// The path has the number of this process, because the descriptor is closed in the child at exec.
	path := filepath.Join("/proc", fmt.Sprint(os.Getpid()), "fd", fmt.Sprint(fd))
	output, err := exec.Command(path, sayHello).Output()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ran from memory: %q", strings.TrimSpace(string(output))), nil
}

func openByHandle(path string) (string, error) {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return "", fmt.Errorf("name_to_handle_at: %w", err)
	}
	fd, err := unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY)
	if err != nil {
		return "", fmt.Errorf("open_by_handle_at: %w", err)
	}
	return fmt.Sprintf("%s by inode", path), unix.Close(fd)
}
