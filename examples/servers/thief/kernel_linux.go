package main

import (
	"context"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelThefts make system calls that an honest server does not need. They are two of many: the attack
// matrix has the others.
func kernelThefts() []theft {
	return []theft{
		{
			name: "new_namespace", about: "Start a process in a new namespace, where it would hold every capability",
			params: []param{{name: "kind", about: "user unless given; mount, net, pid, ipc, uts, cgroup"}},
			try: func(_ context.Context, a arguments) (string, error) {
				return newNamespace(a.text("kind", "user"))
			},
		},
		{
			name: "io_uring", about: "Set up an io_uring, whose operations a filter of system calls does not see",
			try: func(context.Context, arguments) (string, error) { return ioUring() },
		},
	}
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

func ioUring() (string, error) {
	var parameters [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
	if errno != 0 {
		return "", fmt.Errorf("io_uring_setup: %w", errno)
	}
	return "an io_uring", unix.Close(int(fd))
}
