package intercept

import (
	"net/http"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestNothingOfAnotherJail: what an upstream gives to one jail (a cookie, a TLS session) does not
// come back to it from another.
func TestNothingOfAnotherJail(t *testing.T) {
	t.Parallel()
	resumed, cookies := make(chan bool, 4), make(chan int, 4)
	s := serve(t, "https", func(w http.ResponseWriter, r *http.Request) {
		resumed <- r.TLS.DidResume
		cookies <- len(r.Cookies())
		http.SetCookie(w, &http.Cookie{Name: "left", Value: "by-a-call", Path: "/"})
	})
	o := Options{Rules: []policy.NetRule{only("GET")}}
	one, other := newWorld(t, s, o), newWorld(t, s, o)
	for i, c := range []struct {
		world *world
		want  bool
	}{{one, false}, {one, true}, {other, false}} {
		client := c.world.client(t, false)
		client.Transport.(*http.Transport).DisableKeepAlives = true
		do(t, client, "GET", c.world.url("/"), nil)
		if got, n := <-resumed, <-cookies; got != c.want || n != 0 {
			t.Errorf("request %d: it resumed a session: %t, and it had %d cookies", i, got, n)
		}
	}
}
