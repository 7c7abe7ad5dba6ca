package wrapcmd

import "testing"

// TestSummary: each server counts once, with its reason, and the line says so.
func TestSummary(t *testing.T) {
	servers := func(states ...state) []fileStatus {
		var f fileStatus
		for _, s := range states {
			f.Servers = append(f.Servers, serverStatus{State: s})
		}
		return []fileStatus{f, {}}
	}
	for want, c := range map[string]struct {
		files  []fileStatus
		unread []unreadFile
	}{
		"":                                       {servers(none), []unreadFile{{Why: "x"}}},
		"1 server: 1 jailed, 0 not":              {servers(jailed), nil},
		"2 servers: 1 jailed, 1 not (1 to wrap)": {servers(jailed, unwrapped), nil},
		"1 server: 0 jailed, 1 not (1 of an extension's code)": {nil, []unreadFile{{Starts: true}, {}}},
		"8 servers: 1 jailed, 4 not (1 to wrap, 1 in a container, 1 unclear, 1 left as noted), 2 run elsewhere, 1 switched off": {
			servers(jailed, unwrapped, container, unclear, open, elsewhere, elsewhere, off, none), nil},
		"2 servers: 0 jailed, 1 not (1 at a URL of this machine), 1 runs elsewhere": {servers(local, elsewhere), nil},
	} {
		if got := summaryOf(c.files, c.unread).text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for url, want := range map[string]bool{"http://localhost:3000/mcp": true, "http://127.0.0.2/": true, "http://[::1]:1/": true, "http://0.0.0.0:1": true, "https://x.localhost": true,
		"https://localhost.example.com": false, "https://example.com/localhost": false, "https://10.0.0.1": false, "%": false} {
		if isLoopback(url) != want {
			t.Errorf("%s: %v", url, !want)
		}
	}
}
