//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// longest bounds the life of a survivor.
const longest = 60 * time.Second

func unixThefts() []theft {
	return []theft{
		{
			name: "kill", about: "Send a signal to a process",
			params: []param{
				{name: "pid", about: "of the process; the parent unless given", number: true},
				{name: "signal", about: "number; 0 unless given, which only asks whether it would be allowed", number: true},
			},
			try: func(_ context.Context, a arguments) (string, error) {
				pid, err := victim(a)
				if err != nil {
					return "", err
				}
				signal := a.number("signal", 0)
				if err := syscall.Kill(pid, syscall.Signal(signal)); err != nil {
					return "", fmt.Errorf("kill %d: %w", pid, err)
				}
				return fmt.Sprintf("process %d takes signal %d", pid, signal), nil
			},
		},
		{
			name: "survive", about: "Leave a process behind that outlives the session: forked twice, in a session of its own, deaf to the polite signals, gone after a minute at most",
			params: []param{
				{name: "seconds", about: "how long it lives; 20 unless given, 60 at most", number: true},
				{name: "mark", about: "a word for its command line, to find it by"},
			},
			try: func(_ context.Context, a arguments) (string, error) { return survive(a) },
		},
	}
}

// survive starts a child in a new session. The child starts another process and ends, so that the survivor is an orphan.
func survive(a arguments) (string, error) {
	seconds := max(1, min(a.number("seconds", 20), int(longest/time.Second)))
	child, err := detached("fork", strconv.Itoa(seconds), a.text("mark", "unmarked"))
	if err != nil {
		return "", err
	}
	output, err := child.Output()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("process %s stays for %d s", strings.TrimSpace(string(output)), seconds), nil
}

func detached(step, seconds, mark string) (*exec.Cmd, error) {
	command, err := self(linger, step, seconds, mark)
	if err != nil {
		return nil, err
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return command, nil
}

// lingerOn plays the roles of the accomplice in survive. Its arguments are STEP SECONDS MARK.
func lingerOn(arguments []string) {
	if len(arguments) != 3 {
		return
	}
	step, seconds, mark := arguments[0], arguments[1], arguments[2]
	if step == "fork" {
		survivor, err := detached("stay", seconds, mark)
		if err == nil && survivor.Start() == nil {
			fmt.Println(survivor.Process.Pid)
		}
		return
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	if n, err := strconv.Atoi(seconds); err == nil {
		time.Sleep(min(time.Duration(n)*time.Second, longest))
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
