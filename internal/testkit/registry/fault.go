package registry

import (
	"net/http"
	"path"
	"strings"
	"time"
)

// Fault is something that goes wrong with some answers. Of the faults that match a request, the first
// decides.
type Fault struct {
	// Path matches the decoded path of a request as [path.Match] does. A pattern without a slash
	// matches the last element: "*.tgz".
	Path string

	Redirect string        // 302 to this address and the path of the request
	Delay    time.Duration // before anything is answered
	Rate     int           // bytes of the body in a second

	// The rest happens after that many bytes of the body, at least one.
	After   int64
	Stall   bool // silence, until the client or the registry gives up
	Corrupt bool // one byte is another
}

func (f Fault) matches(r *http.Request) bool {
	name := r.URL.Path
	if !strings.Contains(f.Path, "/") {
		name = path.Base(name)
	}
	ok, err := path.Match(f.Path, name)
	if err != nil {
		panic("the fault's pattern " + f.Path + " is not one of path.Match")
	}
	return ok
}

// faulty is a ResponseWriter to which a fault happens. It counts what was sent.
type faulty struct {
	http.ResponseWriter
	fault   Fault
	request *http.Request
	closing <-chan struct{} // the registry ends
	stalls  func()
	sent    int64
}

func (w *faulty) flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// wait waits for the time, or until the client or the registry has gone: then it ends
// the handler.
func (w *faulty) wait(until <-chan time.Time) {
	select {
	case <-until:
	case <-w.request.Context().Done():
		panic(http.ErrAbortHandler)
	case <-w.closing:
		panic(http.ErrAbortHandler)
	}
}

func (w *faulty) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:]
		if left := w.fault.After - w.sent; left > 0 {
			part = part[:min(left, int64(len(part)))]
		}
		if w.fault.Rate > 0 {
			part = part[:min(len(part), max(1, w.fault.Rate/20))]
		}
		n, err := w.send(part)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// send sends a part of the body that lies wholly before or after the place of the fault.
func (w *faulty) send(part []byte) (int, error) {
	switch {
	case w.sent != w.fault.After:
	case w.fault.Stall:
		w.flush()
		w.stalls()
		w.wait(nil)
	case w.fault.Corrupt:
		part = append([]byte{part[0] ^ 1}, part[1:]...)
	}
	n, err := w.ResponseWriter.Write(part)
	w.sent += int64(n)
	if w.fault.Rate > 0 && err == nil {
		w.flush()
		w.wait(time.After(time.Duration(n) * time.Second / time.Duration(w.fault.Rate)))
	}
	return n, err
}
