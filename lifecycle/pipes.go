package lifecycle

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
)

// pipes are the three pipes of a server: our ends, and the server's until it
// has been started.
type pipes struct {
	stdin          *os.File
	stdout, stderr *drainable
	serverEnds     confine.Stdio
}

func newPipes() (*pipes, error) {
	var p pipes
	var outR, errR *os.File
	var err error
	if p.serverEnds.In, p.stdin, err = os.Pipe(); err == nil {
		if outR, p.serverEnds.Out, err = os.Pipe(); err == nil {
			errR, p.serverEnds.Err, err = os.Pipe()
		}
	}
	p.stdout, p.stderr = &drainable{file: outR}, &drainable{file: errR}
	if err != nil {
		p.closeServerEnds()
		p.closeOwnEnds()
		return nil, err
	}
	for _, f := range []*os.File{p.serverEnds.In, p.serverEnds.Out, p.serverEnds.Err} {
		// Fd puts the open file back into blocking mode, which programs expect of
		// their standard descriptors. Our ends are other open files.
		f.Fd()
	}
	enlarge(p.stdin)
	enlarge(outR)
	return &p, nil
}

// closeServerEnds closes the server's ends, so that end-of-file shows when nobody
// else holds them.
func (p *pipes) closeServerEnds() {
	for _, f := range []*os.File{p.serverEnds.In, p.serverEnds.Out, p.serverEnds.Err} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) closeOwnEnds() {
	for _, f := range []*os.File{p.stdin, p.stdout.file, p.stderr.file} {
		if f != nil {
			f.Close()
		}
	}
}

// drainable is our end of a pipe that the server writes. Once the server has
// ended, a grandchild may hold the pipe open, with or without writing to it, so
// end-of-file is not waited for: see drain.
type drainable struct {
	file  *os.File
	drain atomic.Pointer[drainLimits]
}

// drainLimits bounds what is read after the end: waits of at most idle, none worth
// the name after until, and no more bytes than the largest pipe holds.
type drainLimits struct {
	idle  time.Duration
	until time.Time
	left  atomic.Int64
}

const maxPipe = 1 << 20 // /proc/sys/fs/pipe-max-size

// Read implements io.Reader.
func (d *drainable) Read(b []byte) (int, error) {
	e := d.drain.Load()
	if e == nil {
		n, err := d.file.Read(b)
		if e = d.drain.Load(); e == nil || n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	if e.left.Load() <= 0 {
		return 0, io.EOF
	}
	for {
		now := time.Now()
		wait := time.Millisecond // a deadline that has passed would hide what is there
		if now.Before(e.until) {
			wait = max(e.idle, wait)
		}
		d.file.SetReadDeadline(now.Add(wait))
		n, err := d.file.Read(b)
		e.left.Add(-int64(n))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if unreadBytes(d.file) > 0 { // it was us who stood still, and not the pipe
				continue
			}
			err = io.EOF
		}
		return n, err
	}
}

// startDrain lets only what is in the pipe be read, however slowly the client takes
// it, and interrupts a read under way.
func (d *drainable) startDrain(idle, total time.Duration) {
	e := &drainLimits{idle: idle, until: time.Now().Add(total)}
	e.left.Store(maxPipe)
	d.drain.Store(e)
	d.file.SetReadDeadline(time.Now())
}

// countingWriter counts what the client has taken.
type countingWriter struct {
	dst io.Writer
	n   atomic.Int64
}

// Write implements io.Writer, in pieces that a slow reader takes one by one.
func (w *countingWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var m int
		m, err = w.dst.Write(b[:min(len(b), 64<<10)])
		w.n.Add(int64(m))
		n, b = n+m, b[m:]
	}
	return n, err
}
