package intercept

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// leaks finds secrets that are not meant for the host of the request.
type leaks struct {
	egress.Leaks
	finder *leak.Searcher

	mu   sync.Mutex
	told map[egress.Leak]bool
}

// SetLeaks sets the secrets to find in requests. It must be called before Serve.
func (i *Interceptor) SetLeaks(l egress.Leaks) {
	i.leaks = leaks{Leaks: l, finder: leak.New(l.Secrets, l.Tokens), told: map[egress.Leak]bool{}}
}

func isCredential(name string) bool {
	return strings.EqualFold(name, "Cookie") || slices.ContainsFunc(policy.CredentialFields, func(f string) bool { return strings.EqualFold(f, name) })
}

func (c *jailConn) checkLeaks(r *http.Request) *refusal {
	l := &c.t.leaks
	if l.finder == nil {
		return nil
	}
	if no := c.judgeLeaks(l.finder.Find([]byte(r.Method+" "+r.RequestURI)), egress.PlaceURL, false); no != nil {
		return no
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		credential := isCredential(name)
		if no := c.judgeLeaks(l.finder.Find([]byte(name)), egress.PlaceHeader, false); no != nil {
			return no
		}
		for _, v := range r.Header[name] {
			if no := c.judgeLeaks(l.finder.Find([]byte(v)), egress.PlaceHeader, credential); no != nil {
				return no
			}
		}
	}
	return nil
}

// judgeLeaks tells of secrets in a part of a request, or returns a refusal. Secrets and tokens belong
// in a field for credentials.
func (c *jailConn) judgeLeaks(found []leak.Found, place egress.Place, credential bool) *refusal {
	l := &c.t.leaks
	if credential {
		return nil
	}
	for _, f := range found {
		if l.Block {
			what := "the value of " + f.Name + " (" + string(f.Form) + ")"
			if f.Form == leak.Token {
				what = "what looks like a token (" + f.Name + ")"
			}
			return forbidden(policy.DeniedLeak, `%s has %s, and leaks is "block"`, place, what)
		}
		l.tell(c, egress.Leak{Host: c.target.Name, Place: place, Found: f})
	}
	return nil
}

// maxTold bounds the leaks that are told in a session.
const maxTold = 1000

func (l *leaks) tell(c *jailConn, about egress.Leak) {
	l.mu.Lock()
	known := l.told[about] || len(l.told) >= maxTold
	if !known {
		l.told[about] = true
	}
	l.mu.Unlock()
	if !known && c.target.Tell != nil {
		c.target.Tell(about)
	}
}

var errLeak = errors.New("the body has a secret")

// leakReader looks at a body while it is sent.
type leakReader struct {
	io.ReadCloser
	conn   *jailConn
	state  *requestState
	stream *leak.Stream
}

// Read implements io.Reader. It does not return the bytes that complete a refused secret.
func (l *leakReader) Read(p []byte) (int, error) {
	if l.state.leak.Load() != nil {
		return 0, errLeak
	}
	n, err := l.ReadCloser.Read(p)
	if no := l.conn.judgeLeaks(l.stream.Find(p[:n]), egress.PlaceBody, false); no != nil {
		l.state.leak.Store(no)
		return 0, errLeak
	}
	return n, err
}
