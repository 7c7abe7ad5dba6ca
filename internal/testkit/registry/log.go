package registry

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"
)

// Request is one request as the log has it, from its beginning on. An aborted answer is
// logged too.
type Request struct {
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
	Remote  string        `json:"remote"`
	Method  string        `json:"method"`
	Host    string        `json:"host"`
	URI     string        `json:"uri"`  // as it was sent: a scope has its %2f
	Path    string        `json:"path"` // decoded, without a query
	Header  http.Header   `json:"header"`

	Body     string `json:"body,omitempty"`    // what the client sent, up to a megabyte; gzip is undone
	Received int64  `json:"received"`          // bytes of that body, as they came
	Package  string `json:"package,omitempty"` // "name", or "name@version" for a tarball
	Status   int    `json:"status"`            // 0 if no answer was begun
	Sent     int64  `json:"sent"`              // bytes of the answer's body
	Aborted  bool   `json:"aborted,omitempty"` // by a fault, or by the client
	Open     bool   `json:"open,omitempty"`    // it has not ended; Package to Aborted are not known yet
	Stalled  bool   `json:"stalled,omitempty"` // it came to its Stall
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

// LogTo writes each further request to w when it ends, too, as a line of JSON.
func (r *Registry) LogTo(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = w
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

func (r *Registry) stalls(place *Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place.Stalled = true
}

func (r *Registry) end(place *Request, q Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.Stalled = place.Stalled
	*place = q
	if r.lines != nil {
		if err := json.NewEncoder(r.lines).Encode(q); err != nil {
			panic("the log of the registry cannot be written: " + err.Error())
		}
	}
}

// Traffic returns the bytes of all bodies that the log has.
func Traffic(log []Request) (received, sent int64) {
	for _, q := range log {
		received += q.Received
		sent += q.Sent
	}
	return received, sent
}
