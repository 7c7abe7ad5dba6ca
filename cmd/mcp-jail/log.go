package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// openReport opens what --log-file names. report gets each line of the session's log at once; nil: there is none. It does
// not wait for a reader.
func openReport(file string) (report func(line []byte) bool, err error) {
	if file == "" {
		return nil, nil
	}
	f, err := openLog(file)
	if err != nil {
		return nil, session.LogError(err)
	}
	return func(line []byte) bool { return writeNow(f, line) }, nil
}

// openLog opens a log file. A server may be able to write to its directory, so openLog
// does not wait for a reader of a FIFO and does not follow a symbolic link: otherwise the
// server could choose a file of the user's that gets log lines with its own text. For the same
// reason, it appends to no file that is not a log of mcp-jail.
func openLog(name string) (*os.File, error) {
	file, err := session.AbsolutePath(name)
	if err != nil {
		return nil, err
	}
	var f *os.File
	n, isDescriptor := descriptorOf(file)
	switch {
	case n == 0 && isDescriptor:
		return nil, fmt.Errorf("%s is standard input, from which the client is read: use another descriptor, or a file", file)
	case isDescriptor:
		f, err = duplicate(file, n)
	default:
		if err := session.CheckLog(file); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|noFollow, 0o600)
	}
	if n == 1 && isDescriptor || err == nil && isStdout(f) {
		return nil, fmt.Errorf("%s is standard output, which belongs to MCP: use /dev/stderr, or a file", file)
	}
	if err != nil {
		if to, linkErr := os.Readlink(file); linkErr == nil && !isDescriptor {
			return nil, fmt.Errorf("%s is a symbolic link (to %s). It is not followed, because a server may have made it: remove it, or name the target itself", file, show.Line(to))
		}
	}
	if err == nil && !isDescriptor && !isLog(file, f) {
		f.Close()
		return nil, fmt.Errorf("%s is not a log of mcp-jail: name a file that is new, or remove it", file)
	}
	return f, err
}

// logBegin is how each line of a log begins.
const logBegin = `{"time":"`

// isLog reports whether an open file can be a log: it is no regular file, or it is empty, standard
// error, or begins as a log does.
func isLog(file string, f *os.File) bool {
	at, err := f.Stat()
	if err != nil || !at.Mode().IsRegular() || at.Size() == 0 {
		return err == nil
	}
	if errs, err := os.Stderr.Stat(); err == nil && os.SameFile(at, errs) {
		return true
	}
	r, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|noFollow, 0)
	if err != nil {
		return false
	}
	defer r.Close()
	same, err := r.Stat()
	begin := make([]byte, len(logBegin))
	_, readErr := io.ReadFull(r, begin)
	return err == nil && os.SameFile(at, same) && readErr == nil && string(begin) == logBegin
}

// isStdout reports whether a file is a pipe or file that only standard output leads to. A device, such as a terminal or
// /dev/null, may have both.
func isStdout(f *os.File) bool {
	at, err := f.Stat()
	out, outErr := os.Stdout.Stat()
	errs, errsErr := os.Stderr.Stat()
	return err == nil && outErr == nil && at.Mode()&os.ModeDevice == 0 && os.SameFile(at, out) && (errsErr != nil || !os.SameFile(at, errs))
}

// descriptorOf returns the number of the descriptor that a path names.
func descriptorOf(file string) (n int, ok bool) {
	if n := slices.Index([]string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}, file); n >= 0 {
		return n, true
	}
	dir, name := filepath.Split(file)
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0 && (dir == "/dev/fd/" || dir == "/proc/self/fd/")
}
