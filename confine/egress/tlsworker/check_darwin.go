package tlsworker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// check is what the launcher keeps while the process shows that it is confined.
type check struct {
	message      *checkMessage
	listener     net.Listener
	ours, theirs *net.TCPConn
}

// newCheck makes what the process is refused, and the connection that must work. All of it works for
// the launcher, so that a refusal is evidence.
func newCheck() (*check, error) {
	dir, err := openable()
	if err != nil {
		return nil, err
	}
	const program = "/usr/bin/true"
	if err := unix.Access(program, unix.X_OK); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &check{listener: l}
	if c.ours, c.theirs, err = tcpPair(); err != nil {
		l.Close()
		return nil, err
	}
	c.message = &checkMessage{Dir: dir, Port: l.Addr().(*net.TCPAddr).Port, PID: os.Getpid(), Program: program}
	go io.Copy(c.ours, c.ours)
	return c, nil
}

// openable returns a directory that this process can open.
func openable() (string, error) {
	home, _ := os.UserHomeDir()
	for _, dir := range []string{home, os.TempDir()} {
		if f, err := os.Open(dir); filepath.IsAbs(dir) && err == nil {
			return dir, f.Close()
		}
	}
	return "", errors.New("neither HOME nor the directory of temporary files can be opened")
}

func (c *check) Close() {
	c.listener.Close()
	c.ours.Close()
	c.theirs.Close()
}

// checkConfined returns an error unless everything that the check names is refused, and the connection
// works.
func checkConfined(m *checkMessage, c *net.TCPConn) error {
	if c == nil {
		return errors.New("the launcher sent no connection to try")
	}
	defer c.Close()
	if err := checkRefused(m); err != nil {
		return err
	}
	c.SetDeadline(time.Now().Add(startTimeout))
	b := []byte{'x'}
	_, err := c.Write(b)
	if err == nil {
		_, err = io.ReadFull(c, b)
	}
	if err != nil {
		return fmt.Errorf("a connection of the launcher does not work in a confined process: %w", err)
	}
	return nil
}

// checkRefused returns an error unless the system refuses (EPERM) to open a directory, to connect, to
// signal the launcher and to start a program.
func checkRefused(m *checkMessage) error {
	if m == nil {
		return errors.New("the launcher named nothing that must be refused")
	}
	for _, c := range []struct {
		what string
		try  func() error
	}{
		{"open " + m.Dir, func() error { f, err := os.Open(m.Dir); f.Close(); return err }},
		{"connect to a port of this host", func() error { return connect(m.Port) }},
		{"send a signal to mcp-jail", func() error { return unix.Kill(m.PID, 0) }},
		{"start " + m.Program, func() error {
			p, err := os.StartProcess(m.Program, []string{m.Program}, &os.ProcAttr{Env: []string{}})
			if err == nil {
				p.Wait()
			}
			return err
		}},
	} {
		switch err := c.try(); {
		case err == nil:
			return fmt.Errorf("it is not confined: it can %s", c.what)
		case !errors.Is(err, unix.EPERM):
			return fmt.Errorf("it cannot be shown that it is confined: to %s failed, but not with EPERM: %w", c.what, err)
		}
	}
	return nil
}

// connect connects to a port of this host by system calls alone: package net has its own ways to fail.
func connect(port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}
