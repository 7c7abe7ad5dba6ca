package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func processThefts() []theft {
	pid := param{name: "pid", about: "of the process; the parent unless given", kind: number}
	return []theft{
		{
			name: "processes", about: "List the processes in /proc",
			try:   func(context.Context, arguments) (string, error) { return processes() },
			sweep: always(nil),
		},
		{
			name: "proc_root", about: "Look through /proc/PID at another process's root, working directory, variables, memory and descriptors; nothing is written, values are not shown",
			params: []param{pid},
			try:    func(_ context.Context, a arguments) (string, error) { return procRoot(a) },
			sweep:  always(nil),
		},
		{
			name: "inherited", about: "List the open descriptors that came from the process which started this server",
			try:   func(context.Context, arguments) (string, error) { return inherited() },
			sweep: always(nil),
		},
		{
			name: "sysctl", about: "Open /proc/sys/kernel/core_pattern for writing, which is to run a program as root; nothing is written",
			try: func(context.Context, arguments) (string, error) {
				f, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
				if err != nil {
					return "", err
				}
				return "may write " + f.Name(), f.Close()
			},
			sweep: always(nil),
		},
		{
			name: "exec", about: "Start a program and show the beginning of its output",
			params: []param{{name: "program", about: "name or path", required: true}, {name: "args", about: "its arguments", kind: list}},
			try: func(ctx context.Context, a arguments) (string, error) {
				return execute(ctx, a.text("program", ""), a.list("args"))
			},
			sweep: always(arguments{"program": "id"}),
		},
	}
}

// victim returns the process that the arguments name, or else the parent: the client or the jail.
func victim(a arguments) (int, error) {
	pid := a.number("pid", os.Getppid())
	if pid <= 1 && a["pid"] == nil {
		return 0, fmt.Errorf("%w: the parent is an init, of the system or of a jail", errNothing)
	}
	if pid <= 0 {
		// These numbers mean a process group, or all processes.
		return 0, fmt.Errorf("%w: %d is not the number of one process", errNothing, pid)
	}
	return pid, nil
}

func processes() (string, error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return "", err
	}
	var found []string
	for _, dir := range dirs {
		if _, err := strconv.Atoi(dir.Name()); err != nil {
			continue
		}
		name, err := os.ReadFile(filepath.Join("/proc", dir.Name(), "comm"))
		if err != nil {
			name = []byte("?")
		}
		found = append(found, dir.Name()+":"+strings.TrimSpace(string(name)))
	}
	return fmt.Sprintf("%d processes: %s", len(found), some(found)), nil
}

func procRoot(a arguments) (string, error) {
	pid, err := victim(a)
	if err != nil {
		return "", err
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	var loot []string
	var failures []error
	note := func(what string, err error) {
		if err != nil {
			failures = append(failures, err)
			return
		}
		loot = append(loot, what)
	}
	_, err = os.ReadDir(filepath.Join(dir, "root") + "/")
	note("root", err)
	_, err = os.Readlink(filepath.Join(dir, "cwd"))
	note("cwd", err)
	_, err = os.ReadFile(filepath.Join(dir, "environ"))
	note("environ", err)
	_, err = os.ReadDir(filepath.Join(dir, "fd"))
	note("fd", err)
	memory, err := os.Open(filepath.Join(dir, "mem"))
	if err == nil {
		memory.Close()
	}
	note("mem", err)
	if len(loot) == 0 {
		return "", errors.Join(failures...)
	}
	return fmt.Sprintf("%s of process %d", strings.Join(loot, ", "), pid), nil
}

// inherited lists the open descriptors but for the three standard ones and those of Go's runtime.
func inherited() (string, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		number, _ := strconv.Atoi(e.Name())
		// The list has the descriptor of the directory itself, which is closed by now.
		if err != nil || number <= 2 || runtimeOpened(target) {
			continue
		}
		found = append(found, e.Name()+" -> "+target)
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%w: no descriptor was inherited", errNothing)
	}
	return strings.Join(found, ", "), nil
}

// runtimeOpened reports whether Go's runtime opened a descriptor: the network poller, or the cgroup's processor limits.
func runtimeOpened(target string) bool {
	return strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/fs/cgroup/")
}

func execute(ctx context.Context, program string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.WaitDelay = patience
	output, err := command.CombinedOutput()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s ran: %q", program, output[:min(len(output), 200)]), nil
}
