package lifecycle

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
)

// pipes are the three pipes of a server: our ends, and the server's ends until it is
// started.
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
		// Fd sets the open file to blocking mode, which programs expect of their
		// standard descriptors. Our ends are other open files.
		f.Fd()
	}
	enlarge(p.stdin)
	enlarge(outR)
	return &p, nil
}

// closeServerEnds closes the server's ends. After that a read of our end returns
// end-of-file when no process holds the other end.
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

// drainable is our end of a pipe that the server writes. After the server has ended, a
// descendant may still hold the pipe open and write to it. So the reader does not wait for
// end-of-file: see drainLimits.
type drainable struct {
	file  *os.File
	drain atomic.Pointer[drainLimits]
}

// drainLimits bounds the reading after the server's end. A read waits for at most idle, and after
// the time until for at most a millisecond. The reading ends after as many bytes as the largest
// pipe holds.
type drainLimits struct {
	idle  time.Duration
	until time.Time
	left  atomic.Int64
}

const maxPipe = 1 << 20 // the default of /proc/sys/fs/pipe-max-size

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
		wait := time.Millisecond // with a deadline in the past, a read returns no data
		if now.Before(e.until) {
			wait = max(e.idle, wait)
		}
		d.file.SetReadDeadline(now.Add(wait))
		n, err := d.file.Read(b)
		e.left.Add(-int64(n))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if unreadBytes(d.file) > 0 { // our process did not run for a while; the pipe has data
				continue
			}
			err = io.EOF
		}
		return n, err
	}
}

// startDrain sets the limits of all further reads, and interrupts a read that waits. However
// slowly the client reads, it gets the bytes that are in the pipe.
func (d *drainable) startDrain(idle, total time.Duration) {
	e := &drainLimits{idle: idle, until: time.Now().Add(total)}
	e.left.Store(maxPipe)
	d.drain.Store(e)
	d.file.SetReadDeadline(time.Now())
}

// countingWriter counts the bytes that its destination has taken.
type countingWriter struct {
	dst io.Writer
	n   atomic.Int64
}

// Write implements io.Writer. It writes in pieces, so that the count grows while a slow
// reader reads.
func (w *countingWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var m int
		m, err = w.dst.Write(b[:min(len(b), 64<<10)])
		w.n.Add(int64(m))
		n, b = n+m, b[m:]
	}
	return n, err
}
