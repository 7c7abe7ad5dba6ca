//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
)

// The tests in real_*_test.go start real servers and real programs, in jails and
// outside of them, and compare. The servers are those of testdata/npm.

// patience bounds every wait. It is no measure of anything.
const patience = 90 * time.Second

// need skips a test for the want of something, unless MCPJAIL_REQUIRE lists it.
func need(t *testing.T, things ...string) {
	t.Helper()
	for _, thing := range things {
		why := ""
		switch thing {
		case "jail":
			for _, name := range []string{"landlock", "seccomp", "userns", "mount_api", "fresh_proc"} {
				if f, err := confine.Probe().Has(name); err != nil || f.Answer != confine.Yes {
					thing, why = name, "this host does not have it: "+f.Detail
				}
			}
		case "npm": // the servers, and what runs them
			if os.Getenv("MCPJAIL_SERVERS") == "" {
				why = "MCPJAIL_SERVERS does not name a directory with the servers of testdata/npm; testdata/test.sh installs them"
				break
			}
			if _, err := exec.LookPath("npm"); err != nil {
				why = err.Error()
				break
			}
			fallthrough
		case "node":
			if _, err := exec.LookPath("node"); err != nil {
				why = err.Error()
			}
		default:
			if _, err := exec.LookPath(thing); err != nil {
				why = err.Error()
			}
		}
		if why == "" {
			continue
		}
		if required(thing) {
			t.Fatalf("MCPJAIL_REQUIRE lists %s: %s", thing, why)
		}
		t.Skipf("needs %s: %s", thing, why)
	}
}

// server is the program of an installed server.
func server(name string) string {
	return filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules", name, "dist", "index.js")
}

const (
	everything = "@modelcontextprotocol/server-everything"
	filesystem = "@modelcontextprotocol/server-filesystem"
	oldFiles   = "filesystem-2025-3-28"
	memory     = "@modelcontextprotocol/server-memory"
	thinking   = "@modelcontextprotocol/server-sequential-thinking"
)

// built is mcp-jail as users have it. Where it cannot be built, since the test
// binary was compiled elsewhere, the test binary stands in (see asEnv).
var built = sync.OnceValue(func() string {
	file := filepath.Join(os.TempDir(), "bin", "real", "mcp-jail") // TestMain removes it
	cmd := exec.Command("go", "build", "-o", file, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off")
	if cmd.Run() != nil {
		return ""
	}
	return file
})

// world is the part of the file system that one test plays in. Its path is in
// the command line or in the environment of every process of the test.
type world struct {
	base string // everything
	home string // the user's
	work string // the workspace
	env  []string
}

func newWorld(t *testing.T) *world { return newWorldIn(t, "/var/tmp") }

func newWorldIn(t *testing.T, parent string) *world {
	t.Helper()
	need(t, "jail")
	base, err := os.MkdirTemp(parent, "mcp-jail-real-")
	must(t, err)
	must(t, os.Chmod(base, 0o755))
	w := &world{base: base, home: filepath.Join(base, "home"), work: filepath.Join(base, "work")}
	w.env = []string{
		"PATH=" + userPath(), "HOME=" + w.home, "USER=tester", "LANG=C.UTF-8", "PLANTED_SECRET=hunter2",
	}
	must(t, errors.Join(os.Mkdir(w.home, 0o755), os.Mkdir(w.work, 0o755)))
	w.plant(t, w.home, map[string]string{".ssh/id_ed25519": "a private key", "notes.txt": "at home"})
	t.Cleanup(func() {
		w.noneLeft(t)
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	return w
}

// userPath is PATH without the programs of the scripts, such as a tty of theirs.
func userPath() string {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return os.TempDir() != "/tmp" && strings.HasPrefix(dir, os.TempDir()+"/")
	})
	return strings.Join(dirs, ":")
}

// plant writes files below dir. A name that ends in a slash is a directory.
func (w *world) plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(file, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
}

// fixture copies a server of testdata/real into the world.
func (w *world) fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "real", name))
	must(t, err)
	w.plant(t, w.base, map[string]string{"server/" + name: string(b)})
	return filepath.Join(w.base, "server", name)
}

// processes are those of this world that are alive.
func (w *world) processes() (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if len(argv) > 0 && (bytes.Contains(argv, []byte(w.base+"/")) || bytes.Contains(env, []byte(w.base+"/"))) {
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(argv), "\x00", " "))
		}
	}
	return found
}

// noneLeft fails when a process of this world outlives its session. The kernel
// needs a moment to end a jail.
func (w *world) noneLeft(t *testing.T) {
	t.Helper()
	var left []string
	for range 100 {
		if left = w.processes(); len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	for _, p := range left {
		pid, _, _ := strings.Cut(p, " ")
		if n, err := strconv.Atoi(pid); err == nil {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// jail is the command  mcp-jail run ARG...
func (w *world) jail(args ...string) *exec.Cmd { return w.mcpJail(append([]string{"run"}, args...)...) }

// mcpJail is the command  mcp-jail ARG...
func (w *world) mcpJail(args ...string) *exec.Cmd {
	program, env := built(), w.env
	if program == "" {
		program, env = os.Args[0], append(slices.Clip(env), asEnv+"=mcp-jail")
		if abs, err := filepath.Abs(program); err == nil {
			program = abs
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.work, env
	return cmd
}

// plain is a command that nothing confines.
func (w *world) plain(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.env
	return cmd
}

// say runs a command of mcp-jail that ends by itself.
func (w *world) say(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.mcpJail(args...).Output()
	if err != nil {
		t.Fatalf("mcp-jail %s: %v: %s", strings.Join(args, " "), err, stderrOf(err))
	}
	return string(out)
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// message is one JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// session is an MCP client and the process it talks to.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr lockedBuffer
	gone   chan struct{} // stdout has ended
	ended  chan struct{} // the process has
	answer func(message) any

	mu      sync.Mutex
	next    int
	pending map[string]chan message
	heard   []message // notifications
	asked   []message // requests of the server
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a client's session without a word.
func start(t *testing.T, cmd *exec.Cmd) *session {
	t.Helper()
	s := &session{t: t, cmd: cmd, gone: make(chan struct{}), ended: make(chan struct{}), pending: map[string]chan message{}}
	var err error
	s.in, err = cmd.StdinPipe()
	must(t, err)
	out, theirs, err := os.Pipe()
	must(t, err)
	cmd.Stdout, cmd.Stderr = theirs, &s.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Start()
	theirs.Close()
	must(t, err)
	go func() {
		defer close(s.gone)
		defer out.Close()
		s.read(out)
	}()
	go func() {
		defer close(s.ended)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		select {
		case <-s.ended:
		default: // the test has failed, or this is a plain server
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-s.ended
		}
	})
	return s
}

func (s *session) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var m message
		switch {
		case err != nil:
			return
		case json.Unmarshal(line, &m) != nil:
			s.t.Errorf("stdout carries what is no message: %q", line)
			continue
		}
		s.mu.Lock()
		switch {
		case m.Method != "" && m.ID != nil:
			s.asked = append(s.asked, m)
			if s.answer != nil {
				if result := s.answer(m); result != nil {
					s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
				}
			}
		case m.Method != "":
			s.heard = append(s.heard, m)
		case s.pending[string(m.ID)] != nil:
			s.pending[string(m.ID)] <- m
			delete(s.pending, string(m.ID))
		default:
			s.t.Errorf("an answer to what was not asked: %s", line)
		}
		s.mu.Unlock()
	}
}

// send writes one message.
func (s *session) send(m any) {
	b, err := json.Marshal(m)
	if err == nil {
		_, err = s.in.Write(append(b, '\n'))
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		s.t.Errorf("send: %v", err)
	}
}

// request sends a request; the channel will hold its answer.
func (s *session) request(method string, params any) <-chan message {
	s.mu.Lock()
	id := s.next
	s.next++
	c := make(chan message, 1)
	s.pending[strconv.Itoa(id)] = c
	s.mu.Unlock()
	if m, ok := params.(map[string]any); params == nil || ok && m == nil {
		params = struct{}{}
	}
	s.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return c
}

// call sends a request and waits for its answer.
func (s *session) call(method string, params any) message {
	s.t.Helper()
	c := s.request(method, params)
	select {
	case m := <-c:
		return m
	case <-s.gone:
	case <-time.After(patience):
	}
	select {
	case m := <-c:
		return m
	default:
	}
	s.t.Fatalf("%s was not answered\nstderr: %s", method, &s.stderr)
	return message{}
}

// result is the result of a request that must have one.
func (s *session) result(method string, params any) json.RawMessage {
	s.t.Helper()
	m := s.call(method, params)
	if m.Error != nil {
		s.t.Fatalf("%s: %s\nstderr: %s", method, m.Error, &s.stderr)
	}
	return m.Result
}

// open starts a session and shakes hands. capabilities are the client's; nil is none.
func open(t *testing.T, cmd *exec.Cmd, capabilities map[string]any) *session {
	t.Helper()
	s := start(t, cmd)
	s.hello(capabilities)
	return s
}

func (s *session) hello(capabilities map[string]any) json.RawMessage {
	s.t.Helper()
	if capabilities == nil {
		capabilities = map[string]any{}
	}
	r := s.result("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": capabilities,
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return r
}

// toolResult is what tests look at in the result of a tool.
type toolResult struct {
	raw     json.RawMessage
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// texts is all of the text.
func (r toolResult) texts() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// tool calls a tool. A JSON-RPC error counts as a result that failed.
func (s *session) tool(name string, arguments any) toolResult {
	s.t.Helper()
	if m, ok := arguments.(map[string]any); arguments == nil || ok && m == nil {
		arguments = struct{}{}
	}
	m := s.call("tools/call", map[string]any{"name": name, "arguments": arguments})
	r := toolResult{raw: m.Result}
	if m.Error != nil {
		r.raw, r.IsError = m.Error, true
		r.Content = append(r.Content, struct {
			Text string `json:"text"`
		}{string(m.Error)})
		return r
	}
	must(s.t, json.Unmarshal(m.Result, &r))
	return r
}

// tools are the names of the tools, sorted.
func (s *session) tools() []string {
	s.t.Helper()
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	must(s.t, json.Unmarshal(s.result("tools/list", nil), &list))
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// notes are the notifications of a method so far, after waiting for n of them.
func (s *session) notes(method string, n int) []message {
	s.t.Helper()
	var found []message
	eventually(s.t, fmt.Sprintf("%d × %s", n, method), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		found = nil
		for _, m := range s.heard {
			if m.Method == method {
				found = append(found, m)
			}
		}
		return len(found) >= n
	})
	return found
}

// close ends the session as clients do and returns the exit status.
func (s *session) close() int {
	s.t.Helper()
	s.in.Close()
	return s.wait()
}

// wait waits for the end of the process.
func (s *session) wait() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("%v did not end\nstderr: %s", s.cmd.Args, &s.stderr)
	}
	return s.cmd.ProcessState.ExitCode()
}

// run starts a program by the tool of the exec servers.
func (s *session) run(argv ...string) (string, bool) {
	s.t.Helper()
	r := s.tool("run", map[string]any{"argv": argv})
	return r.texts(), !r.IsError
}

// runs is run for what must succeed.
func (s *session) runs(argv ...string) string {
	s.t.Helper()
	out, ok := s.run(argv...)
	if !ok {
		s.t.Errorf("%q failed: %s", argv, out)
	}
	return out
}

// refused is run for what must fail, in words that hold why.
func (s *session) refused(why string, argv ...string) string {
	s.t.Helper()
	out, ok := s.run(argv...)
	if ok || !strings.Contains(out, why) {
		s.t.Errorf("%q: want a failure that says %q, got (succeeded: %v): %s", argv, why, ok, out)
	}
	return out
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("it never came to this: %s", what)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	return string(b)
}

// snapshot is every file below dir with its content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch d.Type() {
		case 0:
			b, err := os.ReadFile(path)
			files[name] = string(b)
			return err
		case os.ModeSymlink:
			to, err := os.Readlink(path)
			files[name] = "-> " + to
			return err
		}
		files[name] = d.Type().String()
		return nil
	}))
	return files
}

var clocks = regexp.MustCompile(`\d\d?:\d\d:\d\d( [AP]M)?|\d{4}-\d\d-\d\dT[0-9:.]+Z|(Sun|Mon|Tue|Wed|Thu|Fri|Sat) [A-Z][a-z]{2} \d\d \d{4} `)

// timeless replaces times of day and dates, which must differ.
func timeless(s string) string { return clocks.ReplaceAllString(s, "TIME") }
