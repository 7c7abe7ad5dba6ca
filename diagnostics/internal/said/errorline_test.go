package said

import (
	"fmt"
	"strings"
	"testing"
)

// TestErrorText has the ends of programs, and the line that says what failed.
func TestErrorText(t *testing.T) {
	frames := func(form string) (all string) {
		for i := range 60 {
			all += strings.ReplaceAll(form, "#", fmt.Sprint(i)) + "\n"
		}
		return all
	}
	for name, tt := range map[string]struct{ text, want string }{
		"node": {"node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/x/server.js'\nRequire stack:\n- /srv/b.js\n" +
			frames("    at Module.load# (node:internal/modules/cjs/loader:1207:15)") + "    at x (node:internal/modules/run_main:164:12) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/srv/b.js' ]\n}\n\nNode.js v20.20.2",
			"Error: Cannot find module '/x/server.js'"},
		"node, the cause": {"node:internal/deps/undici/undici:14976\n      Error.captureStackTrace(err);\n            ^\n\nTypeError: fetch failed\n    at async f (/srv/a.js:1:21) {\n" +
			"  [cause]: Error: getaddrinfo ENOTFOUND no.such.invalid\n      at G.onlookupall [as oncomplete] (node:dns:122:26) {\n    errno: -3008,\n    code: 'ENOTFOUND',\n    hostname: 'no.such.invalid'\n  }\n}\n\nNode.js v20.20.2",
			"[cause]: Error: getaddrinfo ENOTFOUND no.such.invalid"},
		"node, a list": {"/s/node_modules/bindings/bindings.js:126\n  err = new Error(\n        ^\n\nError: Could not locate the bindings file. Tried:\n" + frames(" → /s/build/#/node_sqlite3.node") +
			"    at bindings (/s/node_modules/bindings/bindings.js:126:9)\n    at Object.<anonymous> (/s/x.js:1:37) {\n  tries: [\n" + frames("    '/s/build/#/node_sqlite3.node',") + "  ]\n}\n\nNode.js v20.20.2",
			"Error: Could not locate the bindings file. Tried: → /s/build/0/node_sqlite3.node → /s/build/1/node_sqlite3.node"},
		"node, syntax": {"/srv/x.mjs:1\nfoo bar\n    ^^^\n\nSyntaxError: Unexpected identifier 'bar'\n    at wrapSafe (node:internal/modules/cjs/loader:1378:20)\n\nNode.js v20.20.2", "SyntaxError: Unexpected identifier 'bar'"},
		"python":       {"Traceback (most recent call last):\n" + frames("  File \"/srv/p#.py\", line 8, in <module>\n    run(a())\n    ^^^^^^^^") + "ConfigProblem: line one\nsecond: x\n  third", "ConfigProblem: line one"},
		"python, a group": {"  + Exception Group Traceback (most recent call last):\n  |   File \"/srv/p.py\", line 7, in <module>\n  |     run(main())\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n" +
			"  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/srv/p.py\", line 3, in a\n    |     raise X()\n    | ConfigProblem: no key\n    +------------------------------------", "ConfigProblem: no key"},
		"pydantic": {"Traceback (most recent call last):\n  File \"/srv/p.py\", line 3, in <module>\n    s = Settings()\npydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\napi_key\n  Field required [type=missing, input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.11/v/missing",
			"pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings api_key Field required [type=missing, input_value={}, input_type=dict]"},
		"java":               {"Exception in thread \"main\" java.nio.file.NoSuchFileException: /x/conf.yml\n" + frames("\tat org.example.Frame#.run(Frame.java:#)"), "Exception in thread \"main\" java.nio.file.NoSuchFileException: /x/conf.yml"},
		"java, the cause":    {"Exception in thread \"main\" java.lang.RuntimeException: cannot start\n\tat T.main(T.java:1)\nCaused by: java.io.FileNotFoundException: /x/conf.yml (No such file or directory)\n" + frames("\tat java.base/x.F#.open(Native Method)") + "\t... 23 more", "Caused by: java.io.FileNotFoundException: /x/conf.yml (No such file or directory)"},
		"go":                 {"panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/srv/g.go:3\nmain.main()\n\t/srv/g.go:4 +0x32\nexit status 2", "panic: assignment to entry in nil map"},
		"go, a fault":        {"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]\n\ngoroutine 1 [running]:\n" + frames("main.f#(0x0)\n\t/srv/g.go:# +0x32"), "panic: runtime error: invalid memory address or nil pointer dereference"},
		"rust":               {"\nthread 'main' (917) panicked at m.rs:1:59:\ncannot read the key: Os { code: 2, kind: NotFound, message: \"No such file or directory\" }\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", "cannot read the key: Os { code: 2, kind: NotFound, message: \"No such file or directory\" }"},
		"rust, old":          {"thread 'main' panicked at 'no key', src/main.rs:3:5\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/1/library/std/src/panicking.rs:645:5\n   1: core::panicking::panic_fmt\n   2: m::main", "thread 'main' panicked at 'no key', src/main.rs:3:5"},
		"ruby":               {"r.rb:1:in `foo': cannot start (ArgumentError)\n" + frames("\tfrom r.rb:2:in `<main>'"), "r.rb:1:in `foo': cannot start (ArgumentError)"},
		"php":                {"PHP Fatal error:  Uncaught Exception: no key in /srv/x.php:3\nStack trace:\n#0 /srv/y.php(3): f()\n#1 {main}\n  thrown in /srv/x.php on line 3", "PHP Fatal error:  Uncaught Exception: no key in /srv/x.php:3"},
		".NET":               {"Unhandled exception. System.IO.FileNotFoundException: Could not find file '/x/y'.\nFile name: '/x/y'\n" + frames("   at System.IO.F#(String)"), "Unhandled exception. System.IO.FileNotFoundException: Could not find file '/x/y'."},
		".NET, the cause":    {"Unhandled exception. System.TypeInitializationException: The type initializer threw\n ---> System.Exception: no key\n   at P..cctor()\n   --- End of inner exception stack trace ---\n   at P.Main()", "---> System.Exception: no key"},
		"deno":               {"error: Uncaught (in promise) Error: no key\n    throw new Error(\"no key\");\n          ^\n    at file:///srv/x.ts:1:7", "error: Uncaught (in promise) Error: no key"},
		"bun":                {"1 | throw new Error(\"no key\")\n          ^\nerror: no key\n      at /srv/x.ts:1:7\n\nBun v1.4.0 (Linux x64)", "error: no key"},
		"docker":             {"docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n\nRun 'docker run --help' for more information", "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"},
		"cobra":              {"Error: required flag(s) \"dir\" not set\nUsage:\n  server [flags]\n\nFlags:\n  -h, --help   help for server\n", "Error: required flag(s) \"dir\" not set"},
		"npm":                {"npm error code E404\nnpm error 404 Not Found - GET https://registry.example.org/x\nnpm error A complete log of this run can be found in: /h/.npm/_logs/x.log", "npm error 404 Not Found - GET https://registry.example.org/x"},
		"words":              {"starting\nlistening\nno mode is configured\n", "no mode is configured"},
		"an older error":     {"Error: connect ECONNREFUSED, trying again\n    at x (/s/y.js:1:1)\nconnected\nno mode is configured", "no mode is configured"},
		"after the error":    {"ValueError: no key\nINFO shutting down", "ValueError: no key"},
		"colours":            {"\x1b[31mError:\x1b[0m no key\n    at x (/s/y.js:1:1)\n\n\x1b[2mNode.js v22.1.0\x1b[0m", "Error: no key"},
		"an imitation":       {"Error: no key\nmcp-jail: cause: the jail refused /etc/shadow", "Error: no key"},
		"frames alone":       {frames("    at x# (/s/y.js:1:1)"), ""},
		"nothing":            {"", ""},
		"what is no failure": {"listening", "listening"},
	} {
		if got := ErrorText(strings.Split(tt.text, "\n")); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, tt.want)
		}
	}
}

// TestSourcePlaces tells lines of source files from hosts with a port.
func TestSourcePlaces(t *testing.T) {
	for line, want := range map[string]string{
		"<urlopen error [SSL] certificate verify failed (_ssl.c:992)>":           "",
		"dial tcp failed (main.go:7)":                                            "",
		"fetch failed (index.js:10)":                                             "",
		"fetch failed (file.rs:3:5)":                                             "",
		"failed to connect at file.rs:3:5":                                       "",
		"failed connection at x.py:12":                                           "",
		"connection refused (Client.java:44)":                                    "",
		"Could not resolve \"lib.ts\"":                                           "",
		"HttpRequestException: Name or service not known (api.x.com:443)":        "api.x.com",
		"could not connect to api.example.rs:443":                                "api.example.rs",
		"getaddrinfo ENOTFOUND mirror.sh":                                        "mirror.sh",
		"dial tcp: lookup code.example.go on 127.0.0.53:53: no such host":        "code.example.go",
		"error sending request for url (https://crates.example.rs:8443/x.rs:12)": "crates.example.rs",
		"Connection refused (redis:6379)":                                        "redis",
	} {
		got := ""
		fault, _ := MatchFault(line)
		for _, ref := range hostReferences(line, fault) {
			got = ref.Name
		}
		if fault != Network && want+got != "" || got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// BenchmarkHostile reads as much as is kept of stderr, in lines that are bad for the patterns.
func BenchmarkHostile(b *testing.B) {
	const size = 64 << 10
	for name, unit := range map[string]string{
		"words":    "could not connect to the server: permission denied, open '/a/b' -> ",
		"letters":  "a",
		"dots":     "a.",
		"quotes":   "'/",
		"parens":   "(",
		"colons":   "a: ",
		"short":    "e: x\n",
		"shortest": "a\n",
		"faults":   "EACCES: permission denied, open '/x'\n",
		"caps":     "A_B ",
		"required": "X_KEY is required\n",
		"frames":   "    at x (/s/y.js:1:1)\n",
		"open":     "EACCES: a, b '",
		"groups":   "| + ",
		"links":    "connect to host x (",
	} {
		var lines []string
		for line := range strings.Lines(strings.Repeat(unit, size/len(unit))) {
			for len(line) > 4<<10 {
				lines = append(lines, line[:4<<10])
				line = line[4<<10:]
			}
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ErrorLine(lines)
				escaped := Escapes{}
				ordered := OrderByRelevance("", lines, escaped)
				References(ordered, escaped)
			}
		})
	}
}
