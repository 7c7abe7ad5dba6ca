package diagnostics

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// knownEvidence returns the evidence of a failed call of a server after --, which has the default
// policy without a network. An argument names a directory and another one a database, a granted
// variable names a file, and a URL; several variables are withheld; there is a preset for its package.
func knownEvidence(text string) Evidence {
	ev := evidence(text)
	defaultProfile(ev.Profile)
	ev.FromCommandLine, ev.Server, ev.Profile.Server, ev.Profile.Net = true, "weather", "weather", nil
	ev.Profile.Argv = []string{"node", "server.js"}
	ev.Profile.Withheld = []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "CLASSPATH", "DOCKER_HOST", "GITHUB_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "KUBECONFIG", "OPENAI_API_KEY", "PGPASSWORD",
		"PYTHONPATH", "SSH_AUTH_SOCK", "WEATHER_API_KEY",
	}
	ev.Profile.Env = []policy.Variable{{Name: "PATH", Value: "/usr/bin", Rule: policy.MinimalEnvironment}}
	return ev
}

const (
	pathArg = "/home/u/notes"
	hostArg = "postgresql://app:pw@db.example:5432/x"
)

func weatherPreset() (string, []string) { return "weather", []string{"api.weather.example"} }

func withArgs(ev *Evidence, args ...string) { ev.Profile.Argv = append(ev.Profile.Argv, args...) }

func withVariable(ev *Evidence, name, value string) {
	ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: name, Value: value, Secret: true, Rule: "--env " + name})
}

// TestKnownSilent: errors of tools that have a cause of their own stay as they are, although an
// argument, a variable or a preset is known beside them.
func TestKnownSilent(t *testing.T) {
	for _, text := range []string{
		// Answers of services.
		`GitHub API error: Not Found (404)`,
		`Request failed with status code 404`,
		`Request failed with status code 500`,
		`HTTP 429 Too Many Requests`,
		`Error: 403 Forbidden: you do not have access to this project`,
		`Failed to fetch https://docs.example.org/page: HTTP 404 Not Found`,
		`Slack API error: channel_not_found`,
		`Notion API: Could not find page with ID: 5ff. Make sure the relevant pages are shared with your integration.`,
		`Entity not found: Alice`,
		`Issue #42 does not exist`,
		`No results found for query "weather"`,
		`relation "users" does not exist`,
		`column "nme" does not exist`,
		`duplicate key value violates unique constraint "users_pkey"`,
		`syntax error at or near "SELEC"`,
		`no such table: people`,
		// Wrong arguments.
		`MCP error -32602: Invalid arguments for tool read_file: [{"code":"invalid_type","expected":"string","received":"undefined","path":["path"],"message":"Required"}]`,
		"1 validation error for call[add]\na\n  Input should be a valid integer [type=int_parsing]",
		`Unknown tool: serach`,
		`Input validation error: 'city' is a required property`,
		`Error executing tool convert: Invalid timezone: 'Mars/Olympus'`,
		`Invalid URL: foo`,
		`date must be in YYYY-MM-DD format`,
		`Error: edits[0].oldText: could not find exact match for edit`,
		`ENOENT: no such file or directory, open 'draft.txt'`,
		`File not found: report.csv`,
		`Error: path is a directory: src`,
		// Faults of the server, and of what it drives.
		`TypeError: Cannot read properties of undefined (reading 'map')`,
		`Error executing tool plot: 'NoneType' object has no attribute 'shape'`,
		`list index out of range`,
		`TimeoutError: page.click: Timeout 30000ms exceeded waiting for locator('#submit')`,
		`Element with selector ".x" not found`,
		`fatal: your current branch 'main' does not have any commits yet`,
		`nothing to commit, working tree clean`,
		`Command failed with exit code 1`,
		`rate limit exceeded, retry after 30s`,
		`The model is overloaded. Please try again later.`,
		`Thought 5 is out of range`,
		`You have reached your monthly quota`,
		`Access denied - path outside allowed directories: /etc/passwd not in /home/u/work`,
	} {
		ev := knownEvidence(text)
		withArgs(&ev, pathArg, "--db", hostArg)
		withVariable(&ev, "THING_PATH", "/data/notes/x.md")
		withVariable(&ev, "THING_URL", "https://api.thing.example/v1")
		ev.Preset = weatherPreset
		if d := Diagnose(ev); !d.Silent() && !strings.Contains(d.Cause, "does not exist on this host either") && !strings.Contains(d.Cause, "outside") {
			t.Errorf("%q\n%s", text, d.Text())
		}
		if d := Diagnose(ev); len(d.Words) > 0 {
			t.Errorf("%q: proposes %q", text, d.Words)
		}
	}
}

// TestKnownTold: where the words of a failure name nothing, what is known and fits them is told.
func TestKnownTold(t *testing.T) {
	started := func(ev *Evidence) { ev.Stage, ev.Tool, ev.Method, ev.Exit = StageStartup, "", "", &Exit{Code: 1} }
	ends := func(args ...string) func(*Evidence) {
		return func(ev *Evidence) { started(ev); withArgs(ev, args...) }
	}
	args := func(args ...string) func(*Evidence) { return func(ev *Evidence) { withArgs(ev, args...) } }
	variable := func(name, value string) func(*Evidence) {
		return func(ev *Evidence) { withVariable(ev, name, value) }
	}
	plain := func(*Evidence) {}
	nameless := []policy.Denial{{Axis: policy.AxisNet, Operation: "resolve", Count: 1}}
	moved := func(word string) func(*Evidence) {
		return func(ev *Evidence) {
			started(ev)
			withArgs(ev, word)
			ev.StartDir, ev.Profile.Dir, ev.Profile.Workspace, ev.Profile.Default = "/home/u/work", ev.Profile.Home, "", false
			ev.Profile.Entries = slices.DeleteFunc(ev.Profile.Entries, func(e policy.Entry) bool { return policy.Within(e.Path, "/home/u/work") })
		}
	}
	preset := func(ev *Evidence) { ev.Preset = weatherPreset }
	for _, tt := range []struct {
		name, text string
		change     func(*Evidence)
		sure       Attribution
		flags      string
	}{
		// A path of the arguments or of a variable.
		{"a class path", "Error: Could not find or load main class S\nCaused by: java.lang.ClassNotFoundException: S", ends("-cp", pathArg), Likely, "--read ~/notes"},
		{"no words at all", "", ends(pathArg), Possible, "--read ~/notes"},
		{"words that say little", "Error: initialization failed", ends("--vault=" + pathArg), Possible, "--read ~/notes"},
		{"usage at the start", "Usage: server <directory>", func(ev *Evidence) { ends(pathArg)(ev) }, None, ""},
		{"a file of a variable", "Error: OAuth keys file not found. Please place it there.", func(ev *Evidence) { started(ev); withVariable(ev, "OAUTH_PATH", "/data/notes/x.md") }, Likely, "--read /data/notes/x.md"},
		{"a call without a name", "ENOENT: no such file or directory", args(pathArg), Likely, "--read ~/notes"},
		{"a call, permission", "Permission denied", args(pathArg), Likely, "--read ~/notes"},
		{"a call, the file's name", "Failed to load x.md", variable("THING_PATH", "/data/notes/x.md"), Likely, "--read /data/notes/x.md"},
		{"a call, a config file", "Could not load configuration", variable("THING_CONFIG", "/data/notes/x.md"), Likely, "--read /data/notes/x.md"},
		{"two paths", "could not open the database", args(pathArg, "/data/notes/x.md"), Possible, "--read ~/notes --read /data/notes/x.md"},
		{"a call with words of something else", "boom", args(pathArg), None, ""},
		{"credentials at the start", "Error: Unauthorized", ends(pathArg), Possible, "--env WEATHER_API_KEY"},
		{"a crash", "", func(ev *Evidence) { ends(pathArg, hostArg)(ev); ev.Exit = &Exit{Signal: 11, Code: 139} }, None, ""},
		// A host of the arguments or of a variable.
		{"an empty message", "", args(hostArg), Possible, "--net db.example:5432"},
		{"an empty message of FastMCP", "Error executing tool query: ", args(hostArg), Possible, "--net db.example:5432"},
		{"AggregateError", "AggregateError", args(hostArg), Possible, "--net db.example:5432"},
		{"fetch failed", "TypeError: fetch failed", variable("N8N_API_URL", "https://n8n.example.com/api/v1"), Likely, "--net n8n.example.com"},
		{"a connection error", "Connection error.", variable("API_BASE", "https://llm.example/v1"), Likely, "--net llm.example"},
		{"a time-out of a connection", "Connection terminated due to connection timeout", args(hostArg), Likely, "--net db.example:5432"},
		{"a hang up", "socket hang up", args("--url=http://api.example:8080/x"), Likely, "--net api.example:8080"},
		{"a host by its variable", "could not connect to server", func(ev *Evidence) { withVariable(ev, "PGHOST", "db.example") }, Likely, "--net db.example:5432"},
		{"a host and a port", "connection failed", func(ev *Evidence) { withVariable(ev, "DB_HOST", "db.example"); withVariable(ev, "DB_PORT", "6543") }, Likely, "--net db.example:6543"},
		{"a connection string", "Connection failed", args("host=db.example port=5433 user=a"), Likely, "--net db.example:5433"},
		{"jdbc", "Connection failed", args("jdbc:postgresql://db.example:5432/x"), Likely, "--net db.example:5432"},
		{"an option", "Server selection timed out after 30000 ms", args("--host", "mongo.example", "--x"), Likely, "--net mongo.example"},
		{"two hosts", "fetch failed", args("https://a.example", "https://b.example"), Possible, "--net a.example --net b.example"},
		{"a start that waits", "", func(ev *Evidence) {
			started(ev)
			ev.Exit, ev.Timeout = nil, time.Minute
			withArgs(ev, "https://mcp.example/sse")
		}, Possible, "--net mcp.example"},
		{"a call that waits", "", func(ev *Evidence) { ev.Timeout = time.Minute; withArgs(ev, hostArg) }, Possible, "--net db.example:5432"},
		{"a call that waits, and says what is wrong", "TypeError: x is not a function", func(ev *Evidence) { ev.Timeout = time.Minute; withArgs(ev, hostArg) }, None, ""},
		{"a call that waits for a file", "could not open the database", func(ev *Evidence) { ev.Timeout = time.Minute; withArgs(ev, hostArg) }, None, ""},
		{"an end without a word", "", ends(hostArg), Possible, "--net db.example:5432"},
		{"a login that cannot connect", "Login failed: connect ETIMEDOUT", args(hostArg), Likely, "--net db.example:5432"},
		// The preset of the package.
		{"a preset", "fetch failed", preset, Likely, "--preset weather"},
		{"a preset, no words", "", preset, None, ""},
		{"a preset, a lookup without a name", "getaddrinfo EAI_AGAIN", func(ev *Evidence) { preset(ev); ev.Denials = nameless }, Certain, "--preset weather"},
		{"a preset with the refused host", "oh no", func(ev *Evidence) {
			preset(ev)
			ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "resolve", Target: "api.weather.example", Count: 1}}
		}, Certain, "--net api.weather.example"},
		{"a host, a lookup without a name", "gaierror: [Errno -3] Temporary failure in name resolution", func(ev *Evidence) { withArgs(ev, hostArg); ev.Denials = nameless }, Certain, "--net db.example:5432"},
		// A relative path, where rules have taken the workspace away.
		{"a moved script", "python3: can't open file '/home/u/.local/state/mcp-jail/homes/github/src/lib.rs': [Errno 2] No such file or directory", moved("src/lib.rs"), Likely, "--write ~/work"},
		{"a moved script, node", "Error: Cannot find module '/home/u/.local/state/mcp-jail/homes/github/src/lib.rs'", moved("src/lib.rs"), Likely, "--write ~/work"},
		{"a moved argument", "", moved("--config=src/lib.rs"), Possible, "--write ~/work"},
		{"a moved argument that is nowhere", "", moved("src/none.rs"), None, ""},
		{"a moved argument, in the whole home", "", func(ev *Evidence) { moved("notes/a.md")(ev); ev.StartDir = "/home/u" }, Possible, ""},
		{"a moved argument in a call", "could not load the configuration", func(ev *Evidence) {
			moved("src/lib.rs")(ev)
			ev.Stage, ev.Tool, ev.Method, ev.Exit = StageCall, "x", "tools/call", nil
		}, None, ""},
		{"the whole home, and no words of a file", "", ends("/home/u"), None, ""},
		{"the whole home, and words of a file", "could not open the database", args("/home/u"), Likely, ""},
		{"a call that names the variable", `could not load the file "settings" of THING_PATH`, variable("THING_PATH", "/data/notes/x.md"), Likely, "--read /data/notes/x.md"},
		{"a directory without a slash", "", moved("src"), None, ""},
		{"a relative path, and the HOME is the user's", "", func(ev *Evidence) { moved("src/lib.rs")(ev); ev.Profile.HomePrivate = false }, None, ""},
		{"a relative path, and the server has another directory", "", func(ev *Evidence) { moved("src/lib.rs")(ev); ev.Profile.Dir = "/srv" }, None, ""},
		{"a relative path that is in the private HOME, too", "", func(ev *Evidence) {
			moved("src/lib.rs")(ev)
			ev.Exists = func(p string) bool { return p == ev.Profile.Home+"/src/lib.rs" || someHost.exists(p) }
		}, None, ""},
		{"a script in a workspace", "boom", func(ev *Evidence) { started(ev); withArgs(ev, "src/lib.rs"); ev.StartDir = "/home/u/work" }, None, ""},
		// A withheld variable.
		{"the ssh agent", "Could not open a connection to your authentication agent.", plain, Likely, "--env SSH_AUTH_SOCK"},
		{"publickey", "git@example.org: Permission denied (publickey).", plain, Likely, "--env SSH_AUTH_SOCK"},
		{"the Docker daemon", "Cannot connect to the Docker daemon. Is the docker daemon running?", plain, Likely, "--env DOCKER_HOST"},
		{"kubectl", "The connection to the server localhost:8080 was refused - did you specify the right host or port?", plain, Likely, "--env KUBECONFIG"},
		{"Google", "Could not load the default credentials. Browse to https://cloud.google.com/docs for more information.", plain, Likely, "--env GOOGLE_APPLICATION_CREDENTIALS"},
		{"AWS", "Unable to locate credentials. You can configure credentials by running \"aws configure\".", plain, Likely, "--env AWS_ACCESS_KEY_ID --env AWS_SECRET_ACCESS_KEY"},
		{"a key of the service", "Error: No API key found", plain, Possible, "--env WEATHER_API_KEY"},
		{"a key of a named service", "OpenAI: 401 Unauthorized", plain, Possible, "--env OPENAI_API_KEY"},
		{"a key that is granted", "Error: No API key found", func(ev *Evidence) { withVariable(ev, "WEATHER_TOKEN", "0123456789") }, None, ""},
		{"a field of pydantic", "1 validation error for Settings\nopenai_api_key\n  Field required [type=missing, input_value={}, input_type=dict]", func(ev *Evidence) { started(ev) }, Likely, "--env OPENAI_API_KEY"},
		{"a field of pydantic with a prefix", "1 validation error for Settings\napi_key\n  Field required [type=missing, input_value={}, input_type=dict]", func(ev *Evidence) { started(ev) }, Possible, "--env WEATHER_API_KEY"},
		{"modules", "ModuleNotFoundError: No module named 'mylib'", func(ev *Evidence) { started(ev) }, Possible, "--env PYTHONPATH"},
		{"a key, by its status", "Request failed with status code 401", plain, Possible, "--env WEATHER_API_KEY"},
		{"an issue with that number", "Issue 401 not found in weather", plain, None, ""},
		{"a password of Postgres", "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string", plain, Likely, "--env PGPASSWORD"},
	} {
		ev := knownEvidence(tt.text)
		tt.change(&ev)
		if ev.Exit != nil {
			ev.Stderr, ev.Text = strings.Split(tt.text, "\n"), ""
		}
		d := Diagnose(ev)
		if strings.HasSuffix(tt.name, "in the whole home") && advised(d) != "write its absolute path: '/home/u/notes/a.md'" { // no client replaces a "~" in an argument
			t.Errorf("%s: %s", tt.name, d.Fix)
		}
		if d.Attribution != tt.sure || !slices.Equal(d.Words, strings.Fields(tt.flags)) {
			t.Errorf("%s: %s, %q", tt.name, d.Attribution, d.Words)
			t.Log(d.Text())
		}
	}
}
