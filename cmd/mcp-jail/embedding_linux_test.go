package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	need(t, "jail")
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
	answering := `arguments = ["-c", "while read -r x; do echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; done"]`
	servers := map[string]string{
		"client 0":         "command = \"sh\"\n" + answering,
		"server 3":         "command = \"sh\"\narguments = [\"-c\", \"exit 3\"]",
		"mcp-jail 1 start": `command = "/nowhere/program"`,
		"mcp-jail 2 usage": `commnd = "sh"`,
		"mcp-jail 3 gap":   "command = \"sh\"\n" + answering,
	}
	for name, argv := range map[string][]string{"Go": {goProgram}, "Node": {"node", example("js")}, "Python": {"python3", example("python")}} {
		for want, server := range servers {
			file := filepath.Join(w.base, "server.toml")
			testkit.Must(t, os.WriteFile(file, []byte("version = 1\n[servers.notes]\n"+server+"\n"), 0o600))
			cmd := w.plain(append(argv, file)...)
			cmd.Env = append([]string{"PATH=" + filepath.Dir(buildBinary()) + ":" + userPath()}, w.env[1:]...)
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

// TestLogDescriptor: a reader that does not read costs nobody, the server does not get the descriptor, and what is no file
// is refused before mcp-jail opens anything.
func TestLogDescriptor(t *testing.T) {
	w := newWorld(t)
	r, theirs, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	cmd := w.jail("--log-file", "/dev/fd/3", "--", "sh", "-c", `ls /proc/self/fd >&2; while read -r x; do echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done`)
	cmd.ExtraFiles = []*os.File{theirs}
	in, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	var errs strings.Builder
	cmd.Stderr = &errs
	testkit.Must(t, cmd.Start())
	theirs.Close()
	answers := bufio.NewReader(out)
	const calls = 1000 // of which a pipe holds some 300
	for range calls {
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
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

func exitCode(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return -1
}
