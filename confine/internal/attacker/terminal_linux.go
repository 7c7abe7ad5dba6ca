package attacker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// attemptGivenTerminal says whether the first three descriptors are one terminal that controls this process,
// whether this process is in the foreground there, and its name.
func attemptGivenTerminal([]string) (string, error) {
	var first unix.Stat_t
	for fd := range 3 {
		var s unix.Stat_t
		if err := unix.Fstat(fd, &s); err != nil {
			return "", err
		}
		if fd > 0 && s.Rdev != first.Rdev {
			return "", errors.New("two terminals")
		}
		first = s
	}
	session, err := unix.IoctlGetInt(0, unix.TIOCGSID)
	if err != nil {
		return "", err
	}
	own, err := unix.Getsid(0)
	if err != nil {
		return "", err
	}
	front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	name, _ := os.Readlink("/proc/self/fd/0")
	return fmt.Sprint(name, " controlled:", session == own, " front:", front == unix.Getpgrp()), err
}

// attemptTypeIntoAll tries to type into each terminal that it can name: those in /dev and of the descriptors
// of each process that it sees. It answers with those that it can open. It must not open them as its own.
func attemptTypeIntoAll([]string) (string, error) {
	names, _ := filepath.Glob("/dev/pts/[0-9]*")
	for _, pattern := range []string{"/dev/tty", "/dev/console", "/dev/tty0", "/proc/[0-9]*/fd/*", "/proc/self/root/dev/pts/[0-9]*", "/proc/1/root/dev/pts/[0-9]*"} {
		more, _ := filepath.Glob(pattern)
		names = append(names, more...)
	}
	var opened []string
	for _, name := range names {
		fd, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			opened = append(opened, name)
			if attemptTerminalOf([]string{name}) == nil {
				return "", fmt.Errorf("typed into %s", name)
			}
			unix.Write(fd, []byte("INTRUDER"))
		}
		unix.Close(fd)
	}
	return strings.Join(opened, " "), nil
}
