//go:build linux

package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite RESULTS.md")

// patience bounds every wait. No test measures time by it.
const patience = 5 * time.Minute

// A site has the programs and the workspace of all tests.
type site struct {
	base, bin, work, home string

	env     []string // of every client, bare server and mcp-jail
	jail    string   // mcp-jail
	node    string   // at least 22, for the clients and the suite
	modules string   // node_modules of npm/
	servers string   // node_modules of testdata/npm
}

var (
	once     sync.Once
	shared   *site
	siteErr  error
	scratch  string // removed at the end
	required = strings.Split(os.Getenv("MCPJAIL_REQUIRE"), ",")
)

func TestMain(m *testing.M) {
	flag.Parse()
	status := m.Run()
	if *update && status == 0 {
		if err := results.write(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	if scratch != "" {
		os.RemoveAll(scratch)
	}
	os.Exit(status)
}

// here returns the site. If a program is missing, it skips the test, or fails it if
// MCPJAIL_REQUIRE lists the program.
func here(t *testing.T) *site {
	t.Helper()
	for _, name := range []string{"MCPJAIL_SERVERS", "MCPJAIL_CONFORMANCE"} {
		if os.Getenv(name) == "" {
			lacks(t, "npm", name+" names no directory with packages from npm; make test installs them")
		}
	}
	for _, program := range []string{"node", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			lacks(t, program, err.Error())
		}
	}
	once.Do(func() { shared, siteErr = build() })
	var no *noJail
	if errors.As(siteErr, &no) {
		lacks(t, "userns", no.Error())
	}
	must(t, siteErr)
	return shared
}

func lacks(t *testing.T, feature, why string) {
	t.Helper()
	// npm stands for all packages from npm, userns for everything that a jail needs.
	if slices.Contains(required, feature) {
		t.Fatalf("MCPJAIL_REQUIRE lists %s: %s", feature, why)
	}
	t.Skipf("needs %s: %s", feature, why)
}

// longForms reports whether the comparisons of make test-long are made. RESULTS.md counts
// everything.
func longForms() bool { return os.Getenv("MCPJAIL_LONG") == "1" || *update }

// needsLong skips a test that only make test-long runs.
func needsLong(t *testing.T) {
	t.Helper()
	if !longForms() {
		t.Skip("make test-long runs it (MCPJAIL_LONG=1)")
	}
}

// noJail is the error of a host that cannot build a jail.
type noJail struct{ doctor string }

func (e *noJail) Error() string { return "mcp-jail doctor: " + e.doctor }

func build() (*site, error) {
	// Not below /tmp: a jail has its own.
	base, err := os.MkdirTemp(cmp.Or(os.Getenv("MCPJAIL_TEST_DIR"), "/var/tmp"), "mcp-jail-conformance-")
	if err != nil {
		return nil, err
	}
	scratch = base
	s := &site{
		base: base, bin: filepath.Join(base, "bin"), work: filepath.Join(base, "work"), home: filepath.Join(base, "home"),
		modules: filepath.Join(os.Getenv("MCPJAIL_CONFORMANCE"), "node_modules"),
		servers: filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules"),
	}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "USER=tester", "LANG=C.UTF-8"}
	architecture := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	s.node = filepath.Join(s.modules, "node-linux-"+architecture, "bin", "node")
	if _, err := os.Stat(s.node); err != nil {
		s.node = "node"
	}
	if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(s.bin, 0o755), os.Mkdir(s.home, 0o755), s.plant(), s.configure()); err != nil {
		return nil, err
	}
	if err := s.compile(); err != nil {
		return nil, err
	}
	if out, err := s.command(s.jail, "doctor").CombinedOutput(); err != nil {
		return nil, &noJail{doctor: string(out)}
	}
	return s, nil
}

// compile builds the Go programs: those of this module and of its tools, and those
// of the module around it. MCPJAIL_PROGRAM names an mcp-jail to test instead.
func (s *site) compile() error {
	s.jail = os.Getenv("MCPJAIL_PROGRAM")
	around := []string{"./examples/servers/notes"}
	if s.jail == "" {
		s.jail = filepath.Join(s.bin, "mcp-jail")
		around = append(around, "./cmd/mcp-jail", "./cmd/mcp-jail-cli")
	}
	for dir, packages := range map[string][]string{
		"..": around,
		".": {
			"./clients/gosdk", "./clients/mcpgo", "./bridge", "./lossy",
			"github.com/mark3labs/mcp-go/examples/everything",
			"github.com/modelcontextprotocol/go-sdk/conformance/everything-server",
		},
	} {
		cmd := exec.Command("go", append([]string{"build", "-o", s.bin + "/"}, packages...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w: %s", strings.Join(packages, " "), err, out)
		}
	}
	return nil
}

// plant makes the workspace, and copies the clients beside their libraries.
func (s *site) plant() error {
	files := map[string]string{
		"work/notes/garden.md": "# Garden\nsow the beans in May – ünïcode 🙂\n",
		"work/notes/large.md":  strings.Repeat("a long line of a long note – ü 🙂\n", 110_000), // twice in an answer, and still below 10 MiB,
		"work/plain.txt":       "plain\r\nwords\n",
		"work/ünï cöde 🙂.txt":  "a name of its own\n",
		"work/empty/.keep":     "",
	}
	for _, c := range clients { // a note to replace, so that sessions may run in any order
		files["work/notes/"+c.dashed()+".md"] = "# Garden\nsow the turnips in June – 🙂\n"
	}
	for _, dir := range []string{"clients", "servers"} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) == ".go" {
				return err
			}
			b, err := os.ReadFile(filepath.Join(dir, name))
			files[dir+"/"+name] = string(b)
			return err
		})
		if err != nil {
			return err
		}
	}
	for name, content := range files {
		name = filepath.Join(s.base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			return err
		}
	}
	return os.Symlink(s.modules, filepath.Join(s.base, "clients", "node_modules"))
}

// command returns a command with the environment that all programs get.
func (s *site) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.work, s.env
	return cmd
}

// output runs a command until it ends, and returns its output.
func (s *site) output(t *testing.T, stdin []byte, argv ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.work, s.env
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, clip(stdout.Bytes()), clip(stderr.Bytes()))
	}
	return stdout.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clip shortens the text of a message.
func clip(b []byte) []byte {
	if len(b) > 4000 {
		return append(b[:4000:4000], "…\n"...)
	}
	return b
}

// A server is a program that speaks MCP on its standard input and output.
type server struct {
	name string
	made string // the library
	argv func(*site) []string
}

// servers have four implementations: the TypeScript SDK, mcp-go, the Go SDK, and one
// without a library.
var servers = []server{
	{"everything", "TypeScript SDK 1.x", func(s *site) []string {
		return []string{"node", filepath.Join(s.servers, "@modelcontextprotocol/server-everything/dist/index.js"), "stdio"}
	}},
	{"filesystem", "TypeScript SDK 1.x", func(s *site) []string {
		return []string{"node", filepath.Join(s.servers, "@modelcontextprotocol/server-filesystem/dist/index.js"), s.work}
	}},
	{"mcp-go", "mcp-go", func(s *site) []string { return []string{filepath.Join(s.bin, "everything")} }},
	{"notes", "mcp-go", func(s *site) []string { return []string{filepath.Join(s.bin, "notes"), filepath.Join(s.work, "notes")} }},
	{"go-sdk", "Go SDK", func(s *site) []string { return []string{filepath.Join(s.bin, "everything-server")} }},
	{"odd", "Python, no library", func(s *site) []string { return []string{"python3", filepath.Join(s.base, "servers", "odd.py")} }},
}

func serverNamed(t *testing.T, name string) server {
	t.Helper()
	for _, sv := range servers {
		if sv.name == name {
			return sv
		}
	}
	t.Fatalf("there is no server %q", name)
	return server{}
}

// A side is a way to start a server.
type side func(*site, server) []string

// plain starts the server itself.
func plain(s *site, sv server) []string { return sv.argv(s) }

// jailed starts the server behind mcp-jail, with the default policy.
func jailed(s *site, sv server) []string {
	return append([]string{s.jail, "run", "--workspace", s.work, "--name", "conformance-" + sv.name, "--"}, sv.argv(s)...)
}

// stateless starts the server behind mcp-jail with a process for every call, the default
// policy, and the given number of warm workers for each tool.
func stateless(warm int) side {
	return func(s *site, sv server) []string {
		return []string{s.jail, "run", "--config", filepath.Join(s.base, fmt.Sprintf("warm-%d.toml", warm)), fmt.Sprintf("conformance-%s-%d", sv.name, warm)}
	}
}

// configure writes the configurations of the stateless servers.
func (s *site) configure() error {
	for _, warm := range []int{0, 1} {
		var b strings.Builder
		for _, sv := range append(servers, long...) {
			argv := sv.argv(s)
			arguments := make([]string, 0, len(argv))
			for _, a := range argv[1:] {
				arguments = append(arguments, strconv.Quote(a))
			}
			fmt.Fprintf(&b, "[servers.conformance-%s-%d]\nstateful = false\nwarm = %d\nworkspace = %q\ncommand = %q\narguments = [%s]\n",
				sv.name, warm, warm, s.work, argv[0], strings.Join(arguments, ", "))
		}
		if err := os.WriteFile(filepath.Join(s.base, fmt.Sprintf("warm-%d.toml", warm)), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// lossy starts the server behind a relay with a fault.
func lossy(fault string) side {
	return func(s *site, sv server) []string {
		return append([]string{filepath.Join(s.bin, "lossy"), fault}, sv.argv(s)...)
	}
}

// A tally counts comparisons without a difference.
type tally struct {
	sessions, lines, bytes, answers, verdicts, additions, departures int
}

func (n *tally) add(more tally) {
	n.sessions += more.sessions
	n.lines += more.lines
	n.bytes += more.bytes
	n.answers += more.answers
	n.verdicts += more.verdicts
	n.additions += more.additions
	n.departures += more.departures
}

// ledger collects tallies by the kind of comparison and by its subject.
type ledger struct {
	mu   sync.Mutex
	rows map[[2]string]tally
}

var results = ledger{rows: map[[2]string]tally{}}

// add counts a comparison if the test has not failed.
func (l *ledger) add(t *testing.T, kind, what string, n tally) {
	t.Helper()
	if t.Failed() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.rows[[2]string{kind, what}]
	row.add(n)
	l.rows[[2]string{kind, what}] = row
}

// of returns the rows of one kind, by name, and their sum.
func (l *ledger) of(kind string) (names []string, rows map[string]tally, sum tally) {
	rows = map[string]tally{}
	for key, n := range l.rows {
		if key[0] == kind {
			rows[key[1]] = n
			sum.add(n)
		}
	}
	return slices.SortedFunc(maps.Keys(rows), cmp.Compare[string]), rows, sum
}

func (l *ledger) table() string {
	var b strings.Builder
	b.WriteString("# What was compared\n\n" +
		"Written by `go test -update` in this directory. Each comparison was made with the bare server on one side and the same server behind `mcp-jail run`\n" +
		"on the other. **Differences: 0.** (A difference fails the test, and then this file is not written.)\n\n" +
		"*Additions* are results with `isError` that carry what the reference promises under “Answers to tool calls”: they were equal once exactly that was taken out.\n")
	section := func(kind, head, columns string, row func(tally) string) {
		names, rows, sum := l.of(kind)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%s\n", head, columns, strings.Repeat("|---", strings.Count(columns, "|")-1)+"|")
		for _, name := range names {
			fmt.Fprintf(&b, "| %s %s\n", name, row(rows[name]))
		}
		fmt.Fprintf(&b, "| **all** %s\n", row(sum))
	}
	section("transcripts", "Transcripts: stdout and exit status, byte for byte",
		"| server | transcripts | lines of the server | bytes | additions |",
		func(n tally) string {
			return fmt.Sprintf("| %d | %d | %d | %d |", n.sessions, n.lines, n.bytes, n.additions)
		})
	section("clients", "Client libraries: what they report, deeply equal",
		"| client → server | sessions | answers | additions |",
		func(n tally) string { return fmt.Sprintf("| %d | %d | %d |", n.sessions, n.answers, n.additions) })
	section("stateless", "Client libraries, with a process for every call: what they report, deeply equal but for the departures",
		"| client → server | sessions | answers | additions | departures |",
		func(n tally) string {
			return fmt.Sprintf("| %d | %d | %d | %d |", n.sessions, n.answers, n.additions, n.departures)
		})
	b.WriteString("\nThe departures, each of which was seen:\n\n| server | where | why |\n|---|---|---|\n")
	for _, d := range departures {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", cmp.Or(d.server, "any"), d.at[1:], d.why)
	}
	section("inspector", "The Inspector's command line: output, byte for byte",
		"| server | commands | bytes |",
		func(n tally) string { return fmt.Sprintf("| %d | %d |", n.sessions, n.bytes) })
	section("suite", "The official conformance suite: verdicts",
		"| suite, server | scenarios | verdicts |",
		func(n tally) string { return fmt.Sprintf("| %d | %d |", n.sessions, n.verdicts) })
	return b.String()
}

// write writes the table if every kind of comparison was made.
func (l *ledger) write() error {
	for _, kind := range []string{"transcripts", "clients", "stateless", "inspector", "suite"} {
		if _, _, sum := l.of(kind); sum == (tally{}) {
			return fmt.Errorf("no comparison of kind %s was made: RESULTS.md stays as it was", kind)
		}
	}
	return os.WriteFile("RESULTS.md", []byte(l.table()), 0o644)
}
