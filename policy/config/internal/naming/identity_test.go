package naming

import (
	"strings"
	"testing"
)

// TestIdentity tests which command lines are the same server: those that differ in
// arguments that cannot be code.
func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"/opt/x/server", "/opt/x/server stdio --toolsets all", true},
		{"/opt/x/server", "/opt/y/server", false},
		{"server", "./server", false},
		{"node /opt/s.js", "node /opt/s.js --x", true},
		{"node /opt/s.js", "node /opt/t.js", false},
		{"node /opt/s.js", "node -r /tmp/evil.js /opt/s.js", false},
		{"node --env-file /opt/.env /opt/s.js", "node --env-file /opt/.env /tmp/evil.js", false},
		{"node -e 1 x", "node -e 2 x", false},
		{"python3 -m a", "python3 -m b", false},
		{"python3 -c 1", "python3 -c 2", false},
		{"sh -c a", "sh -c b", false},
		{"sh /opt/run a", "sh /opt/run b", true},
		{"busybox sh /opt/run", "busybox sh /tmp/evil", false},
		{"java -jar /opt/a.jar x", "java -jar /opt/a.jar y", true},
		{"java -jar /opt/a.jar", "java -cp /tmp Evil", false},
		{"deno run /opt/a.ts", "deno run /tmp/evil.ts", false},
		{"uv run server.py", "uv run evil.py", false},
		{"env A=1 server", "env A=1 evil", false},
		{"/usr/bin/docker run a", "/usr/bin/docker run b", false},
		{"python3 server.py", "python3 server.py", true},
		{"python3 server.py --x", "python3 /w/server.py", true},
		{"node ./dist/s.js", "node dist/s.js", true},
		{"./server", "/w/server stdio", true},
		{"./venv/bin/python s.py", "/w/venv/bin/python /w/s.py", true},
		{"node ../s.js", "node /s.js", false},
		{"node ~/s.js", "node /w/~/s.js", false},
		{"node s.js", "node -r /tmp/evil.js /w/s.js", false},
		{"./env s", "/w/env /w/s", false},
		{"./node --import=x.js", "/w/node /w/--import=x.js", false},
		{"./venv/bin/python -mserver", "/w/venv/bin/python /w/-mserver", false},
		{"sh -c ./s", "sh -c /w/s", false},
		{"sh -c a", "sh -c /w/a", false},
		{"deno run a.ts", "deno run /w/a.ts", false},
		{"", "x", false},
	} {
		a, b := Identity(strings.Fields(c.a), "/w"), Identity(strings.Fields(c.b), "/w")
		if (a == b) != c.same {
			t.Errorf("%s and %s: %q, %q", c.a, c.b, a, b)
		}
	}
	for line, same := range map[string]bool{"python3 server.py": false, "./server": false, "python3 /opt/server.py": true, "server": true} {
		if words := strings.Fields(line); (Identity(words, "/a") == Identity(words, "/b")) != same {
			t.Errorf("%s in two directories: want the same server %t", line, same)
		}
	}
}
