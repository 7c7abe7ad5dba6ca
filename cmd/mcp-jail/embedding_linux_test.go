package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// lastLine returns how the last line of a log says that a session has ended.
func lastLine(t *testing.T, log string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var first, end struct {
		Event, By, Error string
		Exit, Omitted    int
		Gaps             []string
	}
	if len(lines) < 2 || json.Unmarshal([]byte(lines[0]), &first) != nil || json.Unmarshal([]byte(lines[len(lines)-1]), &end) != nil || first.Event != "start" || end.Event != "end" {
		t.Fatalf("%q", log)
	}
	return strings.TrimSpace(fmt.Sprint(end.By, " ", end.Exit, " ", end.Error))
}

// TestEmbedding runs the programs of docs/embedding.md: the last line says whose status it is.
func TestEmbedding(t *testing.T) {
	need(t, "jail", "node", "python3")
	page, err := os.ReadFile("../../docs/embedding.md")
	testkit.Must(t, err)
	w := newWorld(t)
	example := func(language string) string {
		_, code, _ := strings.Cut(string(page), "```"+language+"\n")
		code, _, _ = strings.Cut(code, "```")
		file := filepath.Join(w.base, "example."+language)
		testkit.Must(t, os.WriteFile(file, []byte(code), 0o644))
		return file
	}
	goProgram := filepath.Join(w.base, "embed")
	if out, err := exec.Command("go", "build", "-o", goProgram, example("go")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	answers := fmt.Sprintf("command = \"sh\"\narguments = [\"-c\", %q]", answering[2])
	servers := map[string]string{
		"client 0":         answers,
		"server 3":         "command = \"sh\"\narguments = [\"-c\", \"exit 3\"]",
		"mcp-jail 1 start": `command = "/nowhere/program"`,
		"mcp-jail 2 usage": `commnd = "sh"`,
		"mcp-jail 3 gap":   answers,
	}
	for name, argv := range map[string][]string{"Go": {goProgram}, "Node": {"node", example("js")}, "Python": {"python3", example("python")}} {
		for want, server := range servers {
			file := filepath.Join(w.base, "server.toml")
			testkit.Must(t, os.WriteFile(file, []byte("version = 1\n[servers.notes]\n"+server+"\n"), 0o600))
			cmd := w.plain(append(argv, file)...)
			cmd.Env = append([]string{"PATH=" + filepath.Dir(w.mcpJail().Path) + ":" + userPath()}, w.env[1:]...)
			if strings.HasSuffix(want, "gap") {
				cmd = withoutUserns(cmd)
			}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s, %s: %v: %s", name, want, err, stderrOf(err))
			}
			testkit.Equal(t, name+"\n"+string(out), lastLine(t, string(out)), want)
		}
	}
}

// TestLogDescriptor: a reader that does not read delays no call, the server does not get the descriptor, and mcp-jail
// refuses what is no file before it opens anything.
func TestLogDescriptor(t *testing.T) {
	w := newWorld(t)
	r, theirs, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	cmd := w.jail("--log-file", "/dev/fd/3", "--", "sh", "-c", "ls /proc/self/fd >&2; "+answering[2])
	cmd.ExtraFiles = []*os.File{theirs}
	in, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	var errs strings.Builder
	cmd.Stderr = &errs
	testkit.Must(t, cmd.Start())
	theirs.Close()
	const calls = 1000 // of which a pipe holds some 300
	callAll(t, in, bufio.NewReader(out), calls)
	in.Close()
	testkit.Must(t, cmd.Wait())
	whole := 0
	for s := bufio.NewScanner(r); s.Scan(); whole++ {
		if !json.Valid(s.Bytes()) {
			t.Errorf("%q", s.Text())
		}
	}
	if whole < 100 || whole >= calls {
		t.Errorf("%d lines", whole)
	}
	if strings.Contains(errs.String(), "\n4\n") { // ls itself has 3
		t.Errorf("the server has descriptors: %s", errs.String())
	}
	for _, file := range []string{"/dev/fd/3", "/dev/fd/0", "/dev/fd/1", "/proc/self/fd/77"} {
		out, err := w.jail("--log-file", file, "--", "true").CombinedOutput()
		if code := exitCode(err); code != 2 || !strings.Contains(string(out), file) {
			t.Errorf("%s: %d, %s", file, code, out)
		}
	}
}

// answering is the words of a server that answers each line.
var answering = []string{"sh", "-c", `while read -r x; do echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done`}

// callAll makes calls of a server, one after another.
func callAll(t *testing.T, in io.Writer, out *bufio.Reader, calls int) {
	t.Helper()
	for range calls {
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLogKilled: a session whose mcp-jail was killed is shown as that, and nothing of it as known that is not.
func TestLogKilled(t *testing.T) {
	w := newWorld(t)
	cmd := w.jail(append([]string{"--name", "killed", "--"}, answering...)...)
	in, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	callAll(t, in, bufio.NewReader(out), 1)
	testkit.Eventually(t, "a line of the call", func() bool {
		found, _ := filepath.Glob(filepath.Join(w.home, ".local/state/mcp-jail/servers/*/log.jsonl"))
		return len(found) > 0
	})
	if got := w.output(t, "log", "killed"); !strings.Contains(got, "still running") {
		t.Error(got)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := w.output(t, "log", "killed"); !strings.Contains(got, "or later: mcp-jail was killed") || !strings.Contains(got, "x 1") {
		t.Error(got)
	}
}

// TestLogCalls: calls beyond what the log takes are counted, and without a log there is no file. Root also sees that with
// the log a call has as many system calls that read and write as without: mcp-jail is not dumpable.
func TestLogCalls(t *testing.T) {
	w := newWorld(t)
	const calls = 1000
	made := map[string]int{}
	for _, log := range []string{"on", "off"} {
		file := filepath.Join(w.base, log+".toml")
		testkit.Must(t, os.WriteFile(file, fmt.Appendf(nil, "version = 1\n[servers.%s]\nlog = %q\ncommand = \"sh\"\narguments = [\"-c\", %q]\n", log, log, answering[2]), 0o600))
		cmd := w.jail("--config", file, log)
		in, err := cmd.StdinPipe()
		testkit.Must(t, err)
		pipe, err := cmd.StdoutPipe()
		testkit.Must(t, err)
		testkit.Must(t, cmd.Start())
		out := bufio.NewReader(pipe)
		callAll(t, in, out, 1)
		before := ioCalls(t, cmd.Process.Pid)
		callAll(t, in, out, calls)
		made[log] = ioCalls(t, cmd.Process.Pid) - before
		in.Close()
		testkit.Must(t, cmd.Wait())
	}
	if os.Getuid() == 0 && (made["off"] < calls || made["on"] > made["off"]+calls/4) { // once a second the lines are written
		t.Errorf("%d calls: %v", calls, made)
	}
	// How many are left out depends on how long the calls took.
	var leftOut, listed int
	got := w.output(t, "log", "on")
	if m := regexp.MustCompile(`: (\d+) lines left out\s+calls    x (\d+)\n`).FindStringSubmatch(got); m != nil {
		leftOut, listed = testkit.Get(strconv.Atoi(m[1]))(t), testkit.Get(strconv.Atoi(m[2]))(t)
	}
	if leftOut == 0 || leftOut+listed != calls+1 {
		t.Errorf("%d of %d calls left out, %d listed: %s", leftOut, calls+1, listed, got)
	}
	testkit.Equal(t, "off", pathExists(filepath.Join(w.home, ".local/state/mcp-jail/servers/off/log.jsonl")), false)
}

// ioCalls returns how often a process has read and written. Only root gets a number.
func ioCalls(t *testing.T, pid int) (n int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if os.Getuid() == 0 {
		testkit.Must(t, err)
	}
	for line := range strings.Lines(string(text)) {
		for _, name := range []string{"syscr: ", "syscw: "} {
			if number, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
				count, err := strconv.Atoi(number)
				testkit.Must(t, err)
				n += count
			}
		}
	}
	return n
}

func exitCode(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return -1
}
