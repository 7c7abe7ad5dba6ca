package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLoopback: the server connects to a port of the jail's own loopback, at which no program of the
// jail listens. If a program of the host listens there, that is the likely cause, with any words of
// the server. It is no cause if the words have another one, or no program of the host listens.
func TestLoopback(t *testing.T) {
	ollama := policy.Unanswered{Host: "localhost", Port: 11434}
	usual := policy.Unanswered{Host: "localhost", Port: 11434, Background: true}
	exit := func(ev *Evidence) {
		ev.Stage, ev.Tool, ev.Method, ev.Stderr, ev.Text, ev.Exit = StageStartup, "", "", strings.Split(ev.Text, "\n"), "", &Exit{Code: 1}
	}
	const line, local = "localhost:11434", "localhost:5432"
	for _, tt := range []struct {
		name   string
		text   string
		seen   []policy.Unanswered
		change func(*Evidence)
		cause  string      // the target of the first hint, "" for none
		sure   Attribution // Likely, unless it says something else
		said   string      // a part of the cause
	}{
		{name: "no words", seen: []policy.Unanswered{ollama}, cause: line},
		{name: "no words, at every start", seen: []policy.Unanswered{usual}, cause: line},
		{name: "fetch failed", text: "TypeError: fetch failed", seen: []policy.Unanswered{ollama}, cause: line},
		{name: "fetch failed, at every start", text: "TypeError: fetch failed", seen: []policy.Unanswered{usual}, cause: line},
		{name: "AggregateError", text: "AggregateError [ECONNREFUSED]: ", seen: []policy.Unanswered{ollama}, cause: line},
		{name: "words about nothing known", text: "Could not list models", seen: []policy.Unanswered{ollama}, cause: line},
		{name: "words about nothing known, at every start", text: "Could not list models", seen: []policy.Unanswered{usual}},
		{name: "the words name it", text: "connect ECONNREFUSED 127.0.0.1:11434", seen: []policy.Unanswered{ollama}, cause: line},
		{name: "the words name it, with a scheme", text: "request to http://localhost:11434/api/tags failed, reason: connect ECONNREFUSED ::1:11434", seen: []policy.Unanswered{ollama}, cause: line},
		{name: "a start that ends", text: "boot failed", seen: []policy.Unanswered{ollama}, change: exit, cause: line},
		{name: "the latest", text: "fetch failed", seen: []policy.Unanswered{ollama, {Host: "localhost", Port: 5432}}, cause: local},
		{name: "another address of the loopback", text: "fetch failed", seen: []policy.Unanswered{{Host: "127.0.0.2", Port: 5432}}, cause: "127.0.0.2:5432"},
		{name: "a bystander: a file", text: "EACCES: permission denied, open '/home/u/notes/a.md'", seen: []policy.Unanswered{ollama}, cause: "/home/u/notes/a.md"},
		{name: "a bystander: a host", text: "getaddrinfo ENOTFOUND api.x.com", seen: []policy.Unanswered{ollama}, cause: "api.x.com"},
		{name: "a bystander: a file that is nowhere", text: "ENOENT: no such file or directory, open '/home/u/none.json'", seen: []policy.Unanswered{ollama}},
		{name: "a bystander: another fault", text: "Invalid arguments: id must be a number", seen: []policy.Unanswered{ollama}},
		{name: "a bystander of a granted host", text: "connect ECONNREFUSED 127.0.0.1:7000", seen: []policy.Unanswered{ollama},
			change: func(ev *Evidence) {
				ev.Profile.Net = []policy.NetRule{{Host: "localhost", Scheme: "tcp", Port: 7000, Allow: true}}
			}},
		{name: "a refusal that the words do not name", text: "fetch failed", seen: []policy.Unanswered{ollama},
			change: func(ev *Evidence) {
				ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "mkdir", Target: "/usr/lib/python3/__pycache__"}}
			}, cause: line},
		{name: "no listener on the host", text: "fetch failed", seen: []policy.Unanswered{{Host: "localhost", Port: 3306}}},
		{name: "no listener on the host, named", text: "connect ECONNREFUSED 127.0.0.1:3306"},
		{name: "granted", text: "fetch failed", seen: []policy.Unanswered{ollama},
			change: func(ev *Evidence) {
				ev.Profile.Net = []policy.NetRule{{Host: "localhost", Scheme: "tcp", Port: 11434, Allow: true}}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			ev.Unanswered = tt.seen
			ev.Listens = func(host string, port int) bool { return port == 11434 || port == 5432 }
			if tt.change != nil {
				tt.change(&ev)
			}
			d := Diagnose(ev)
			if tt.cause == "" {
				if len(d.Hints) != 0 || len(d.Words) != 0 || tt.sure != "" && d.Attribution != tt.sure || tt.said == "" && tt.sure == "" && !d.Silent() {
					t.Errorf("want no cause:\n%s", d.Text())
				}
			} else if tt.sure = Likely; len(d.Hints) == 0 || d.Hints[0].Target != tt.cause || d.Attribution != tt.sure {
				t.Fatalf("want %s, likely:\n%s", tt.cause, d.Text())
			}
			if !strings.Contains(d.Cause, tt.said) {
				t.Errorf("want %q in\n%s", tt.said, d.Text())
			}
			// A port that was only probed gets no line.
			if strings.HasPrefix(tt.name, "a bystander") && slices.ContainsFunc(d.Words, func(l string) bool { return strings.Contains(l, "11434") }) {
				t.Errorf("a line for a bystander:\n%s", d.Text())
			}
			if tt.cause != "" && strings.Contains(tt.cause, ":") {
				pasted(t, "[servers.github]\ncommand = \"node\"\n", d.Words, ev.Profile)
			}
		})
	}
}

// TestLoopbackWords: the words of clients for a connection that was refused name host and port. The
// line is proposed where this host listens there, and nowhere else.
func TestLoopbackWords(t *testing.T) {
	for _, tt := range []struct{ text, target string }{
		{"Can't connect to MySQL server on '127.0.0.1:3306' (111)", "localhost:3306"},
		{"2003 (HY000): Can't connect to MySQL server on 'localhost:3307' (111 Connection refused)", "localhost:3307"},
		{"request to http://localhost:11434/api/tags failed, reason: ", "localhost:11434"},
		{"Error 111 connecting to localhost:6379. Connection refused.", "localhost:6379"},
		{"MongoServerSelectionError: connect ECONNREFUSED ::1:27017, connect ECONNREFUSED 127.0.0.1:27017", "localhost:27017"},
		{"localhost:27017: [Errno 111] Connection refused (configured timeouts: socketTimeoutMS: 20000.0ms), Timeout: 30s", "localhost:27017"},
		{"connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused", "localhost:5432"},
		{`could not connect to server: Connection refused Is the server running on host "localhost" (127.0.0.1) and accepting TCP/IP connections on port 5432?`, "localhost:5432"},
		{"Connection to localhost:5432 refused. Check that the hostname and port are correct", "localhost:5432"},
		{"java.net.ConnectException: Connection refused: localhost/127.0.0.1:5432", "localhost:5432"},
		{"AnnotatedConnectException: Connection refused: /127.0.0.1:6379", "localhost:6379"},
		{"dial tcp 127.0.0.1:5432: connect: connection refused", "localhost:5432"},
		{"Cannot connect to host localhost:11434 ssl:default [Connect call failed ('127.0.0.1', 11434)]", "localhost:11434"},
		{"[Errno 111] Connect call failed ('127.0.0.1', 5432)", "localhost:5432"},
		{"HTTPConnectionPool(host='localhost', port=11434): Max retries exceeded with url: /api/tags (Caused by NewConnectionError('[Errno 111] Connection refused'))", "localhost:11434"},
		{"connect ECONNREFUSED 127.0.0.2:5432", "127.0.0.2:5432"},
	} {
		for _, listens := range []bool{true, false} {
			ev := evidence(tt.text)
			ev.Listens = func(string, int) bool { return listens }
			d := Diagnose(ev)
			if told := len(d.Hints) == 1 && d.Hints[0].Target == tt.target && d.Attribution == Likely && len(d.Words) > 0; told != listens || !told && !d.Silent() {
				t.Errorf("%s, with a listener on the host %t:\n%s", tt.text, listens, d.Text())
			}
		}
	}
}

// TestLoopbackDenial: a jail without a loopback of its own refuses the connection. No line is
// proposed where this host does not listen.
func TestLoopbackDenial(t *testing.T) {
	for _, listens := range []bool{true, false} {
		ev := evidence("fetch failed")
		ev.Listens = func(string, int) bool { return listens }
		ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "localhost:5432", Reason: policy.DeniedNotGranted}}
		if d := Diagnose(ev); d.Attribution != Certain || listens != (len(d.Words) > 0) || listens == strings.Contains(advised(d), "nothing listens on this machine either (port 5432)") {
			t.Errorf("with a listener on the host %t:\n%s", listens, d.Text())
		}
	}
}
