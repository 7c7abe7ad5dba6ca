package diagnostics

import (
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func hostRefusal(operation, target string) policy.Denial {
	return policy.Denial{Axis: policy.AxisNet, Operation: operation, Target: target, Reason: policy.DeniedNotGranted, Count: 1}
}

// bystanders are refusals that no words name.
func bystanders() map[string]policy.Denial {
	return map[string]policy.Denial{
		"compiled files": refusals("mkdir /home/u/app/.venv/lib/weather/__pycache__")[0],
		"a cache":        refusals("create /var/cache/fontconfig/4c59.cache-8")[0],
		"cache folder":   refusals("mkdir /var/cache")[0],
		"a browser's":    hostRefusal("resolve", "update.googleapis.com"),
		"a probe":        refusals("open /proc/sys/kernel/core_pattern")[0],
		"a lock":         refusals("create /usr/share/app/index.lock")[0],
		"updates":        hostRefusal("resolve", "dl.deno.land"),
		"telemetry":      hostRefusal("connect", "telemetry.example.net:443"),
		"a host":         hostRefusal("resolve", "cdn.example.net"),
		"own address":    hostRefusal("connect", "[2001:4860:4860::8888]:53"),
		"ptrace":         {Axis: policy.AxisProcess, Operation: "ptrace", Target: "pid 1", Count: 1},
		"a file":         refusals("create /home/u/docs/x")[0],
		"a socket":       {Axis: policy.AxisIPC, Operation: "connect", Target: "/tmp/shared.sock", Count: 1},
	}
}

// ended returns the evidence of a server that ended at its start, after it wrote lines.
func ended(denials []policy.Denial, lines ...string) Evidence {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.Exit = StageStartup, "", "", &Exit{Code: 1}
	ev.Stderr, ev.Denials = lines, denials
	return ev
}

// TestBystander: a refusal that happened beside a failure with another cause is not told as its cause.
// The server's words are, and the refusal after them.
func TestBystander(t *testing.T) {
	for name, d := range bystanders() {
		for _, words := range []string{
			"no mode is configured", "Error: FOO_KEY environment variable is required", "weather: error: the following arguments are required: --city", "Error: No API key",
			"error: request failed: 401 Unauthorized", "ValueError: invalid mode: x", "Usage: weather [options]: missing command", "SyntaxError: Unexpected token '}'",
			"error: request to https://api.github.com/x: invalid peer certificate: UnknownIssuer", "pydantic_core.ValidationError: 1 validation error for Settings",
			"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:992)",
		} {
			got := Diagnose(ended([]policy.Denial{d}, "starting", words))
			target := strings.Trim(strings.TrimSuffix(d.Target, ":53"), "[]")
			switch {
			case got.Attribution == Certain, strings.Contains(got.Cause, target), strings.Contains(strings.Join(got.Words, " "), target):
				t.Errorf("%s, %s:\n%s", name, words, got.Text())
			case got.Attribution != Likely && !strings.Contains(got.Message(), strings.Split(words, `"`)[0]):
				t.Errorf("%s: the client does not get the server's words: %s", name, got.Message())
			case !strings.Contains(told(got), "also (possible): the jail blocked"), !strings.Contains(told(got), path.Base(target)):
				t.Errorf("%s, %s: the refusal is not told at all:\n%s", name, words, got.Text())
			}
			// In the answer of a server, only the list of denials is added.
			ev := evidence(words)
			ev.Denials = []policy.Denial{d}
			if got := Diagnose(ev); got.Attribution == Certain || strings.Contains(got.Cause, target) || len(got.ResultMeta()) == 0 {
				t.Errorf("%s, %s, in a call:\n%s", name, words, got.Text())
			}
		}
	}
}

// TestNoBystander has the refusals that are the cause: of a silent failure, of words that tell
// nothing, and of words of their kind.
func TestNoBystander(t *testing.T) {
	all := bystanders()
	for _, tt := range []struct {
		name  string
		words []string
		want  string
	}{
		{"silence", nil, "a lock, updates, telemetry, a host, ptrace, a file, a socket"},
		{"empty words", []string{"Error: the tool failed with an error"}, "a lock, updates, telemetry, a host, ptrace, a file, a socket"},
		{"of files", []string{"fatal: permission denied"}, "a lock, a host, ptrace, a file, a socket"},
		{"of the network", []string{"TypeError: fetch failed"}, "updates, telemetry, a host, a file, a socket"},
		{"of something", []string{"Error: could not get the weather of today"}, "a host, a file, a socket"},
		{"of a granted host", []string{"Error: connect ECONNREFUSED https://api.github.com/x"}, "a socket"},
	} {
		for name, d := range all {
			wanted := strings.Contains(", "+tt.want+",", ", "+name+",")
			got := Diagnose(ended([]policy.Denial{d}, tt.words...))
			if (got.Attribution == Certain) != wanted {
				t.Errorf("%s, %s: want certain %v\n%s", tt.name, name, wanted, got.Text())
			}
			if wanted && len(tt.words) > 0 && tt.name == "of something" && !strings.Contains(got.Message(), `after it said "`+tt.words[0]) {
				t.Errorf("%s: the client does not get the server's words: %s", name, got.Message())
			}
		}
	}
	// A refusal that the words name is the cause, also one of those that are bystanders otherwise.
	for name, d := range all {
		target := strings.TrimSuffix(d.Target, ":443")
		got := Diagnose(ended([]policy.Denial{d}, "Error: EACCES: permission denied, open '"+target+"'"))
		if name != "ptrace" && (got.Attribution != Certain || len(got.Hints) == 0) {
			t.Errorf("%s, named:\n%s", name, got.Text())
		}
	}
}

// TestBystanderOrder: what is no cause comes after what may be one, and brings no line.
func TestBystanderOrder(t *testing.T) {
	all := bystanders()
	d := Diagnose(ended([]policy.Denial{all["compiled files"], all["own address"], all["a file"]}, "Error: it failed"))
	if len(d.Hints) != 3 || d.Hints[0].Target != "/home/u/docs/x" || d.Hints[1].Attribution != Possible || d.Hints[2].Attribution != Possible || strings.Contains(strings.Join(d.Words, " "), "2001:") {
		t.Errorf("%s", d.Text())
	}
	// The skipped scripts of a package are no bystander's fault.
	ev := ended([]policy.Denial{all["updates"]}, "Error: Could not locate the bindings file. Tried:", " → /s/x.node", "Node.js v20.20.2")
	ev.InstallScripts = "mcp-jail install --install-scripts x"
	if d := Diagnose(ev); d.Explain != PagePackageScripts || !strings.Contains(told(d), "also (possible): the jail blocked") {
		t.Errorf("%s", d.Text())
	}
}
