package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLogFile tests which files openLog refuses because they lead to standard output.
func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	file, err := os.Create(filepath.Join(dir, "stdout"))
	must(t, err)
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(t, err)
	defer null.Close()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	for _, c := range []struct {
		name    string
		log     string
		out     *os.File
		err     *os.File
		refused bool
	}{
		{"the file of standard output", file.Name(), file, null, true},
		{"its name", "/dev/stdout", null, stderr, true},
		{"the name of its descriptor", "/dev/fd/1", null, stderr, true},
		{"a file of both streams", file.Name(), file, file, false},
		{"another file", other, file, null, false},
		{"a device", os.DevNull, null, stderr, false},
	} {
		must(t, os.WriteFile(other, []byte(logBegin), 0o600))
		os.Stdout, os.Stderr = c.out, c.err
		f, err := openLog(c.log)
		if err == nil {
			f.Close()
		}
		if refused := err != nil; refused != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestLogBelieved: mcp-jail writes no log into what programs outside of the jail believe, and appends
// to no file that is not a log.
func TestLogBelieved(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", filepath.Join(home, "tools"))
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "ZDOTDIR"} {
		t.Setenv(v, "")
	}
	must(t, os.MkdirAll(filepath.Join(home, "project", ".git", "hooks"), 0o700))
	must(t, os.Symlink(filepath.Join(home, "project", ".git"), filepath.Join(home, "project", "link")))
	for name, text := range map[string]string{".bashrc": "# mine\n", "notes": "mine\n", "short": "{", "log": `{"time":"2026-11-30T10:00:00Z"}` + "\n", "empty": ""} {
		must(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	for _, c := range testkit.Table[struct{ log, refused string }](t, "logs.txt") {
		f, err := openLog(filepath.Join(home, c.log))
		if err == nil {
			f.Close()
		}
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.log, err, c.refused)
		}
	}
	for name, want := range map[string]string{".bashrc": "# mine\n", "notes": "mine\n"} {
		if text, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(home, ".profile")); err == nil {
		t.Error(".profile was made")
	}
}

// TestEndsBySignalOfServer tests that the parent of mcp-jail sees the wait status of the
// server, including the signal, and that mcp-jail never dumps core.
func TestEndsBySignalOfServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dumping := func(cmd *exec.Cmd) *exec.Cmd {
		out := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
		out.Dir, out.Env = w.work, cmd.Env
		return out
	}
	for _, sig := range []string{"TERM", "INT", "HUP", "KILL", "SEGV", "ABRT", "PIPE", "USR1", "ALRM"} {
		argv := []string{"sh", "-c", "# " + w.base + "/\nkill -" + sig + " $$; sleep 9"}
		bare := dumping(exec.Command(argv[0], argv[1:]...))
		bare.Run()
		want := bare.ProcessState.Sys().(syscall.WaitStatus)
		if !want.Signaled() {
			t.Fatalf("control, %s: %v", sig, bare.ProcessState)
		}
		s := start(t, dumping(w.jail(append([]string{"--"}, argv...)...)))
		s.close()
		if got := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !got.Signaled() || got.Signal() != want.Signal() || got.CoreDump() {
			t.Errorf("%s: %v, and %v without a jail\n%s", sig, s.cmd.ProcessState, bare.ProcessState, &s.stderr)
		}
	}
	s := start(t, w.jail("--", "sh", "-c", "# "+w.base+"/\nexit 143"))
	if s.close(); !s.cmd.ProcessState.Exited() || s.cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("control, a status like that of a signal: %v", s.cmd.ProcessState)
	}
}

// usesOwnFiles are command lines that need mcp-jail's own directories.
var usesOwnFiles = [][]string{
	{"run", "--", "true"}, {"plan", "--", "true"}, {"check"}, {"doctor"},
	{"wrap", "--dry-run"}, {"wrap", "--yes"}, {"unwrap", "--yes"}, {"status"}, {"install", "--", "npx", "-y", "p"}, {"status", "--all"}, {"status", "--remove", "s"}, {"status", "--remove", "--all"},
	{"trust", "project.toml"}, {"trust", "--remove", "project.toml"}, {"why", "s"}, {"undo", "s"}, {"undo", "--list", "s"}, {"undo", "--list"},
	{"__complete", "why", ""}, {"__complete", "undo", "s", ""}, {"__complete", "status", "--remove", ""},
}

var variables = regexp.MustCompile(`XDG_[A-Z]+_HOME`)

// TestForeignDirectories tests that each command refuses each of its own directories with the same
// error if another user has control over it, names the variable that chose it, and does nothing there. As root, the directory
// belongs to another user. For an ordinary user, others may write it.
func TestForeignDirectories(t *testing.T) {
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"project.toml": "", ".mcp.json": `{"mcpServers": {"m": {"command": "true"}}}`})
	shared := filepath.Join(w.base, "shared")
	must(t, os.Mkdir(shared, 0o755))
	type fault struct {
		reason string
		spoil  func() error
	}
	faults := []fault{{"may be written by other users", func() error { return os.Chmod(shared, 0o777) }}}
	if os.Geteuid() == 0 {
		foreign := func() error { return errors.Join(os.Chmod(shared, 0o755), os.Chown(shared, 12345, 12345)) }
		faults = []fault{{"belongs to user 12345", foreign}, faults[0]}
	}
	own := w.env
	for variable, role := range map[string]string{"XDG_CONFIG_HOME": "configuration", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"} {
		w.env = append(slices.Clip(own), variable+"="+shared)
		for i, f := range faults {
			reason, commands := f.reason, usesOwnFiles
			if i > 0 && !testkit.Long() {
				commands = commands[:1] // the same function judges
			}
			must(t, f.spoil())
			for _, args := range commands {
				out, err := w.mcpJail(args...).CombinedOutput()
				want := "mcp-jail's " + role + " directory " + shared + "/mcp-jail is refused: " + shared + " " + reason
				if err == nil || !strings.Contains(string(out), want) {
					t.Errorf("%s, %q: %v, %s\nwant %s", variable, args, err, out, want)
				}
				if named := variables.FindAllString(string(out), -1); strings.HasPrefix(reason, "belongs") && !slices.Equal(slices.Compact(named), []string{variable}) {
					t.Errorf("%s, %q: names %q: %s", variable, args, named, out)
				}
			}
			if entries, err := os.ReadDir(shared); err != nil || len(entries) != 0 {
				t.Errorf("%s: %v, %v", variable, entries, err)
			}
			must(t, errors.Join(os.Chown(shared, os.Geteuid(), os.Getegid()), os.Chmod(shared, 0o755)))
		}
	}
	w.env = slices.Clip(own)
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		w.env = append(w.env, "XDG_"+name+"_HOME="+shared)
	}
	for _, args := range usesOwnFiles {
		if out, _ := w.mcpJail(args...).CombinedOutput(); strings.Contains(string(out), "is refused: ") {
			t.Errorf("control: %q: %s", args, out)
		}
	}
}

// TestExplainInbound makes the example of the page about ports that lead in, adds its lines to the
// configuration, and then reaches the server as a browser does.
func TestExplainInbound(t *testing.T) {
	need(t, "/usr/bin/python3")
	t.Parallel()
	w := newWorld(t)
	w.work = filepath.Join(w.home, "project")
	w.plant(t, w.work, map[string]string{"login.py": source(t, "login.py")})
	port := freeLoopbackPort(t)
	config := fmt.Sprintf("version = 1\n[servers.notes]\ncommand = \"/usr/bin/python3\"\narguments = [%q, \"%d\"]\nstartup_timeout_secs = 0\n", filepath.Join(w.work, "login.py"), port)
	w.plant(t, w.home, map[string]string{".config/mcp-jail/config.toml": config})

	s := startLogin(t, w.jail("notes"))
	said := s.until(t, "to allow it: ")
	s.end()
	w.example(t, "inbound", strings.ReplaceAll(said, fmt.Sprint(port), "16774"), jailLines)

	if !strings.Contains(said, "mcp-jail grant notes --last") {
		t.Errorf("no command: %s", said)
	}
	config += fmt.Sprintf("[servers.notes.access]\nworkspace = \"write\"\n[[servers.notes.access.inbound]]\nport = %d\n", port)
	w.plant(t, w.home, map[string]string{".config/mcp-jail/config.toml.new": config})
	must(t, exec.Command("mv", filepath.Join(w.home, ".config/mcp-jail/config.toml.new"), filepath.Join(w.home, ".config/mcp-jail/config.toml")).Run())
	s = startLogin(t, w.jail("notes"))
	defer s.end()
	s.until(t, "Waiting for authorization")
	c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	must(t, err)
	defer c.Close()
	fmt.Fprint(c, "GET /callback HTTP/1.0\r\n\r\n")
	if got := s.out.Text(); !s.out.Scan() || !strings.Contains(s.out.Text(), `"result"`) {
		t.Errorf("answered %q, then %q", got, s.out.Text())
	}
}

// TestInboundOfTwoSessions: of two sessions of one server each is reached at the port that it has bound, and learns that
// the other one has the first. Where there is no second port, the diagnosis says to whom the port leads.
func TestInboundOfTwoSessions(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	w := newWorld(t)
	port := freeLoopbackPort(t)
	next := freeLoopbackPort(t)
	w.plant(t, w.home, map[string]string{"ports.py": source(t, "ports.py"), ".config/mcp-jail/config.toml": fmt.Sprintf(`version = 1
[servers.notes]
command = "/usr/bin/python3"
arguments = [%q, "%d", "%d"]
startup_timeout_secs = 0
[servers.notes.access]
inbound = [{ port = %[2]d }, { port = %[3]d }]
fs = [{ path = "~/ports.py", read = true }]
`, filepath.Join(w.home, "ports.py"), port, next)})
	first := startLogin(t, w.jail("notes"))
	defer first.end()
	first.until(t, fmt.Sprint("has ", port))
	second := startLogin(t, w.jail("notes"))
	defer second.end()
	second.until(t, fmt.Sprint("the one at ", port, " is first"))
	second.until(t, fmt.Sprint("has ", next))
	third := startLogin(t, w.jail("notes"))
	defer third.end()
	third.until(t, "leads to the other session of this server")
	for port, who := range map[int]string{port: "first", next: "next"} {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		must(t, err)
		defer c.Close()
		if got, err := io.ReadAll(c); string(got) != who {
			t.Errorf("port %d: %q, %v; want %s", port, got, err, who)
		}
	}
}

// loginSession is a session that has sent its first request.
type loginSession struct {
	cmd      *exec.Cmd
	out, err *bufio.Scanner
	end      func()
}

func startLogin(t *testing.T, cmd *exec.Cmd) *loginSession {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	deadline := time.AfterFunc(testkit.Patience, func() { cmd.Process.Kill() })
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	return &loginSession{cmd, bufio.NewScanner(out), bufio.NewScanner(stderr), func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
		deadline.Stop()
	}}
}

// until returns stderr up to the line that contains a text.
func (s *loginSession) until(t *testing.T, text string) (said string) {
	t.Helper()
	for s.err.Scan() {
		said += s.err.Text() + "\n"
		if strings.Contains(s.err.Text(), text) {
			return said
		}
	}
	t.Fatalf("stderr has no %q:\n%s", text, said)
	return ""
}

func freeLoopbackPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestLeaksToHosts tests the requests that a server in a jail sends to granted hosts.
func TestLeaksToHosts(t *testing.T) {
	t.Parallel()
	const value = "q7mWzp4Xc2Rk9TnB"
	encoded := base64.StdEncoding.EncodeToString([]byte("it is " + value + " and so on"))
	for _, leaks := range []string{"warn", "block"} {
		w := newWorld(t)
		host := newHosts(t, w, value, []string{internetHost})
		w.env = append(w.env, "LEAKY_TOKEN="+value)
		config := filepath.Join(w.base, "leaky.toml")
		must(t, os.WriteFile(config, fmt.Appendf(nil, `[servers.s]
command = %q
leaks = %q
variables = ["LEAKY_TOKEN"]
access.net = [{ host = %q, scheme = "https", methods = ["POST"], allow = true }, { host = "other.example", allow = true }]
`, w.copySelf(t, "sender"), leaks, internetHost), 0o644)) // a secret may go to an only host
		s := open(t, w.jail("--config", config, "s"), nil)
		for _, c := range []struct {
			place, url string
			arguments  map[string]any
		}{
			{"", "/credential", map[string]any{"authorization": "Bearer $LEAKY_TOKEN"}}, // which it is for
			{"the URL", "/url?q=" + url.QueryEscape(encoded), map[string]any{}},
			{"the body", "/body", map[string]any{"body": encoded}},
		} {
			c.arguments["url"] = "https://" + internetHost + c.url
			refused := leaks == "block" && c.place != ""
			for range 2 {
				if got := s.tool("send", c.arguments).texts(); strings.Contains(got, "403") != refused || strings.Contains(got, `leaks is "block"`) != refused {
					t.Errorf("%s, %s: %s", leaks, c.url, got)
				}
			}
			line := fmt.Sprintf("sends the value of LEAKY_TOKEN (in base64) in %s of a request to %s", c.place, internetHost)
			if n := strings.Count(s.stderr.String(), line); (n == 1) != (leaks == "warn" && c.place != "") {
				t.Errorf("%s, %s: told %d times: %s", leaks, c.place, n, &s.stderr)
			}
		}
		s.close()
		if told := host.requests(t); (leaks == "warn") != (strings.Count(told, "\n") == 6) {
			t.Errorf("%s: the host was told %s%s", leaks, told, &s.stderr)
		}
		if why := w.output(t, "why", "s", "--format", "json"); strings.Contains(why+s.stderr.String(), value) || leaks == "block" && !strings.Contains(why, `"leak"`) {
			t.Error(why)
		}
	}
}
