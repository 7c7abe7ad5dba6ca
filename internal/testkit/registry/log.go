package registry

import (
	"net/http"
	"slices"
	"time"
)

// Request is one request as the log has it, from its beginning on. An aborted answer is
// logged too.
type Request struct {
	Method string
	URI    string // as it was sent: a scope has its %2f
	Path   string // decoded, without a query
	Header http.Header

	Body    string // what the client sent, up to a megabyte; gzip is undone
	Open    bool   // it has not ended
	Stalled bool   // it came to its Stall
}

// maxBody bounds what the log keeps of a request's body.
const maxBody = 1 << 20

// Requests returns the log. A client has the last byte of an answer a moment before its
// request ends, so Requests waits up to a second for open requests that do not stall.
func (r *Registry) Requests() []Request {
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		log := r.snapshot()
		busy := slices.ContainsFunc(log, func(q Request) bool { return q.Open && !q.Stalled })
		if !busy || time.Now().After(end) {
			return log
		}
	}
}

func (r *Registry) snapshot() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := make([]Request, len(r.log))
	for i, q := range r.log {
		log[i] = *q
	}
	return log
}

// Forget empties the log.
func (r *Registry) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = nil
}

// begin puts a request into the log, and returns its place there.
func (r *Registry) begin(q Request) *Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := &q
	place.Open = true
	r.log = append(r.log, place)
	return place
}

// note changes the place of a request in the log.
func (r *Registry) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}
