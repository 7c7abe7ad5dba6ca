package diagnostics

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDiagnoseText holds failure texts as real runtimes print them against the
// fixture's profile.
func TestDiagnoseText(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Attribution
		target     string // of the first hint
		missing    string
		grant      string // joined with "; "; "" is none
	}{
		{"node read", `Error: EACCES: permission denied, open '/home/u/notes/a.md'`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"node scandir of a hidden directory", `Error: ENOENT: no such file or directory, scandir '/home/u/notes'`, Likely, "/home/u/notes", "read",
			`[[servers.github.access.fs]]; path = "~/notes"; read = true`},
		{"node, absent everywhere", `Error: ENOENT: no such file or directory, open '/home/u/work/nope'`, None, "", "", ""},
		{"node, absent below a hidden directory", `Error: ENOENT: no such file or directory, open '/home/u/docs/new.txt'`, None, "", "", ""},
		{"node, making a file below a hidden directory", `Error: ENOENT: no such file or directory, copyfile '/home/u/work/out.txt' -> '/home/u/docs/new.txt'`, Likely, "/home/u/docs/new.txt", "write",
			`[[servers.github.access.fs]]; path = "~/docs"; write = true`},
		{"node mkdir", `Error: EACCES: permission denied, mkdir '/home/u/docs/new'`, Likely, "/home/u/docs/new", "write",
			`[[servers.github.access.fs]]; path = "~/docs/new/"; read = true; write = true`},
		{"node rename out of the workspace", `EXDEV is not here: EPERM: operation not permitted, rename '/home/u/work/out.txt' -> '/data/notes/x.md'`, Likely, "/data/notes/x.md", "write",
			`[[servers.github.access.fs]]; path = "/data/notes/x.md"; write = true`},
		{"node quote in name", `Error: EACCES: permission denied, open '/home/u/it's here/b'`, Likely, "/home/u/it's here/b", "read",
			`[[servers.github.access.fs]]; path = "~/it's here/b"; read = true`},
		{"node read-only part of the workspace", `Error: EROFS: read-only file system, open '/home/u/work/src/lib.rs'`, Likely, "/home/u/work/src/lib.rs", "write",
			`[[servers.github.access.fs]]; path = "src/lib.rs"; read = true; write = true`},
		{"node, allowed by the policy", `Error: EACCES: permission denied, open '/home/u/work/out.txt'`, Possible, "", "", ""},
		{"python", `PermissionError: [Errno 13] Permission denied: '/home/u/notes/a.md'`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"python absent but there", `FileNotFoundError: [Errno 2] No such file or directory: '/srv/models/m.bin'`, Likely, "/srv/models/m.bin", "read",
			`[[servers.github.access.fs]]; path = "/srv/models/m.bin"; read = true`},
		{"python read-only", `OSError: [Errno 30] Read-only file system: '/home/u/work/src/lib.rs'`, Likely, "/home/u/work/src/lib.rs", "write",
			`[[servers.github.access.fs]]; path = "src/lib.rs"; read = true; write = true`},
		{"go", `2026/01/02 15:04:05 open /home/u/notes/a.md: permission denied`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"go mkdir", `mkdir /home/u/docs/out: permission denied`, Likely, "/home/u/docs/out", "write",
			`[[servers.github.access.fs]]; path = "~/docs/out/"; read = true; write = true`},
		{"go relative", `open src/lib.rs: read-only file system`, Likely, "/home/u/work/src/lib.rs", "write",
			`[[servers.github.access.fs]]; path = "src/lib.rs"; read = true; write = true`},
		{"go fork/exec", `fork/exec /opt/tools/bin/rg: permission denied`, Likely, "/opt/tools/bin/rg", "execute",
			`[[servers.github.access.fs]]; path = "/opt/tools/bin/rg"; read = true; execute = true`},
		{"rust debug", `Error: failed to open "/home/u/notes/a.md": Os { code: 13, kind: PermissionDenied, message: "Permission denied" }`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"rust anyhow", "Error: Failed to read config at /home/u/.config/app/app.toml\n\nCaused by:\n    Permission denied (os error 13)", Likely, "/home/u/.config/app/app.toml", "read",
			`[[servers.github.access.fs]]; path = "~/.config/app/app.toml"; read = true`},
		{"cat", `cat: /home/u/notes/a.md: Permission denied`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"mkdir", `mkdir: cannot create directory ‘/home/u/docs/new’: Permission denied`, Likely, "/home/u/docs/new", "write",
			`[[servers.github.access.fs]]; path = "~/docs"; write = true`},
		{"touch", `touch: cannot touch 'src/lib.rs': Read-only file system`, Likely, "/home/u/work/src/lib.rs", "write",
			`[[servers.github.access.fs]]; path = "src/lib.rs"; read = true; write = true`},
		{"dash redirect", `sh: 1: cannot create /data/notes/x.md: Permission denied`, Likely, "/data/notes/x.md", "write",
			`[[servers.github.access.fs]]; path = "/data/notes/x.md"; write = true`},
		{"java", `java.nio.file.AccessDeniedException: /home/u/notes/a.md`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"java io", `java.io.FileNotFoundException: /home/u/notes/a.md (Permission denied)`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"ruby", `Errno::EACCES: Permission denied @ rb_sysopen - /home/u/notes/a.md`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"socket", `Error: connect ENOENT /run/docker.sock`, Likely, "/run/docker.sock", "write",
			`[[servers.github.access.fs]]; path = "/run/docker.sock"; write = true`},
		{"docker", `permission denied while trying to connect to the Docker daemon socket at unix:///run/docker.sock: Get "http://x/v1"`, Likely, "/run/docker.sock", "write",
			`[[servers.github.access.fs]]; path = "/run/docker.sock"; write = true`},
		{"go unix", `dial unix /run/docker.sock: connect: permission denied`, Likely, "/run/docker.sock", "write",
			`[[servers.github.access.fs]]; path = "/run/docker.sock"; write = true`},
		{".NET path", `System.UnauthorizedAccessException: Access to the path '/home/u/notes/a.md' is denied.`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"php", `fopen(/home/u/notes/a.md): Failed to open stream: Permission denied`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"deno", `NotFound: No such file or directory (os error 2): open '/home/u/notes/a.md'`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"node mkdir of several, in a read-only tree", `Error: ENOENT: no such file or directory, mkdir '/home/u/work/src/new'`, Likely, "/home/u/work/src/new", "write",
			`[[servers.github.access.fs]]; path = "src/new/"; read = true; write = true`},
		{"removing a file of a read-only tree", `Error: EROFS: read-only file system, unlink '/home/u/work/src/lib.rs'`, Likely, "/home/u/work/src/lib.rs", "write",
			`[[servers.github.access.fs]]; path = "src"; read = true; write = true`},
		{"a native module", `Error: /home/u/work/out.txt: failed to map segment from shared object: Operation not permitted`, Likely, "/home/u/work/out.txt", "execute",
			`[[servers.github.access.fs]]; path = "out.txt"; read = true; write = true; execute = true`},
		{"a protected name, replaced", `error: could not write config file .git/hooks: Device or resource busy`, Likely, "/home/u/work/.git/hooks", "write",
			`[[servers.github.access.fs]]; path = ".git/hooks"; read = true; write = true`},
		{"a directory that holds a protected name", `mv: cannot move '.git' to '.g': Device or resource busy`, Possible, "", "", ""},
		{"busy for another reason", `OSError: [Errno 16] Device or resource busy: '/home/u/work/out.txt'`, Possible, "", "", ""},
		{"a socket that nobody made", `Error: connect ENOENT /run/absent.sock`, None, "", "", ""},
		{"a page", `page.goto: net::ERR_FILE_NOT_FOUND at file:///home/u/notes/a.md`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"chromium", `FATAL: No usable sandbox! If you are running on Ubuntu 23.10+`, Possible, "", "", ""},
		{"playwright", `browserType.launch: Executable doesn't exist at /opt/tools/bin/rg`, Likely, "/opt/tools/bin/rg", "execute",
			`[[servers.github.access.fs]]; path = "/opt/tools/bin/rg"; read = true; execute = true`},
		{"host's /tmp", `Error: connect ENOENT /tmp/shared.sock`, Likely, "/tmp/shared.sock", "write",
			`[[servers.github.access.fs]]; path = "/tmp/shared.sock"; write = true`},
		{"the jail's /tmp", `Error: EACCES: permission denied, open '/tmp/x/y'`, Possible, "", "", ""},
		{"the jail's /proc", `cat: /proc/1/environ: Permission denied`, Possible, "", "", ""},
		{"a protected name that does not exist", `Error: EACCES: permission denied, open '/home/u/work/.mcp.json'`, Likely, "/home/u/work/.mcp.json", "write",
			`[[servers.github.access.fs]]; path = ".mcp.json"; read = true; write = true`},
		{"sensitive", `Error: ENOENT: no such file or directory, open '/home/u/.ssh/id_rsa'`, Likely, "/home/u/.ssh/id_rsa", "read",
			`[[servers.github.access.fs]]; path = "~/.ssh/id_rsa"; read = true`},
		{"stack of source lines", "Error: permission denied\n    at /home/u/notes/a.md:10:4\n  File \"/home/u/notes/a.md\", line 3", Possible, "", "", ""},

		{"listing what is nowhere", `EACCES: permission denied, scandir '/home/u/nope'`, Possible, "", "", ""},
		{"two names, one fault", `copying "/home/u/notes/a.md" for "/data/notes/x.md" failed with PermissionDenied`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"a stack frame that speaks of permissions", "boom\nat check (/home/u/notes/a.md) permission denied", Possible, "", "", ""},
		{"a place in a source file", "/home/u/notes/a.md:12: permission denied", Possible, "", "", ""},
		{"colours inside", "EACCES: permission denied, open '\x1b[1m/home/u/notes/a.md\x1b[0m'", Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},

		{"getaddrinfo", `FetchError: request to https://api.x.com/v1/q failed, reason: getaddrinfo ENOTFOUND api.x.com`, Likely, "api.x.com:443", "connect",
			`[[servers.github.access.net]]; host = "api.x.com"; scheme = "https"; allow = true`},
		{"eai_again", `getaddrinfo EAI_AGAIN redis`, Likely, "redis", "connect",
			`[[servers.github.access.net]]; host = "redis"; allow = true`},
		{"granted host", `getaddrinfo ENOTFOUND api.github.com`, Possible, "", "", ""},
		{"granted wildcard", `getaddrinfo EAI_AGAIN raw.githubusercontent.com`, Possible, "", "", ""},
		{"not the wildcard's own name", `getaddrinfo EAI_AGAIN githubusercontent.com`, Likely, "githubusercontent.com", "connect",
			`[[servers.github.access.net]]; host = "githubusercontent.com"; allow = true`},
		{"address, may be a granted name's", `connect ENETUNREACH 140.82.112.5:443`, Possible, "", "", ""},
		{"local port", `Error: connect ECONNREFUSED 127.0.0.1:5432`, Likely, "localhost:5432", "connect",
			`[[servers.github.access.net]]; host = "localhost"; scheme = "tcp"; port = 5432; allow = true`},
		{"both families of localhost", "connect ECONNREFUSED ::1:5432\nconnect ECONNREFUSED 127.0.0.1:5432", Likely, "localhost:5432", "connect",
			`[[servers.github.access.net]]; host = "localhost"; scheme = "tcp"; port = 5432; allow = true`},
		{"curl", `curl: (6) Could not resolve host: example.org`, Likely, "example.org", "connect",
			`[[servers.github.access.net]]; host = "example.org"; allow = true`},
		{"git", `fatal: unable to access 'https://gitlab.com/x/y.git/': Could not resolve host: gitlab.com`, Likely, "gitlab.com:443", "connect",
			`[[servers.github.access.net]]; host = "gitlab.com"; scheme = "https"; allow = true`},
		{"ssh", `ssh: connect to host gitlab.com port 22: Network is unreachable`, Likely, "gitlab.com:22", "connect",
			`[[servers.github.access.net]]; host = "gitlab.com"; scheme = "tcp"; port = 22; allow = true`},
		{"go lookup", `Get "https://api.x.com/v1": dial tcp: lookup api.x.com on 127.0.0.53:53: no such host`, Likely, "api.x.com:443", "connect",
			`[[servers.github.access.net]]; host = "api.x.com"; scheme = "https"; allow = true`},
		{"urllib3", `HTTPSConnectionPool(host='api.x.com', port=443): Max retries exceeded with url: /v1 (Caused by NameResolutionError("Failed to resolve 'api.x.com' ([Errno -3] Temporary failure in name resolution)"))`, Likely, "api.x.com:443", "connect",
			`[[servers.github.access.net]]; host = "api.x.com"; scheme = "https"; allow = true`},
		{"urllib without a name", `<urlopen error [Errno -3] Temporary failure in name resolution>`, Possible, "", "", ""},
		{"reqwest", `error sending request for url (https://api.x.com/v1): dns error: failed to lookup address information`, Likely, "api.x.com:443", "connect",
			`[[servers.github.access.net]]; host = "api.x.com"; scheme = "https"; allow = true`},
		{"chromium", `page.goto: net::ERR_NAME_NOT_RESOLVED at https://shop.example.org/cart`, Likely, "shop.example.org:443", "connect",
			`[[servers.github.access.net]]; host = "shop.example.org"; scheme = "https"; allow = true`},
		{"libpq", `connection to server at "db.internal" (10.0.0.7), port 5432 failed: Connection refused`, Likely, "db.internal:5432", "connect",
			`[[servers.github.access.net]]; host = "db.internal"; scheme = "tcp"; port = 5432; allow = true`},
		{".NET", `System.Net.Http.HttpRequestException: Name or service not known (api.x.com:443)`, Likely, "api.x.com:443", "connect",
			`[[servers.github.access.net]]; host = "api.x.com"; scheme = "https"; allow = true`},
		{"undici", `ConnectTimeoutError: Connect Timeout Error (attempted address: api.x.com:443, timeout: 10000ms)`, Likely, "api.x.com:443", "connect",
			`[[servers.github.access.net]]; host = "api.x.com"; scheme = "https"; allow = true`},
		{"uv", "error: Failed to fetch: `https://pkgs.example.org/simple/mcp/`", Likely, "pkgs.example.org:443", "connect",
			`[[servers.github.access.net]]; host = "pkgs.example.org"; scheme = "https"; allow = true`},
		{"wget", `wget: unable to resolve host address ‘api.x.com’`, Likely, "api.x.com", "connect",
			`[[servers.github.access.net]]; host = "api.x.com"; allow = true`},
		{"no fault, a link", `See https://docs.example.org/setup for the setup`, None, "", "", ""},
		{"fetch failed", `TypeError: fetch failed`, Possible, "", "", ""},

		{"variable required", `Error: FOO_TOKEN environment variable is required`, Likely, "FOO_TOKEN", "variable",
			`[[servers.github.access.env]]; name = "FOO_TOKEN"; read = true`},
		{"variable please", `Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables`, Likely, "SLACK_BOT_TOKEN", "variable",
			`[[servers.github.access.env]]; name = "SLACK_BOT_TOKEN"; read = true`},
		{"keyerror", `KeyError: 'FOO_TOKEN'`, Likely, "FOO_TOKEN", "variable",
			`[[servers.github.access.env]]; name = "FOO_TOKEN"; read = true`},
		{"variable not set at all", `Error: BAR_KEY environment variable is required`, None, "", "",
			`[[servers.github.access.env]]; name = "BAR_KEY"; read = true`},
		{"variable granted", `GITHUB_TOKEN environment variable is invalid`, None, "", "", ""},
		{"variable granted and asked for", `GITHUB_TOKEN environment variable is required`, None, "", "", ""},
		{"variable only printed", `DEBUG: listing 4 issues`, None, "", "", ""},
		{"a name that is not asked for", `Loaded MY_SETTING, token ok`, None, "", "", ""},
		{"part of a longer name", `MY_FOO_TOKENS is required here`, None, "", "",
			`[[servers.github.access.env]]; name = "MY_FOO_TOKENS"; read = true`},

		{"program not in the jail", `sh: 1: rg: not found`, Likely, "/opt/tools/bin/rg", "execute",
			`[[servers.github.access.fs]]; path = "/opt/tools/bin/rg"; read = true; execute = true`},
		{"program of a package", `sh: 1: tsc: Permission denied`, Likely, "/home/u/work/node_modules/.bin/tsc", "execute",
			`[[servers.github.access.fs]]; path = "node_modules/"; read = true; write = true; execute = true`},
		{"program of an environment", `bash: line 1: env/bin/tool: Permission denied`, Likely, "/home/u/work/env/bin/tool", "execute",
			`[[servers.github.access.fs]]; path = "env/"; read = true; write = true; execute = true`},
		{"a program of the workspace", `sh: 1: ./out.txt: Permission denied`, Likely, "/home/u/work/out.txt", "execute",
			`[[servers.github.access.fs]]; path = "out.txt"; read = true; write = true; execute = true`},
		{"redirection of a shell", `bash: line 1: src/lib.rs: Permission denied`, Likely, "/home/u/work/src/lib.rs", "write",
			`[[servers.github.access.fs]]; path = "src/lib.rs"; read = true; write = true`},
		{"a program in a script", `./build.sh: 12: env/bin/tool: Permission denied`, Likely, "/home/u/work/env/bin/tool", "execute",
			`[[servers.github.access.fs]]; path = "env/"; read = true; write = true; execute = true`},
		{"sqlite", `Error: unable to open database "src/app.db": unable to open database file`, Likely, "/home/u/work/src/app.db", "write",
			`[[servers.github.access.fs]]; path = "src"; read = true; write = true`},
		{"a file that a shell may not open", `sh: 1: cannot open out.txt: Permission denied`, Possible, "", "", ""},
		{"program nowhere", `bash: line 1: terraform: command not found`, None, "", "", ""},
		{"spawn", `Error: spawn rg ENOENT`, Likely, "/opt/tools/bin/rg", "execute",
			`[[servers.github.access.fs]]; path = "/opt/tools/bin/rg"; read = true; execute = true`},
		{"spawn, granted", `Error: spawn git ENOENT`, None, "", "", ""},
		{"go exec", `exec: "rg": executable file not found in $PATH`, Likely, "/opt/tools/bin/rg", "execute",
			`[[servers.github.access.fs]]; path = "/opt/tools/bin/rg"; read = true; execute = true`},
		{"python subprocess", `FileNotFoundError: [Errno 2] No such file or directory: 'rg'`, Likely, "/opt/tools/bin/rg", "execute",
			`[[servers.github.access.fs]]; path = "/opt/tools/bin/rg"; read = true; execute = true`},
		{"not a program", `Error: issue 12 not found`, None, "", "", ""},

		{"plain error", `Invalid arguments: query is required`, None, "", "", ""},
		{"coloured", "\x1b[31mError: EACCES: permission denied, open '/home/u/notes/a.md'\x1b[0m", Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"escaped line breaks", `{"error":"boom\nError: EACCES: permission denied, open '/home/u/notes/a.md'\n    at x"}`, Likely, "/home/u/notes/a.md", "read",
			`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
		{"masked file", `Error: EACCES: permission denied, open '/home/u/work/.env'`, Likely, "/home/u/work/.env", "read",
			`[[servers.github.access.fs]]; path = ".env"; read = true`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Diagnose(evidence(tt.text))
			if d.Attribution != tt.want {
				t.Fatalf("attribution %q, want %q\n%s", d.Attribution, tt.want, d.Text())
			}
			if tt.target != "" {
				if len(d.Hints) == 0 || d.Hints[0].Target != tt.target || d.Hints[0].Missing != tt.missing {
					t.Fatalf("hints %+v, want first %s %s", d.Hints, tt.missing, tt.target)
				}
			} else if len(d.Hints) != 0 {
				t.Fatalf("blames %+v", d.Hints)
			}
			if got := strings.Join(d.Grant, "; "); got != tt.grant {
				t.Fatalf("grant\n got %s\nwant %s", got, tt.grant)
			}
		})
	}
}

func TestDiagnoseWithoutKnowledge(t *testing.T) {
	ev := evidence(`Error: EACCES: permission denied, open '/home/u/notes/a.md'`)
	ev.Profile = nil
	if d := Diagnose(ev); d.Attribution != Possible || len(d.Grant) > 0 {
		t.Errorf("without a profile: %s", d.Text())
	}
	ev = evidence(`Error: ENOENT: no such file or directory, open '/home/u/notes/a.md'`)
	ev.Exists = nil
	if d := Diagnose(ev); d.Attribution != None || d.Cause != "" {
		t.Errorf("the host could not be asked, and yet: %s", d.Text())
	}
}

// TestQuietCall: a call that went well did not fail, whatever stderr holds.
func TestQuietCall(t *testing.T) {
	ev := evidence("")
	ev.Stderr = []string{"EACCES: permission denied, open '/home/u/notes/a.md'"}
	ev.Denials = []Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "telemetry.x.com:443"}}
	d := Diagnose(ev)
	if strings.Contains(d.What, "failed") || len(d.Hints) != 1 || d.Attribution != Certain {
		t.Errorf("%s", d.Text())
	}
}

func TestUnsetVariable(t *testing.T) {
	ev := evidence("BAR_KEY environment variable is required")
	ev.Unset = []string{"BAR_KEY"}
	if d := Diagnose(ev); d.Attribution != None || len(d.Grant) > 0 || !strings.Contains(d.Cause, "granted but not set") {
		t.Errorf("%s", d.Text())
	}
}

// TestFetcherInCall: a tool that fetches does not fetch packages.
func TestFetcherInCall(t *testing.T) {
	ev := evidence("fetch failed")
	ev.Profile.Argv = []string{"npx", "x"}
	if d := Diagnose(ev); d.Attribution != Possible || len(d.Grant) > 0 {
		t.Errorf("%s", d.Text())
	}
}

// TestDenialOfAGrant: a contradiction is reported, not papered over with a rule.
func TestDenialOfAGrant(t *testing.T) {
	ev := evidence("")
	ev.Denials = []Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/home/u/work/out.txt"}, {Axis: policy.AxisFs, Operation: "open", Target: "/\xff"}}
	d := Diagnose(ev)
	if d.Attribution != Certain || len(d.Grant) > 0 || !strings.Contains(d.Hints[1].Fix, "grants this already") || !utf8.ValidString(d.Denials[1].Target) {
		t.Errorf("%s", d.Text())
	}
}

func TestGrantedByPath(t *testing.T) {
	rules := []policy.NetRule{{Host: "a.b", PathPrefix: "/v1", Allow: true}, {Host: "a.b", PathPrefix: "/v1/admin"}, {Host: "*"}}
	for _, tt := range []struct {
		host string
		port int
		want bool
	}{{"a.b", 443, true}, {"a.b", 0, true}, {"a.b", 8443, false}, {"c.d", 443, false}} {
		if got := granted(rules, tt.host, tt.port, ""); got != tt.want {
			t.Errorf("%s:%d is granted: %v", tt.host, tt.port, got)
		}
	}
}

func TestDiagnoseLink(t *testing.T) {
	ev := evidence(`Error: ENOENT: no such file or directory, open '/home/u/work/link/x.md'`)
	ev.Exists = func(string) bool { return true }
	ev.Canonical = func(p string) string { return strings.Replace(p, "/home/u/work/link", "/data/notes", 1) }
	d := Diagnose(ev)
	// A relative rule that leaves the workspace through a link is an error.
	if got := strings.Join(d.Grant, "; "); got != `[[servers.github.access.fs]]; path = "/data/notes/x.md"; read = true` {
		t.Errorf("grant %s", got)
	}
	if d := Diagnose(evidence(`env: 'git': Permission denied: /bin/git`)); d.Attribution == Likely {
		t.Errorf("/bin is a link to a place that is granted: %s", d.Text())
	}
}

// TestGit: rules are about its directory, whatever it names of it, unless that is
// protected; and it looks around a working directory that is not the workspace.
func TestGit(t *testing.T) {
	const rw = "; read = true; write = true"
	for _, tt := range []struct{ text, grant string }{
		{"fatal: not a git repository: /home/u/main/.git/worktrees/x", `path = "~/main/.git"; read = true`},
		{"fatal: Unable to create '/home/u/work/src/.git/index.lock': Permission denied", `path = "src/.git"` + rw},
		{"error: insufficient permission for adding an object to repository database src/.git/objects", `path = "src/.git"` + rw},
		{"fatal: cannot exec 'src/.git/hooks/pre-commit': Permission denied", `path = "src/.git/hooks/pre-commit"; read = true; execute = true`},
		{"error: could not lock config file src/.git/config: Read-only file system", `path = "src/.git"` + rw},
		{"fatal: git rm: 'kept/x': Permission denied", `path = "kept"` + rw},
	} {
		ev := evidence(tt.text)
		ev.Exists = host{"/home/u/main/.git/worktrees/x": true, "/home/u/work/src/.git/objects": true, "/home/u/work/src/.git/hooks/pre-commit": true, "/home/u/work/kept/x": true, "/home/u/work/.git/HEAD": true}.exists
		ev.Profile = fixture(func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/work/kept", Kind: policy.KindDir, Rights: policy.Read | policy.Create | policy.Update, Origin: policy.OriginRule})
		})
		if d := Diagnose(ev); strings.Join(d.Grant, "; ") != "[[servers.github.access.fs]]; "+tt.grant {
			t.Errorf("%s\n%s", tt.text, d.Text())
		}
	}
	for _, text := range []string{"/home/u/work/new/.git: Permission denied", "fatal: could not open 'wt/.git' for writing: Permission denied"} {
		ev := evidence(text)
		ev.Denials = []Denial{{Axis: policy.AxisFs, Operation: "mkdir", Target: "/home/u/work/new/.git"}}
		if d := Diagnose(ev); len(d.Grant) > 0 || !strings.Contains(d.Fix, "make it outside of the jail") {
			t.Errorf("%s", d.Text())
		}
	}
	ev := evidence("fatal: not a git repository (or any of the parent directories): .git")
	ev.Exists = host{"/home/u/work/.git/HEAD": true}.exists
	if d := Diagnose(ev); len(d.Grant) > 0 {
		t.Errorf("it runs in the workspace, which just is none: %s", d.Text())
	}
	ev.Profile = fixture(func(p *policy.Profile) { p.Dir, p.Entries = p.Home, p.Entries[:1] })
	if d := Diagnose(ev); d.Attribution != Likely || strings.Join(d.Grant, "; ") != `[[servers.github.access.fs]]; path = "."; read = true` {
		t.Errorf("%s", d.Text())
	}
}

// TestUnlisted: a file that may be executed but for the list of commands.
func TestUnlisted(t *testing.T) {
	for text, want := range map[string]string{
		"x: 3: /usr/bin/git: Permission denied":      `[servers.github.access.commands.git]`,
		"x: 3: /usr/lib/deep/git: Permission denied": `[servers.github.access.commands."/usr/lib/deep/git"]`,
		"Error: spawn git EACCES":                    `[servers.github.access.commands.git]`,
		"x: 3: /usr/bin/node: Permission denied":     "",
		"x: cannot open /usr/lib/f: No such file":    "",
	} {
		ev := evidence(text)
		ev.Profile.Programs = []string{"/usr/bin/node"}
		if d := Diagnose(ev); strings.Join(d.Grant, "; ") != want {
			t.Errorf("%s: got %q, want %q", text, d.Grant, want)
		}
	}
}

// TestBrowser: the one thing about a browser's sandbox that no rule changes.
func TestBrowser(t *testing.T) {
	for _, text := range []string{
		"FATAL: No usable sandbox! If you are running on Ubuntu 23.10+", "Chromium sandboxing failed!",
		"Running as root without --no-sandbox is not supported.", "Failed to move to new namespace: PID namespaces supported",
	} {
		if d := Diagnose(evidence(text)); d.Attribution != Possible || !strings.Contains(d.Fix, "--no-sandbox") || len(d.Grant) > 0 {
			t.Errorf("%s", d.Text())
		}
	}
}

// TestCertain: facts of the jail, and how they stand beside what a text names.
func TestCertain(t *testing.T) {
	ev := evidence("TypeError: fetch failed")
	ev.Stderr = []string{"PermissionError: [Errno 13] Permission denied: '/data/notes/x.md'"}
	ev.Denials = []Denial{
		{Axis: policy.AxisFs, Operation: "open for writing", Target: "/home/u/notes/a.md", Program: "/usr/bin/node", Count: 3},
		{Axis: policy.AxisNet, Operation: "connect", Target: "169.254.169.254:80", Count: 1},
		{Axis: policy.AxisProcess, Operation: "ptrace", Target: "pid 1", Count: 1},
	}
	targets := func(d Diagnosis) string {
		var all []string
		for _, h := range d.Hints {
			all = append(all, string(h.Attribution)+" "+h.Target)
		}
		return strings.Join(all, ", ")
	}
	const facts = "certain pid 1, certain 169.254.169.254:80, certain /home/u/notes/a.md"
	d := Diagnose(ev)
	if got := targets(d); got != facts+", likely /data/notes/x.md" {
		t.Errorf("the latest fact first, old output last: %s", got)
	}
	if len(d.Hints[0].Grant) != 0 || strings.Contains(strings.Join(d.Grant, "\n"), "169.254") {
		t.Errorf("the metadata service is granted in passing:\n%s", d.Text())
	}
	ev.Text, ev.Stderr = ev.Stderr[0], nil
	if got := targets(Diagnose(ev)); got != "likely /data/notes/x.md, "+facts {
		t.Errorf("what the failing text names comes first: %s", got)
	}
	ev.Text = "EACCES: permission denied, open '/home/u/notes/a.md'"
	d = Diagnose(ev)
	if h := d.Hints[0]; len(d.Hints) != 3 || h.Target != "/home/u/notes/a.md" || h.Missing != "write" || d.Attribution != Certain {
		t.Errorf("a fact that the text names, and that it was a write: %s", targets(d))
	}
	if got := strings.Join(d.Grant, "; "); got != `[[servers.github.access.fs]]; path = "~/notes/a.md"; write = true` {
		t.Errorf("more than the failure is about: %s", got)
	}
}

// TestAddressOfAName: of a name and an address only the name makes a rule.
func TestAddressOfAName(t *testing.T) {
	ev := evidence("getaddrinfo ENOTFOUND api.x.com\nconnect ENETUNREACH 140.82.112.5:443")
	ev.Profile.Net = nil
	if d := Diagnose(ev); len(d.Hints) != 1 || d.Hints[0].Target != "api.x.com" {
		t.Errorf("%s", d.Text())
	}
	ev.Text = "connect ENETUNREACH 140.82.112.5:443"
	if d := Diagnose(ev); d.Attribution != Likely || !strings.Contains(d.Fix, "prefer the name") {
		t.Errorf("%s", d.Text())
	}
}

// TestRuleInTmp: a rule for a place in /tmp is of the host, not of the jail.
func TestRuleInTmp(t *testing.T) {
	ev := evidence("EROFS: read-only file system, open '/tmp/data/x'")
	ev.Profile = fixture(func(p *policy.Profile) {
		p.Entries = append(p.Entries, policy.Entry{Path: "/tmp/data", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
	})
	if d := Diagnose(ev); d.Attribution != Likely || d.Hints[0].Missing != "write" {
		t.Errorf("%s", d.Text())
	}
}

func TestOrder(t *testing.T) {
	ev := evidence("first: EACCES: permission denied, open '/data/notes/x.md'\nthen: EACCES: permission denied, open '/srv/models/m.bin'")
	ev.Stderr = []string{"EACCES: permission denied, open '/home/u/notes/a.md'"}
	d := Diagnose(ev)
	var got []string
	for _, h := range d.Hints {
		got = append(got, h.Target)
	}
	if s := strings.Join(got, " "); s != "/srv/models/m.bin /data/notes/x.md /home/u/notes/a.md" {
		t.Errorf("order %s", s)
	}
}
