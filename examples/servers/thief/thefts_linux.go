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
	"unsafe"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/sys/unix"
)

// longest bounds the life of a survivor.
const longest = 60 * time.Second

// offerOfSystem adds what is done by system calls. They are few of many: the attack matrix has the others.
func offerOfSystem(s *server.MCPServer) {
	offer(s, "kill", "Ask whether a process could be sent a signal", mayKill, mcp.WithNumber("pid", mcp.Required()))
	offer(s, "survive", "Leave a process behind that outlives the session: forked twice, in a session of its own, deaf to the polite signals, gone after a minute at most", survive,
		mcp.WithNumber("seconds", mcp.Description("how long it lives; 20 unless given, 60 at most")),
		mcp.WithString("mark", mcp.Description("a word for its command line, to find it by")))
	offer(s, "new_namespace", "Start a process in a new user namespace, where it would hold every capability", newNamespace)
	offer(s, "io_uring", "Set up an io_uring, whose operations a filter of system calls does not see", ioUring)
}

func errnoName(errno syscall.Errno) string { return unix.ErrnoName(errno) }

func mayKill(_ context.Context, call mcp.CallToolRequest) (string, error) {
	pid := call.GetInt("pid", 0)
	if pid <= 0 { // these numbers mean a process group, or all processes
		return "", fmt.Errorf("%w: %d is not the number of one process", errNothing, pid)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		return "", fmt.Errorf("kill %d: %w", pid, err)
	}
	return fmt.Sprintf("process %d takes signals", pid), nil
}

func newNamespace(context.Context, mcp.CallToolRequest) (string, error) {
	child, err := self("end", "0", "")
	if err != nil {
		return "", err
	}
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return "ran in a new user namespace", child.Run()
}

func ioUring(context.Context, mcp.CallToolRequest) (string, error) {
	var parameters [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
	if errno != 0 {
		return "", fmt.Errorf("io_uring_setup: %w", errno)
	}
	return "an io_uring", unix.Close(int(fd))
}

// survive starts a child in a new session. The child starts another process and ends, so that the survivor is an orphan.
func survive(_ context.Context, call mcp.CallToolRequest) (string, error) {
	seconds := max(1, min(call.GetInt("seconds", 20), int(longest/time.Second)))
	child, err := self("fork", strconv.Itoa(seconds), call.GetString("mark", "unmarked"))
	if err != nil {
		return "", err
	}
	output, err := child.Output()
	return fmt.Sprintf("process %s stays for %d s", strings.TrimSpace(string(output)), seconds), err
}

// Some thefts need a second process. They start this program again, since no other is sure to exist.
const asAccomplice = "accomplice"

// self returns a command that starts this program again in a session of its own, as an accomplice.
func self(step, seconds, mark string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, asAccomplice, step, seconds, mark)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return command, nil
}

// accomplice takes the step that the arguments name: "fork" starts one that takes "stay", and "end" does nothing. It
// reports whether they name one. TestMain calls it too, since in tests this program is the test binary.
func accomplice(arguments []string) bool {
	if len(arguments) != 4 || arguments[0] != asAccomplice {
		return false
	}
	step, seconds, mark := arguments[1], arguments[2], arguments[3]
	switch step {
	case "fork":
		survivor, err := self("stay", seconds, mark)
		if err == nil && survivor.Start() == nil {
			fmt.Println(survivor.Process.Pid)
		}
	case "stay":
		signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
		if n, err := strconv.Atoi(seconds); err == nil {
			time.Sleep(min(time.Duration(n)*time.Second, longest))
		}
	}
	return true
}
