//go:build linux

package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const handshake = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"hardship","version":"1"}}}` + "\n"

// crowd returns a transcript with n requests in flight at once.
func crowd(n int) *transcript {
	tr := &transcript{name: "crowd", steps: []step{{send: []byte(handshake), answers: []string{`"i"`}}}}
	var all step
	for i := range n {
		all.send = fmt.Appendf(all.send, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"ü%d"}}}`+"\n", i, i)
		all.answers = append(all.answers, strconv.Itoa(i))
	}
	tr.steps = append(tr.steps, all)
	return tr
}

func flood(n int) *transcript {
	return &transcript{name: "flood", steps: []step{
		{send: []byte(handshake), answers: []string{`"i"`}},
		{send: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log","arguments":{"lines":%d}}}`+"\n", n), answers: []string{"1"}},
	}}
}

// TestHardship replays what is hard on a relay, and compares with the bare server.
func TestHardship(t *testing.T) {
	s := here(t)
	odd := serverNamed(t, "odd")
	forms, err := readTranscript("transcripts/odd-forms.txt", s.work)
	must(t, err)
	bytewise := *forms
	bytewise.bytewise = true
	stopped := crowd(5_000)
	stopped.during = func(p *os.Process) {
		for range 5 {
			time.Sleep(30 * time.Millisecond)
			p.Signal(syscall.SIGSTOP)
			time.Sleep(200 * time.Millisecond)
			p.Signal(syscall.SIGCONT)
		}
	}
	for name, c := range map[string]struct{ direct, through *transcript }{
		"a client that writes byte by byte":  {forms, &bytewise},
		"5,000 requests in flight":           {crowd(5_000), crowd(5_000)},
		"100,000 notifications":              {flood(100_000), flood(100_000)},
		"a proxy that is stopped and let go": {crowd(5_000), stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := replayOn(t, s, c.direct, odd, plain)
			through := replayOn(t, s, c.through, odd, jailed)
			got, additions := withoutAdditions(through.stdout)
			for _, fault := range compareReplays(direct, &replay{got, through.status}) {
				t.Error(fault)
			}
			results.add(t, "transcripts", name, tally{sessions: 1, lines: bytes.Count(direct.stdout, []byte("\n")), bytes: len(direct.stdout), additions: additions})
		})
	}
}

// TestStalledReader has a client stop reading for a while: what the server must say
// waits with the server, not in the proxy, and comes whole.
func TestStalledReader(t *testing.T) {
	s := here(t)
	t.Parallel()
	odd := serverNamed(t, "odd")
	tr := flood(200_000)
	want := replayOn(t, s, tr, odd, plain)

	cmd := s.command(jailed(s, odd)...)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer cmd.Process.Kill()
	for _, st := range tr.steps {
		_, err := in.Write(st.send)
		must(t, err)
	}
	time.Sleep(3 * time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	must(t, err)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if peak == nil {
		t.Fatalf("no peak in %s", status)
	}
	if kb, _ := strconv.Atoi(string(peak[1])); kb > 40<<10 {
		t.Errorf("the proxy took %d kB while nobody read", kb)
	}
	var got []byte
	lines := bufio.NewReader(out)
	for answered := false; !answered; {
		line, err := lines.ReadBytes('\n')
		must(t, err)
		got = append(got, line...)
		answered = bytes.HasPrefix(line, []byte(`{"id":1,`))
	}
	in.Close()
	rest, err := io.ReadAll(lines)
	must(t, err)
	got = append(got, rest...)
	cmd.Wait()
	if !bytes.Equal(want.stdout, got) {
		t.Error(difference(want.stdout, got))
	}
}

// TestDeathInsideAFrame ends a server in the middle of a message. The client gets an error
// for the request, and only whole messages.
func TestDeathInsideAFrame(t *testing.T) {
	s := here(t)
	t.Parallel()
	half := server{"half", "shell", func(*site) []string {
		return []string{"sh", "-c", `read a; echo '{"jsonrpc":"2.0","id":"i","result":{}}'; read b; printf '{"jsonrpc":"2.0","id":1,"resu'; exit 9`}
	}}
	tr := &transcript{name: "half", steps: []step{
		{send: []byte(handshake), answers: []string{`"i"`}},
		{send: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"), answers: []string{"1"}},
	}}
	r := replayOn(t, s, tr, half, jailed)
	if r.status != 9 {
		t.Errorf("exit status %d, want the server's 9", r.status)
	}
	lines := strings.Split(strings.TrimSuffix(string(r.stdout), "\n"), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no message: %q", line)
		}
	}
	if len(lines) != 2 || !strings.Contains(lines[1], `"code":-31003`) || !strings.Contains(lines[1], `"id":1`) {
		t.Errorf("stdout is %q", r.stdout)
	}
}

// TestStdoutClosedWhileStderrFloods expects the exit status of a server that closes stdout
// and writes more to stderr than the client reads.
func TestStdoutClosedWhileStderrFloods(t *testing.T) {
	s := here(t)
	t.Parallel()
	flooding := server{"flooding", "Python", func(*site) []string {
		return []string{"python3", "-c", "import sys,os\nsys.stdin.readline()\nprint('{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"result\":{}}',flush=True)\nos.close(1)\nfor i in range(100000): sys.stderr.write('a line of many, number %d\\n' % i)\nsys.stderr.flush()\nos._exit(5)"}
	}}
	cmd := s.command(jailed(s, flooding)...)
	unread, theirs, err := os.Pipe()
	must(t, err)
	defer unread.Close()
	defer theirs.Close()
	cmd.Stderr = theirs
	r, err := (&transcript{steps: []step{{send: []byte(handshake), answers: []string{`"i"`}}}}).play(cmd)
	must(t, err)
	if r.status != 5 || !bytes.HasPrefix(r.stdout, []byte(`{"jsonrpc":"2.0","id":"i","result":{}}`)) {
		t.Errorf("exit status %d, want 5; stdout %q", r.status, r.stdout)
	}
}

// TestKilled kills the proxy at many moments. The kernel must end all processes of
// the jail.
func TestKilled(t *testing.T) {
	s := *here(t)
	t.Parallel()
	s.work = filepath.Join(s.base, "killed") // where the server may read its program
	must(t, os.Mkdir(s.work, 0o755))
	code, err := os.ReadFile("servers/odd.py")
	must(t, err)
	file := filepath.Join(s.work, "odd.py")
	must(t, os.WriteFile(file, code, 0o644))
	victim := server{"killed", "Python", func(*site) []string {
		// A child in another session, which no signal to a process group reaches.
		return []string{"sh", "-c", "setsid sh -c 'while :; do sleep 1; done' " + file + " & exec python3 " + file}
	}}
	var said bytes.Buffer
	begin := func() (cmd *exec.Cmd, out io.Reader) {
		cmd = s.command(jailed(&s, victim)...)
		cmd.WaitDelay = time.Second // a process that is left behind may hold stderr
		said.Reset()
		cmd.Stderr = &said
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err = cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		io.WriteString(in, handshake)
		return cmd, out
	}
	end := func(cmd *exec.Cmd) {
		must(t, cmd.Process.Kill())
		cmd.Wait()
	}
	// The moments spread over the time that a start takes here, and a third more.
	start := time.Now()
	cmd, out := begin()
	bound := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	answer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(answer, `"serverInfo"`) {
		end(cmd)
		t.Fatalf("the server answered %q: %v, %v\n%s", answer, err, cmd.ProcessState, &said)
	}
	whole := time.Since(start)
	for len(processesWith(file)) < 3 { // mcp-jail, the server and its child
		if time.Since(start) > patience {
			n := len(processesWith(file))
			end(cmd)
			t.Fatalf("never more than %d processes: %v\n%s", n, cmd.ProcessState, &said)
		}
		time.Sleep(time.Millisecond)
	}
	bound.Stop()
	end(cmd)
	moments := 20
	if longForms() {
		moments = 100
	}
	for i := range moments {
		cmd, _ := begin()
		time.Sleep(whole * 4 / 3 * time.Duration(i) / time.Duration(moments))
		end(cmd)
	}
	var left []string
	for last := time.Now().Add(patience); time.Now().Before(last); time.Sleep(100 * time.Millisecond) {
		if left = processesWith(file); len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %q", left)
}

// processesWith lists the processes with a word in their command line.
func processesWith(word string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		if argv, _ := os.ReadFile(filepath.Join(dir, "cmdline")); bytes.Contains(argv, []byte(word)) {
			found = append(found, filepath.Base(dir)+" "+string(bytes.ReplaceAll(argv, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// TestComparisonsFail puts a relay with one fault before the server, and expects every kind
// of comparison to report that fault. A relay without a fault must pass.
func TestComparisonsFail(t *testing.T) {
	s := here(t)
	odd, goSDK := serverNamed(t, "odd"), serverNamed(t, "go-sdk")

	transcript := func(name string, how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			tr, err := readTranscript(filepath.Join("transcripts", name+".txt"), s.work)
			must(t, err)
			return compareReplays(replayOn(t, s, tr, odd, plain), replayOn(t, s, tr, odd, how))
		}
	}
	library := func(name string, sv server, how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			for _, c := range clients {
				if c.name == name {
					return differences("", report(t, s, c, sv, plain), report(t, s, c, sv, how))
				}
			}
			t.Fatalf("there is no client %q", name)
			return nil
		}
	}
	inspector := func(how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			want, got := inspect(t, s, odd, plain, []string{"tools/list"}), inspect(t, s, odd, how, []string{"tools/list"})
			if bytes.Equal(want.stdout, got.stdout) {
				return nil
			}
			return []string{difference(want.stdout, got.stdout)}
		}
	}
	official := func(how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			return compareVerdicts(verdicts(t, s, suites[0], goSDK, plain), verdicts(t, s, suites[0], goSDK, how))
		}
	}
	for _, c := range []struct {
		name    string
		compare func(*testing.T) []string
		want    string // a part of the reported difference; empty: no difference
	}{
		{"transcript, in order", transcript("odd-forms", lossy("none")), ""},
		{"transcript, recoded", transcript("odd-modern", lossy("recode")), "stdout differs"},
		{"transcript, without notifications", transcript("odd-hurry", lossy("drop")), "stdout differs"},
		{"transcript, another status", transcript("odd-exit-3", lossy("status")), "exit status 0, want 3"},
		{"client, in order", library("mcpgo legacy", odd, lossy("none")), ""},
		{"client, without notifications", library("mcpgo legacy", goSDK, lossy("drop")), ".heard.notifications/message"},
		{"client, question marks", library("ts1", odd, lossy("latin")), "? ??"},
		{"inspector, in order", inspector(lossy("none")), ""},
		{"inspector, question marks", inspector(lossy("latin")), "?n?code"},
		{"suite, in order", official(lossy("none")), ""},
		{"suite, without notifications", official(lossy("drop")), "tools-call-with-progress"},
	} {
		if !strings.HasPrefix(c.name, "transcript") && !longForms() {
			continue // it starts node, or a client that plays a long session
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faults := strings.Join(c.compare(t), "\n")
			if c.want == "" && faults != "" || !strings.Contains(faults, c.want) {
				t.Errorf("faults %q, want %q", clip([]byte(faults)), c.want)
			}
			t.Logf("%.400s", faults)
		})
	}
}

// TestAdditions shows that withoutAdditions removes only what the reference promises: the
// last block of a result with isError, if the jail refused nothing.
func TestAdditions(t *testing.T) {
	const block = `,{"type":"text","text":"\n[mcp-jail] \"x\\\""}`
	for _, c := range []struct{ in, want string }{
		{`{"result":{"content":[{"type":"text","text":"a"}` + block + `],"isError":true},"id":1}`, `{"result":{"content":[{"type":"text","text":"a"}],"isError":true},"id":1}`},
		{`{"result":{"_meta":{"a":1},"content":[{}` + block + `],"isError":true},"id":1}`, `{"result":{"_meta":{"a":1},"content":[{}],"isError":true},"id":1}`},
		{`{"result":{"content":[{},{"type":"text","text":"[mcp-jail] x"}],"isError":true},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + `],"isError":true,"_meta":{"dev.mcp-jail/denials":[]}},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + `]},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + block + `],"isError":true},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + `],"isError":true,"_meta":{"dev.mcp-jail/denials":[{}]}},"id":1}`, ""},
	} {
		want, frames := c.want, 1
		if want == "" {
			want, frames = c.in, 0
		}
		if got, n := withoutAdditions([]byte(c.in)); string(got) != want || n != frames {
			t.Errorf("%s: got %s and %d, want %s", c.in, got, n, want)
		}
	}
}
