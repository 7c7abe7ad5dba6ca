package diagnostics

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// mcpRemote is what mcp-remote says before it waits for a login.
var mcpRemote = []string{
	"[2] Discovered authorization server: http://127.0.0.1:9981",
	"[2] OAuth callback server running at http://127.0.0.1:16774",
	"[2] Connecting to remote server: http://127.0.0.1:9981/mcp",
	"Please authorize this client by visiting:",
	"https://login.example.com/authorize?response_type=code&redirect_uri=http%3A%2F%2Flocalhost%3A16774%2Foauth%2Fcallback&state=1",
	"[2] Could not open a browser automatically. Please copy and paste the URL above into your browser.",
	"[2] Authentication required. Waiting for authorization...",
}

// TestAwaitsCallback checks when a server that does not answer is said to wait for a connection that
// cannot come in, and how sure that is.
func TestAwaitsCallback(t *testing.T) {
	type row struct {
		name   string
		stderr []string
		open   []int // the ports at which the jail listens; nil: not known
		change func(*Evidence)
		want   string // the attribution and the flags
	}
	one := func(line string) []string { return []string{"starting", line} }
	exit := func(ev *Evidence) { ev.Timeout, ev.Exit = 0, &Exit{Signal: 15, Code: 143} }
	inCall := func(text string) func(*Evidence) {
		return func(ev *Evidence) {
			ev.Timeout, ev.Stage, ev.Tool, ev.Method, ev.Text = 0, StageCall, "mail", "tools/call", text
		}
	}
	for _, tt := range []row{
		{"mcp-remote", mcpRemote, []int{16774}, nil, "likely --inbound 16774"},
		{"mcp-remote, and a host is granted", mcpRemote, []int{53, 443, 16774}, func(ev *Evidence) { ev.Profile.Net = []policy.NetRule{{Host: "login.example.com", Allow: true}} }, "likely --inbound 16774"},
		{"the port of the words is not open", mcpRemote, []int{}, nil, "none"},
		{"another port is open", mcpRemote, []int{8000}, nil, "possible"},
		{"the words name no port", one("Waiting for the browser to finish the login..."), []int{8000}, nil, "likely --inbound 8000"},
		{"the words name no port, and several are open", one("Waiting for the browser to finish the login..."), []int{8000, 8001}, nil, "none"},
		{"a listener alone", one("ready"), []int{8000}, nil, "possible"},
		{"no listener, no words", one("ready"), []int{}, nil, "none"},
		{"the listener of a granted host", one("ready"), []int{443}, func(ev *Evidence) { ev.Profile.Net = []policy.NetRule{{Host: "a.test", Allow: true}} }, "none"},
		{"a listener beside those of the jail itself", one("ready"), []int{53, 443, 8000}, func(ev *Evidence) { ev.Profile.Net = []policy.NetRule{{Host: "a.test", Allow: true}} }, "possible"},
		{"a listener at the port of a refused host", one("ready"), []int{443}, func(ev *Evidence) { ev.Profile.Net = []policy.NetRule{{Host: "a.test"}} }, "possible"},
		{"a listener whose port leads in", one("ready"), []int{8000}, func(ev *Evidence) { ev.Profile.Inbound = []int{8000} }, "none"},
		{"a call waits, and the words are old", append(mcpRemote[:4:4], "a", "b", "c", "d", "e", "f", "g"), []int{16774}, func(ev *Evidence) {
			ev.Stage, ev.Tool, ev.Method = StageCall, "mail", "tools/call"
		}, "likely --inbound 16774"},
		{"it waits for nothing, and has not failed", mcpRemote, []int{16774}, func(ev *Evidence) { ev.Timeout = 0 }, "none"},
		{"a device code", one("To sign in, visit https://example.com/device and enter the code ABCD"), []int{}, nil, "none"},
		{"redirect_uri in JSON", one(`{"client_id":"x","redirect_uris":["http://127.0.0.1:3000/cb"]}`), []int{3000}, nil, "likely --inbound 3000"},
		{"redirect_uri escaped twice", one("open https://x.test/?next=https%3A%2F%2Fy.test%2Fa%3Fredirect_uri%3Dhttp%253A%252F%252F127.0.0.1%253A4444%252Fcb"), []int{4444}, nil, "likely --inbound 4444"},
		{"IPv6", one("Listening for the OAuth redirect on http://[::1]:5555/"), []int{5555}, nil, "likely --inbound 5555"},
		{"Go", one("2026/11/26 10:00:00 waiting for callback on localhost:8085"), []int{8085}, nil, "likely --inbound 8085"},
		{"Python", one("Please visit this URL to authorize this application: https://accounts.google.com/o/oauth2/auth?client_id=1&redirect_uri=http%3A%2F%2Flocalhost%3A40123%2F"), []int{40123}, nil, "likely --inbound 40123"},
		{"a port in words", one("Callback server listening on port 9004"), []int{9004}, nil, "likely --inbound 9004"},
		{"redirect_uri elsewhere", one("redirect_uri=https://app.example.com/cb"), []int{}, nil, "none"},
		{"a failure in a call", []string{}, []int{8000}, inCall("Authentication needed. Open https://accounts.example.com/auth?redirect_uri=http%3A%2F%2Flocalhost%3A8000%2Foauth2callback in your browser"), "likely --inbound 8000"},
		{"another failure, after such words", one("OAuth callback server running at http://localhost:8000"), []int{8000}, inCall("division by zero"), "none"},
		{"the client gave up", mcpRemote, []int{16774}, exit, "likely --inbound 16774"},
		{"it ended with another error", append(mcpRemote[:2:2], "a", "b", "c", "d", "TypeError: x is not a function"), []int{16774}, exit, "none"},
		{"the port leads in", mcpRemote, []int{16774}, func(ev *Evidence) { ev.Profile.Inbound = []int{16774} }, "likely"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence("")
			ev.Stage, ev.Tool, ev.Method, ev.Stderr, ev.Timeout, ev.FromCommandLine = StageStartup, "", "", tt.stderr, time.Minute, true
			ev.Profile.Net = nil
			ev.Listening = func() ([]int, bool) { return tt.open, tt.open != nil }
			// The bystanders of every such server.
			ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "telemetry.example.com:443", Count: 1}}
			if strings.HasSuffix(tt.want, "none") || strings.HasPrefix(tt.want, "possible") || tt.name == "a failure in a call" {
				ev.Denials = nil
			}
			if tt.change != nil {
				tt.change(&ev)
			}
			d := Diagnose(ev)
			got := strings.TrimSpace(strings.TrimSuffix(string(d.Attribution)+" "+strings.Join(d.Words, " "), "--limit startup_timeout_secs=120"))
			if got != tt.want {
				t.Errorf("got %q, want %q\n%s", got, tt.want, d.Text())
			}
			if tt.want != "none" && d.Explain != PageInbound {
				t.Errorf("page %q\n%s", d.Explain, d.Text())
			}
			if tt.name == "the port leads in" && !strings.Contains(advised(d), "log in") {
				t.Errorf("%s", d.Text())
			}
		})
	}
}

// TestAwaited checks what a running server is said to wait for.
func TestAwaited(t *testing.T) {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.Stderr = StageStartup, "", "", mcpRemote
	ev.Listening = func() ([]int, bool) { return []int{16774}, true }
	ev.Logins = func() string { return "~/.mcp-auth" }
	defaultProfile(ev.Profile)
	d, ok := Awaited(ev)
	want := "--inbound 16774"
	if !ok || strings.Join(d.Words, " ") != want || !strings.Contains(d.What, "has not answered yet") || !strings.Contains(advised(d), "`mcp-jail wrap`") {
		t.Errorf("%v\n%s", ok, d.Text())
	}
	ev.Stderr = []string{"OAuth is configured with redirect_uri=http://localhost:9999/"}
	if d, ok := Awaited(ev); ok {
		t.Errorf("a port at which it does not listen\n%s", d.Text())
	}
}
