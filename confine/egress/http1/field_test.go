package http1

import "testing"

// TestCheckField: a name that a lenient server reads as a field of the message's own is refused, and
// that field itself in a trailer.
func TestCheckField(t *testing.T) {
	for _, c := range []struct {
		name            string
		header, trailer bool // whether it is forwarded
	}{
		{"X-Content-Length", true, true},
		{"Content-Type", true, true},
		{"Hostname", true, true},
		{"X-Checksum", true, true},
		{"Content-Length", true, false},
		{"transfer-encoding", true, false},
		{"HOST", true, false},
		{"Connection", true, false},
		{"te", true, false},
		{"Upgrade", true, false},
		{"Content_Length", false, false},
		{"content.Length", false, false},
		{"Content Length", false, false},
		{"Content~Length", false, false},
		{"Transfer_Encoding", false, false},
		{"Content-Length-", false, false},
		{"_Host", false, false},
		{"Keep_Alive", false, false},
		{"Proxy.Connection", false, false},
		{"HTTP2_Settings", false, false},
	} {
		if got := CheckField(c.name, InHeader); (got == "") != c.header {
			t.Errorf("%s in a header: %q", c.name, got)
		}
		if got := CheckField(c.name, InTrailer); (got == "") != c.trailer {
			t.Errorf("%s in a trailer: %q", c.name, got)
		}
	}
}
