package tlsworker

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
)

// On macOS sandbox-exec confines the program before it begins: no files, no sockets of its own, no
// programs. The process shows to itself that it is confined, and does no work otherwise. What it needs
// from files, the launcher reads: the roots of the host.

// GivenRootsOnly is set where the process opens no file, so that the launcher reads the host's roots.
const GivenRootsOnly = true

// command returns the program that is started, and the arguments of its process.
func command(program string) (path string, argv []string, err error) {
	if _, err := os.Stat(program); err != nil {
		return "", nil, err
	}
	text, err := compileText(program)
	if err != nil {
		return "", nil, err
	}
	return sandboxexec.Path, append([]string{sandboxexec.Path}, sandboxexec.Arguments(text, program)...), nil
}

// endsWithLauncher only makes a session: the process ends when its socket does.
func endsWithLauncher() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// enterSandbox sets the limits of the process, which is confined already.
func enterSandbox(connections int) error { return limitResources(connections) }

// rootFiles are where macOS, and the systems of tests, keep the authorities that they trust. What a
// user adds to a keychain is in none of them.
var rootFiles = []string{"/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt"}

// maxRoots is the largest file of roots that is read, in bytes.
const maxRoots = 16 << 20

// hostRoots returns the authorities of the host, which SSL_CERT_FILE may name, and more.
func hostRoots(more []byte) ([]byte, error) {
	files := rootFiles
	if named := os.Getenv("SSL_CERT_FILE"); named != "" {
		files = []string{named}
	}
	var failed error
	for _, name := range files {
		b, err := readRoots(name)
		if err == nil {
			return append(append(b, '\n'), more...), nil
		}
		failed = cmp.Or(failed, err)
	}
	return nil, fmt.Errorf("the host's certificate authorities: %w", failed)
}

func readRoots(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > maxRoots {
		return nil, fmt.Errorf("%s is not a regular file, or too large", name)
	}
	return io.ReadAll(io.LimitReader(f, maxRoots))
}

// startError adds to the failure of a start what the status of sandbox-exec tells.
func (w *Worker) startError(err error) error {
	select {
	case <-w.exited:
	case <-time.After(exitTimeout):
		return err
	}
	switch status := w.state.Sys().(syscall.WaitStatus); {
	case status.ExitStatus() == 65:
		return fmt.Errorf("sandbox-exec refuses the rules for mcp-jail-tls (status 65): %w", err)
	case status.ExitStatus() == 71:
		return fmt.Errorf("sandbox-exec cannot confine or start it (status 71): another sandbox around mcp-jail may be the reason: %w", err)
	case status.Signaled() && status.Signal() == syscall.SIGABRT:
		return fmt.Errorf("it was aborted while it started, as by a system library that it may not read: %w", err)
	}
	return err
}
