//go:build darwin || linux

package attempt

import (
	"errors"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// probeProcess asks whether a signal could be sent.
func probeProcess(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return errors.New("no process is named")
	}
	return unix.Kill(n, 0)
}

// killChild ends a program that it has started.
func killChild(args []string) error {
	c := exec.Command(args[0], args[1:]...)
	if err := c.Start(); err != nil {
		return err
	}
	err := unix.Kill(c.Process.Pid, unix.SIGKILL)
	if err != nil {
		c.Process.Kill()
	}
	c.Wait()
	return err
}

// fileSizeLimit writes beyond a limit that it sets. The limit is as before when it returns.
func fileSizeLimit(path string) error {
	return limited(unix.RLIMIT_FSIZE, 4096, func() error {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.Pwrite(fd, []byte("x"), 8192)
		return err
	})
}

// descriptorLimit opens files until a limit that it sets is met.
func descriptorLimit() error {
	return limited(unix.RLIMIT_NOFILE, 32, func() error {
		for range 64 {
			fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
		}
		return nil
	})
}

func limited(which int, value uint64, call func() error) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(which, &old); err != nil {
		return err
	}
	low := old
	low.Cur = value
	if err := unix.Setrlimit(which, &low); err != nil {
		return err
	}
	defer unix.Setrlimit(which, &old)
	return call()
}
