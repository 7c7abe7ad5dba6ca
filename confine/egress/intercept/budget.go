package intercept

import (
	"net/http"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The memory of all connections of a jail. A request costs its header three times, as it is read, as
// it is changed and as it is written, and a fixed amount for its goroutines and buffers.
const (
	requestMemory = 16 << 20 // of all open requests
	requestCost   = 48 << 10
	fieldCost     = 64
	wideConns     = 8       // connections at once with wide windows
	wideConn      = 1 << 20 // bytes of HTTP/2 that a wide connection takes before they are read
	wideStream    = 1 << 20
	narrowConn    = 128 << 10
	narrowStream  = 64 << 10
)

// A budget bounds the memory of the open requests of all connections.
type budget struct {
	mu   sync.Mutex
	used int64
}

// take counts the cost of a request of a connection. It returns false, and counts nothing, if all are
// used up, or if half are and the connection has an eighth.
func (b *budget) take(c *jailConn, cost int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+cost > requestMemory || b.used+cost > requestMemory/2 && c.requests+cost > requestMemory/8 {
		return false
	}
	b.used, c.requests = b.used+cost, c.requests+cost
	return true
}

func (b *budget) give(c *jailConn, cost int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used, c.requests = b.used-cost, c.requests-cost
}

func costOf(r *http.Request) int64 {
	n := len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + fieldCost
		}
	}
	return int64(requestCost + 3*n)
}

func (c *jailConn) refuseCost(w http.ResponseWriter, r *http.Request) {
	const text = "mcp-jail-tls has no memory for more requests at once: end some, or send smaller headers"
	c.deny(policy.DeniedLimit, text)
	r.Header, r.Trailer, r.Form = nil, nil, nil
	if r.ProtoMajor == 1 { // the header that was recorded was not looked at
		w.Header().Set("Connection", "close")
	}
	http.Error(w, text, http.StatusRequestHeaderFieldsTooLarge)
}
