//go:build linux || darwin

package tlsworker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// EnterSandbox is for package tlsclient, once it has read its files.
func EnterSandbox() error { return enterSandbox(1) }

// StartTLS starts the program as a client of a proxy, and returns a connection that carries what is
// inside the TLS. It closes conn. The process ends with the connection, or with this process.
func StartTLS(ctx context.Context, program string, conn *net.TCPConn, serverName string) (*net.TCPConn, error) {
	defer conn.Close()
	ours, theirs, err := tcpPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	status, ended, err := startClient(program, serverName, conn, theirs)
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	stop := context.AfterFunc(ctx, func() { status.SetDeadline(time.Unix(1, 0)) })
	confined, err := newCheck()
	if err == nil {
		defer confined.Close()
		err = sendConfinement(status, confined)
	}
	if err != nil {
		stop()
		status.Close()
		ours.Close()
		return nil, err
	}
	said, err := bufio.NewReader(status).ReadString('\n')
	if !stop() && err == nil {
		err = ctx.Err()
	}
	said = strings.TrimSpace(said)
	switch why, failed := strings.CutPrefix(said, Failed); {
	case failed:
		err = errors.New("TLS with it fails: " + clip(why))
	case err == nil && said != Connected:
		err = errors.New("mcp-jail-tls is of another version: install mcp-jail and mcp-jail-tls from one build")
	case err != nil:
		err = fmt.Errorf("mcp-jail-tls did not connect to it: %w", err)
	}
	if err != nil {
		status.Close()
		ours.Close()
		return nil, err
	}
	go func() {
		<-ended
		status.Close()
	}()
	return ours, nil
}

// startClient starts the process. It returns the launcher's end of a socket pair, and a channel that is
// closed when the process has ended.
func startClient(program, serverName string, conn, inside *net.TCPConn) (*os.File, chan struct{}, error) {
	ours, theirs, err := streamPair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	files := []*os.File{null, null, null}
	for _, c := range []*net.TCPConn{conn, inside} {
		var f *os.File
		if err == nil {
			f, err = c.File()
		}
		files = append(files, f)
	}
	defer func() {
		for _, f := range append(files[3:], null) {
			f.Close()
		}
	}()
	var path string
	var argv []string
	if err == nil {
		path, argv, err = command(program, ClientCommand, serverName)
	}
	var process *os.Process
	if err == nil {
		process, err = os.StartProcess(path, argv, &os.ProcAttr{
			Dir: "/", Env: environment(), Files: append(files, theirs), Sys: &syscall.SysProcAttr{Setsid: true},
		})
	}
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		process.Wait()
		close(ended)
	}()
	return ours, ended, nil
}

// streamPair returns the two ends of a stream of this host, which take deadlines.
func streamPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range pair {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, nil, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
		}
	}
	return os.NewFile(uintptr(pair[0]), Name), os.NewFile(uintptr(pair[1]), "launcher"), nil
}

// tcpPair returns the two ends of a TCP connection of this process with itself.
func tcpPair() (a, b *net.TCPConn, err error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if a, err = net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr)); err != nil {
		return nil, nil, err
	}
	l.SetDeadline(time.Now().Add(startTimeout))
	for {
		if b, err = l.AcceptTCP(); err != nil {
			a.Close()
			return nil, nil, err
		}
		if b.RemoteAddr().String() == a.LocalAddr().String() {
			return a, b, nil
		}
		b.Close() // another process of this host was here first
	}
}
