package registry

import (
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// Fault is something that goes wrong with some answers. Of the faults that match a request, the
// first that is due by Skip and Times decides. A fault without an effect lets a request pass all
// others.
type Fault struct {
	// Path matches the decoded path of a request as [path.Match] does; "" matches all.
	// A pattern without a slash matches the last element: "*.tgz".
	Path   string `json:"path,omitempty"`
	Method string `json:"method,omitempty"` // all otherwise
	Skip   int    `json:"skip,omitempty"`   // that many matching requests go well first
	Times  int    `json:"times,omitempty"`  // and then so many go wrong; all otherwise

	Status   int               `json:"status,omitempty"`   // answer with this status and Body, and nothing else
	Body     string            `json:"body,omitempty"`     // with Status, which is 200 otherwise
	Headers  map[string]string `json:"headers,omitempty"`  // are set in the answer, "" removes one
	Redirect string            `json:"redirect,omitempty"` // 302 to this address and the path of the request

	Delay time.Duration `json:"delay,omitempty"` // before anything is answered
	Rate  int           `json:"rate,omitempty"`  // bytes of the body in a second

	// The rest happens after that many bytes of the body. At 0 not even the header arrives
	// before Stall and Cut.
	After   int64 `json:"after,omitempty"`
	Stall   bool  `json:"stall,omitempty"`   // silence, until the client or the registry gives up
	Cut     bool  `json:"cut,omitempty"`     // the connection ends
	Corrupt bool  `json:"corrupt,omitempty"` // one byte is another
	Shorten bool  `json:"shorten,omitempty"` // the body ends there, and its length agrees
}

func (f Fault) matches(r *http.Request) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	name := r.URL.Path
	if f.Path != "" && !strings.Contains(f.Path, "/") {
		name = path.Base(name)
	}
	ok, err := path.Match(f.Path, name)
	if err != nil {
		panic("the fault's pattern " + f.Path + " is not one of path.Match")
	}
	return ok || f.Path == ""
}

// faulty is a ResponseWriter to which a fault happens. It counts what was sent.
type faulty struct {
	http.ResponseWriter
	fault   Fault
	request *http.Request
	closing <-chan struct{} // the registry ends
	stalls  func()
	status  int
	sent    int64
}

func (w *faulty) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if w.fault.Shorten {
		w.Header().Set("Content-Length", strconv.FormatInt(w.fault.After, 10))
	}
	for name, value := range w.fault.Headers {
		if w.Header().Set(name, value); value == "" {
			w.Header().Del(name)
		}
	}
	if w.fault.After == 0 {
		w.strike()
	}
	w.ResponseWriter.WriteHeader(w.status)
}

// strike stalls or cuts the answer.
func (w *faulty) strike() {
	switch {
	case w.fault.Stall:
		w.flush()
		w.stalls()
		w.wait(nil)
	case w.fault.Cut:
		w.flush()
	default:
		return
	}
	panic(http.ErrAbortHandler)
}

func (w *faulty) flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok && w.fault.After > 0 {
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
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	done := 0
	for done < len(p) {
		part := p[done:]
		if left := w.fault.After - w.sent; w.fault.After > 0 && left > 0 {
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
	if w.sent == w.fault.After {
		if w.fault.Shorten {
			return len(part), nil // and is lost
		}
		if w.strike(); w.fault.Corrupt {
			part = append([]byte{part[0] ^ 1}, part[1:]...)
		}
	}
	n, err := w.ResponseWriter.Write(part)
	w.sent += int64(n)
	if w.fault.Rate > 0 && err == nil {
		if f, ok := w.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
		w.wait(time.After(time.Duration(n) * time.Second / time.Duration(w.fault.Rate)))
	}
	return n, err
}

// Unwrap lets an http.ResponseController reach what is below.
func (w *faulty) Unwrap() http.ResponseWriter { return w.ResponseWriter }
