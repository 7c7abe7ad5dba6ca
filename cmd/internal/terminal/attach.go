package terminal

import (
	"io"
	"os"
)

// Streams are the three streams of a program that gets none of the console's own: pipes, whose other ends
// are copied to and from the console. So the program has no descriptor of the user's terminal.
type Streams struct {
	In, Out, Err *os.File // for the program

	ours   [3]*os.File
	copied chan struct{}
}

// Streams makes such streams.
func (c Console) Streams() (s *Streams, err error) {
	s = &Streams{copied: make(chan struct{}, 2)}
	for i, theirs := range []**os.File{&s.In, &s.Out, &s.Err} {
		r, w, err := os.Pipe()
		if err != nil {
			s.Close()
			return nil, err
		}
		if *theirs, s.ours[i] = w, r; i == 0 {
			*theirs, s.ours[i] = r, w
		}
	}
	return s, nil
}

// Copy copies until the streams end. The caller has started the program. Wait waits for the end of what
// the program writes.
func (s *Streams) Copy(c Console) {
	s.closeTheirs()
	go func() { // attach does not wait for this: the input may never end
		io.Copy(s.ours[0], c.in)
		s.ours[0].Close()
	}()
	for from, to := range map[*os.File]*os.File{s.ours[1]: c.out, s.ours[2]: c.err} {
		go func() {
			io.Copy(to, from)
			from.Close() // a program that writes on is told, as in any pipe
			s.copied <- struct{}{}
		}()
	}
}

// Wait waits until all is copied that the program has written. The program has ended.
func (s *Streams) Wait() {
	<-s.copied
	<-s.copied
}

// Close closes streams that were not copied.
func (s *Streams) Close() {
	s.closeTheirs()
	for _, f := range s.ours {
		f.Close()
	}
}

func (s *Streams) closeTheirs() {
	for _, f := range []*os.File{s.In, s.Out, s.Err} {
		f.Close()
	}
}
