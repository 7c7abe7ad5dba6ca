package egresstest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Start starts a process that serves the Internet. It ends with the calling process, even if that
// executes other programs. In the caller's mount namespace, which must be its own, names are then
// resolved at Resolver, by the file resolv.conf in dir. up waits until the process serves.
func Start(dir string, cmd *exec.Cmd) (up func() error, err error) {
	resolv, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""), unix.Mount(filepath.Join(dir, "resolv.conf"), resolv, "", unix.MS_BIND, "")); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// The copy of w is inherited by exec(2) and keeps the serving process alive.
	if _, err := unix.Dup(int(w.Fd())); err != nil {
		return nil, err
	}
	return func() error {
		if _, err := io.ReadFull(ready, make([]byte, 2)); err != nil {
			return fmt.Errorf("the Internet did not come up: %w", err)
		}
		return nil
	}, nil
}

// Run is the main function of the serving process. It does not return.
func Run(serve func() error) {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "internet:", err)
		os.Exit(1)
	}
	fmt.Println("up")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
