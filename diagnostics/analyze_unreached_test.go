package diagnostics

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUnreachedHost checks what is said of a granted host that the machine could not reach.
func TestUnreachedHost(t *testing.T) {
	name := policy.HostFailure{Host: "api.github.com", Answer: "no such host"}
	port := policy.HostFailure{Host: "raw.githubusercontent.com", Port: 443, Answer: "connection refused"}
	for _, tt := range []struct {
		text     string
		failures []policy.HostFailure
		cause    string
	}{
		{"[Errno -2] Name or service not known", []policy.HostFailure{name}, `api.github.com is allowed, and this machine could not resolve it: no such host`},
		{"getaddrinfo ENOTFOUND api.github.com", []policy.HostFailure{name, port}, `api.github.com is allowed, and this machine could not resolve it: no such host`},
		{"[Errno 104] Connection reset by peer", []policy.HostFailure{port}, `raw.githubusercontent.com:443 is allowed, and this machine could not connect to it: connection refused`},
		{"fetch failed", []policy.HostFailure{name, port}, `raw.githubusercontent.com:443 is allowed, and this machine could not connect to it: connection refused`},
		{"the index of api.github.com is empty", []policy.HostFailure{name}, `api.github.com is allowed, and this machine could not resolve it: no such host`},
		{"connect to api.github.com", []policy.HostFailure{name, {Host: "api.github.com", Port: 443, Answer: "connection refused"}}, `api.github.com:443 is allowed, and this machine could not connect to it: connection refused`},
		{"a value is missing", []policy.HostFailure{name}, ""},
		{"HTTP 404 Not Found", []policy.HostFailure{name}, ""},
		{"socket hang up", nil, ""},
	} {
		ev := evidence(tt.text)
		ev.HostFailures = tt.failures
		d := Diagnose(ev)
		if d.Cause != tt.cause || d.Attribution != None || len(d.Words) > 0 || tt.cause != "" && d.Explain != PageNetUnreachable {
			t.Errorf("%s: %s", tt.text, d.Text())
		}
	}
}

// TestUnreachedHostAfterRefusal checks that a refusal comes first, and that a call which ran out of
// time names the host.
func TestUnreachedHostAfterRefusal(t *testing.T) {
	ev := evidence("fetch failed")
	ev.HostFailures = []policy.HostFailure{{Host: "api.github.com", Port: 443, Answer: "it does not answer"}}
	ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "resolve", Target: "api.x.com", Reason: policy.DeniedNotGranted}}
	if d := Diagnose(ev); d.Attribution != Certain || !strings.Contains(d.Cause, "api.x.com") {
		t.Errorf("%s", d.Text())
	}
	ev = evidence("")
	ev.Timeout = time.Minute
	ev.HostFailures = []policy.HostFailure{{Host: "api.github.com", Port: 443, Answer: "it does not answer"}}
	if d := Diagnose(ev); !strings.HasSuffix(d.Cause, "could not connect to it: it does not answer") {
		t.Errorf("%s", d.Text())
	}
}
