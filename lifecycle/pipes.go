package lifecycle

import (
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
	theirs         confine.Stdio
}

func newPipes() (*pipes, error) {
	var p pipes
	var outR, errR *os.File
	var err error
	if p.theirs.In, p.stdin, err = os.Pipe(); err == nil {
		if outR, p.theirs.Out, err = os.Pipe(); err == nil {
			errR, p.theirs.Err, err = os.Pipe()
		}
	}
	p.stdout, p.stderr = &drainable{File: outR}, &drainable{File: errR}
	if err != nil {
		p.closeTheirs()
		p.closeOurs()
		return nil, err
	}
	for _, f := range []*os.File{p.theirs.In, p.theirs.Out, p.theirs.Err} {
		// Fd puts the open file back into blocking mode, which programs expect of
		// their standard descriptors. Our ends are other open files.
		f.Fd()
	}
	return &p, nil
}

// closeTheirs closes the server's ends, so that end-of-file shows when nobody
// else holds them.
func (p *pipes) closeTheirs() {
	for _, f := range []*os.File{p.theirs.In, p.theirs.Out, p.theirs.Err} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) closeOurs() {
	for _, f := range []*os.File{p.stdin, p.stdout.File, p.stderr.File} {
		if f != nil {
			f.Close()
		}
	}
}

// drainable is our end of a pipe that the server writes. Once the server has
// ended, a grandchild may hold the pipe open without ever writing again, so
// end-of-file is not waited for: see drain.
type drainable struct {
	*os.File
	idle atomic.Int64 // time.Duration; 0 while the server runs
}

// Read implements io.Reader.
func (d *drainable) Read(b []byte) (int, error) {
	if idle := d.idle.Load(); idle != 0 {
		d.SetReadDeadline(time.Now().Add(time.Duration(idle)))
	}
	return d.File.Read(b)
}

// drain makes every read, also one under way, give up after idle without data.
// What is in the pipe is still read, however slowly the client takes it.
func (d *drainable) drain(idle time.Duration) {
	d.idle.Store(int64(idle))
	d.SetReadDeadline(time.Now().Add(idle))
}
