package streams

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
)

// Pipes are the three pipes of a server: our ends, and the server's ends until it is
// started.
type Pipes struct {
	Stdin          *os.File
	Stdout, Stderr *drainable
	ServerEnds     confine.Stdio
}

// NewPipes makes the pipes of a server. Its ends are blocking.
func NewPipes() (*Pipes, error) {
	var p Pipes
	var outR, errR *os.File
	var err error
	if p.ServerEnds.In, p.Stdin, err = os.Pipe(); err == nil {
		if outR, p.ServerEnds.Out, err = os.Pipe(); err == nil {
			errR, p.ServerEnds.Err, err = os.Pipe()
		}
	}
	p.Stdout, p.Stderr = &drainable{File: outR}, &drainable{File: errR}
	if err != nil {
		p.CloseServerEnds()
		p.CloseOwnEnds()
		return nil, err
	}
	for _, f := range []*os.File{p.ServerEnds.In, p.ServerEnds.Out, p.ServerEnds.Err} {
		// Fd sets the open file to blocking mode, which programs expect of their
		// standard descriptors. Our ends are other open files.
		f.Fd()
	}
	resize(p.Stdin, serverPipe)
	resize(outR, serverPipe)
	return &p, nil
}

// CloseServerEnds closes the server's ends. After that a read of our end returns
// end-of-file when no process holds the other end.
func (p *Pipes) CloseServerEnds() {
	for _, f := range []*os.File{p.ServerEnds.In, p.ServerEnds.Out, p.ServerEnds.Err} {
		if f != nil {
			f.Close()
		}
	}
}

// CloseOwnEnds closes our ends.
func (p *Pipes) CloseOwnEnds() {
	for _, f := range []*os.File{p.Stdin, p.Stdout.File, p.Stderr.File} {
		if f != nil {
			f.Close()
		}
	}
}

// drainable is our end of a pipe that the server writes. After the server has ended, a
// descendant may still hold the pipe open and write to it. So the reader does not wait for
// end-of-file: see drainLimits.
type drainable struct {
	File  *os.File
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

// Large enlarges the pipe for large frames, or gives that memory back.
func (d *drainable) Large(large bool) {
	size := serverPipe
	if large {
		size = maxPipe
	}
	resize(d.File, size)
}

// Read implements io.Reader.
func (d *drainable) Read(b []byte) (int, error) {
	// Most reads are before the end, and have no deadline.
	e := d.drain.Load()
	if e == nil {
		n, err := d.File.Read(b)
		if e = d.drain.Load(); e == nil || n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	// More than a pipe holds was read since the end: a descendant is writing it.
	if e.left.Load() <= 0 {
		return 0, io.EOF
	}
	for {
		now := time.Now()
		wait := time.Millisecond // with a deadline in the past, a read returns no data
		if now.Before(e.until) {
			wait = max(e.idle, wait)
		}
		d.File.SetReadDeadline(now.Add(wait))
		n, err := d.File.Read(b)
		e.left.Add(-int64(n))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if UnreadBytes(d.File) > 0 { // our process did not run for a while; the pipe has data
				continue
			}
			err = io.EOF
		}
		return n, err
	}
}

// StartDrain sets the limits of all further reads, and interrupts a read that waits. However
// slowly the client reads, it gets the bytes that are in the pipe.
func (d *drainable) StartDrain(idle, total time.Duration) {
	e := &drainLimits{idle: idle, until: time.Now().Add(total)}
	e.left.Store(maxPipe)
	d.drain.Store(e)
	d.File.SetReadDeadline(time.Now())
}

// CountingWriter counts the bytes that its destination has taken.
type CountingWriter struct {
	Dst   io.Writer
	N     atomic.Int64
	Large func() // nil, or is called once, before the first write of more than a piece
}

// Write implements io.Writer. It writes in pieces, so that the count grows while a slow
// reader reads, and the reader has some to read while the next one is written.
func (w *CountingWriter) Write(b []byte) (n int, err error) {
	const piece = 256 << 10
	if len(b) > piece && w.Large != nil {
		w.Large()
		w.Large = nil
	}
	for len(b) > 0 && err == nil {
		var m int
		m, err = w.Dst.Write(b[:min(len(b), piece)])
		w.N.Add(int64(m))
		n, b = n+m, b[m:]
	}
	return n, err
}

// Blocking is a descriptor of the client's that was blocking when we got it. Another program that
// shares the open file (one on the same terminal, the shell's next command) may make it non-blocking
// at any time. Blocking then polls. The runtime handles descriptors that were non-blocking from the
// start.
type Blocking struct{ *os.File }

// Read implements io.Reader.
func (f Blocking) Read(b []byte) (n int, err error) {
	for {
		if n, err = f.File.Read(b); n > 0 || !errors.Is(err, syscall.EAGAIN) {
			return n, err
		}
		waitReady(f.File, false)
	}
}

// Write implements io.Writer.
func (f Blocking) Write(b []byte) (n int, err error) {
	for {
		m, err := f.File.Write(b[n:])
		if n += m; !errors.Is(err, syscall.EAGAIN) {
			return n, err
		}
		waitReady(f.File, true)
	}
}

// Descriptor returns the number of f, or -1 if it is closed. f.Fd would change the mode of
// f.
func Descriptor(f *os.File) int {
	n := -1
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { n = int(fd) })
	}
	return n
}

func isSocket(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// The sizes of a session's pipes, of which 64 KiB is the default. The kernel allows an ordinary user
// 64 MiB in all pipes (pipe(7), pipe-user-pages-soft); those of thirty servers should not use that up.
const (
	serverPipe = 256 << 10 // the server's stdin and stdout
	ClientPipe = 1 << 20   // the client's stdout, once a large frame is sent
)
