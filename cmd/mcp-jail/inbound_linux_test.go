package main

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// loginServer waits for a browser before it answers, as mcp-remote does.
const loginServer = `import socket, sys
port = int(sys.argv[1])
s = socket.socket()
s.bind(("127.0.0.1", port))
s.listen()
print("Please authorize this client by visiting:", file=sys.stderr)
print("https://login.example.com/authorize?redirect_uri=http%3A%2F%2Flocalhost%3A" + str(port) + "%2Fcallback", file=sys.stderr)
print("Waiting for authorization...", file=sys.stderr, flush=True)
c, _ = s.accept()
c.recv(100)
c.close()
sys.stdin.readline()
print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)
sys.stdin.read()
`

// TestExplainInbound makes the example of the page about ports that lead in, adds its lines to the
// configuration, and then reaches the server as a browser does.
func TestExplainInbound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.work = filepath.Join(w.home, "project")
	w.plant(t, w.work, map[string]string{"login.py": loginServer})
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
