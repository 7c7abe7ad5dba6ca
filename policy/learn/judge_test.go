package learn

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

const strict = `[servers.s]
command = "server"
[servers.s.access]
fs = [{ path = "src", read = true }, { path = "out", read = true, create = true }]
net = [
  { host = "api.example.com", scheme = "https", allow = true },
  { host = "plain.example.com", scheme = "http", path_prefix = "/v1", methods = ["GET"], allow = true },
  { host = "any.example.com", port = 8080, scheme = "tcp", allow = true },
]
[servers.s.access.commands]
git = { args = [["log", "**"]] }
rg = {}
tool = { args = [["list"]] }
`

func TestJudge(t *testing.T) {
	h := newHost()
	p := h.profile(t, strict, "")
	for _, c := range []struct {
		o    policy.Observation
		want Verdict
	}{
		{policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/proj/src/a.go"}, Allowed},
		{policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/proj/README.md"}, Refused},
		{policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/proj/gone", Absent: true}, Allowed},
		{policy.Observation{Axis: policy.AxisFs, Operation: "list", Target: "/home/u/proj"}, Unknown},
		{policy.Observation{Axis: policy.AxisFs, Operation: "list", Target: "/home/u/notes"}, Refused},
		{policy.Observation{Axis: policy.AxisFs, Operation: "create", Target: "/home/u/proj/out/new"}, Allowed},
		{policy.Observation{Axis: policy.AxisFs, Operation: "create", Target: "/home/u/proj/new", Absent: true}, Refused},
		{policy.Observation{Axis: policy.AxisFs, Operation: "remove", Target: "/home/u/proj/out/report.txt"}, Refused},
		{policy.Observation{Axis: policy.AxisFs, Operation: "create", Target: "/tmp/x"}, Allowed},
		{policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/../u"}, Unknown},
		{policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/usr/lib/libc.so"}, Allowed},
		{policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/etc/hosts"}, Allowed},
		{policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/run/x"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "resolve", Target: "api.example.com"}, Allowed},
		{policy.Observation{Axis: policy.AxisNet, Operation: "resolve", Target: "evil.example.com"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "api.example.com:443", Scheme: "https"}, Allowed},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "api.example.com:443"}, Unknown},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "api.example.com:443", Scheme: "http"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "api.example.com:8443", Scheme: "https"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "api.example.com.evil.com:443", Scheme: "https"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "plain.example.com:80", Scheme: "http"}, Unknown},
		{policy.Observation{Axis: policy.AxisNet, Operation: "request", Target: "plain.example.com:80", Scheme: "http", Request: "GET /v1/x?q=1"}, Allowed},
		{policy.Observation{Axis: policy.AxisNet, Operation: "request", Target: "plain.example.com:80", Scheme: "http", Request: "POST /v1/x"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "request", Target: "plain.example.com:80", Scheme: "http", Request: "GET /v2"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "request", Target: "plain.example.com:80", Scheme: "http"}, Unknown},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "any.example.com:8080"}, Allowed},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "127.0.0.1:8080", Scheme: "tcp"}, Refused},
		{policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: "nothing"}, Unknown},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/git", Arguments: []string{"git", "log", "-1"}}, Allowed},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "execute", Target: "/usr/bin/git", Arguments: []string{"git", "push"}}, Refused},
		{policy.Observation{Axis: policy.AxisFs, Operation: "execute", Target: "/usr/bin/git"}, Unknown},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/rg", Arguments: []string{"rg", "x"}}, Allowed},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/curl", Arguments: []string{"curl"}}, Refused},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/server", Arguments: []string{"server", "x"}}, Allowed},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "execute", Target: "/usr/bin/tool", Arguments: []string{"tool", "list"}}, Allowed},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "execute", Target: "/usr/bin/tool", Arguments: []string{"tool", "remove"}}, Refused},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "execute", Target: "/usr/bin/git", Arguments: []string{"/bin/git", "log"}}, Allowed},
		{policy.Observation{Axis: policy.AxisProcess, Operation: "execute", Target: "/usr/bin/git", Arguments: []string{"other", "log"}}, Refused},
		{policy.Observation{Axis: policy.AxisIPC, Operation: "connect", Target: "/run/docker.sock"}, Refused},
		{policy.Observation{Axis: policy.AxisIPC, Operation: "connect", Target: "@dbus"}, Unknown},
		{policy.Observation{Axis: policy.AxisIPC, Operation: "connect", Target: "/tmp/own.sock"}, Allowed},
		{policy.Observation{Axis: policy.AxisIPC, Operation: "connect", Target: "/home/u/proj/src/x.sock"}, Unknown},
		{policy.Observation{Axis: policy.AxisLimits, Operation: "memory", Target: "1"}, Unknown},
	} {
		got := Judge(p, c.o)
		if got.Verdict != c.want {
			t.Errorf("%s %s %s %s%v: %s (%s), not %s", c.o.Axis, c.o.Operation, c.o.Target, c.o.Request, c.o.Arguments, got.Verdict, got.Why, c.want)
		}
		if (got.Why != "") != (got.Verdict == Unknown) || (got.Denial.Target == c.o.Target) != (got.Verdict == Refused) {
			t.Errorf("%s %s: the judgement is incomplete: %+v", c.o.Operation, c.o.Target, got)
		}
		if got.Denial.Operation == policy.OpExec.String() {
			t.Errorf("%s %s: the denial of a start has the word %q, and those of jails have %q", c.o.Operation, c.o.Target, got.Denial.Operation, execDenied)
		}
	}
}

// TestJudgeAgrees: for each path of a host and each operation, Judge refuses what the profile does not
// allow, and allows nothing else, outside of what the jail has for itself.
func TestJudgeAgrees(t *testing.T) {
	h := newHost()
	p := h.profile(t, strict, "")
	for _, at := range h.sorted() {
		for op := policy.OpRead; op <= policy.OpRemove; op++ {
			if op == policy.OpExec || isOwnPlace(at) {
				continue
			}
			got := Judge(p, policy.Observation{Axis: policy.AxisFs, Operation: op.String(), Target: at}).Verdict
			if got != Unknown && (got == Allowed) != p.Allows(op, at) {
				t.Errorf("%s %s: %s", op, at, got)
			}
		}
	}
}

func TestMentions(t *testing.T) {
	source := `const a = process.env.API_KEY || process.env["SECOND"], b = process?.env?.THIRD;
const {x} = process.env; process.env[name]; const c = process.env['FOURTH'] + preprocess.env.NOT + process.environment.NOT
token = os.environ["FIFTH"] ; os.environ.get('SIXTH', ""); os.getenv( "SEVENTH"); os.Getenv("EIGHTH"); v, ok := os.LookupEnv("NINTH")
Deno.env.get("TENTH"); const { E11, E12: e, E13 = "x,y", ...rest } = process.env; const {NOT1} = process.env.X1; ({ NOT2 } = other); environ["E14"]; getenv('E15')
 os.getenv(name); os.environ[f"X"]; os.getenv("has space"); process.env.API_KEY`
	if got, want := strings.Join(Mentions([]byte(source)), " "), "API_KEY E11 E12 E13 E14 E15 EIGHTH FIFTH FOURTH NINTH SECOND SEVENTH SIXTH TENTH THIRD X1 x"; got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	if got := Mentions([]byte("process.env." + strings.Repeat("X", 200))); got != nil {
		t.Errorf("%s is too long", got)
	}
	flood := []byte{}
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		for _, d := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
			flood = append(flood, "process.env."+string(c)+string(d)+";"...)
		}
	}
	if n := len(Mentions(flood)); n != maxMentions {
		t.Errorf("%d names of a flood", n)
	}
	late := slices.Concat(make([]byte, maxSource), []byte("process.env.LATE"))
	if got := Mentions(late); got != nil {
		t.Errorf("%s lies after the part that is read", got)
	}
}
