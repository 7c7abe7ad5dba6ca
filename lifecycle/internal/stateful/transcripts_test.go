//go:build unix

package stateful

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestTranscripts plays testdata/*.txtar. The comment sets the session up: "server NAME",
// "denied PATH", "roots MODE", "call DURATION", "startup DURATION". In talk, "> " is a line
// of the client ("\r" at the end is one) and "< " a line to it, in this order. server is
// the log of the server, over all of its lives; starts is how many lives it had, status
// that of the session, and record the stages and tools of the diagnoses on record.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { transcript(t, file) })
	}
}

// times are the times of denials, which differ from run to run.
var times = regexp.MustCompile(`"time":"[^"]*"`)

func transcript(t *testing.T, file string) {
	script, err := txtar.ParseFile(file)
	testkit.Must(t, err)
	want := map[string]string{}
	for _, f := range script.Files {
		want[f.Name] = string(f.Data)
	}
	f := &sessiontest.Fake{}
	p := begin(t, f, func(s *session.Session) { setUp(t, f, s, string(script.Comment)) })
	var talk strings.Builder
	for line := range strings.Lines(want["talk"]) {
		text, isSend := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> ")
		if isSend {
			talk.WriteString(line)
			p.Send(strings.ReplaceAll(text, `\r`, "\r"))
			continue
		}
		talk.WriteString("< " + strings.ReplaceAll(p.Line(), "\r", `\r`))
	}
	p.In.Close()
	if rest := p.Rest(); rest != "" {
		talk.WriteString("< " + rest)
	}
	status, stderr := p.Ended()
	var saw, said strings.Builder
	for line := range strings.Lines(stderr) {
		switch rest, isSeen := strings.CutPrefix(line, "saw: "); {
		case isSeen:
			saw.WriteString(rest)
		case strings.HasPrefix(line, "mcp-jail:   The server said: "): // the line that was the last one at that moment
		default:
			said.WriteString(line)
		}
	}
	var stages strings.Builder
	for _, d := range p.Record.Diagnoses {
		stages.WriteString(strings.TrimSpace(string(d.Stage)+" "+d.Tool) + "\n")
	}
	got := map[string]string{"talk": times.ReplaceAllString(talk.String(), `"time":"…"`), "server": saw.String(), "stderr": said.String(), "starts": fmt.Sprintln(f.Starts), "status": fmt.Sprintln(status), "record": stages.String()}
	for i := range script.Files {
		a := &script.Files[i]
		if got[a.Name] != want[a.Name] && !testkit.Update() {
			t.Errorf("%s\n got %s\nwant %s", a.Name, got[a.Name], want[a.Name])
		}
		a.Data = []byte(got[a.Name])
	}
	if testkit.Update() {
		testkit.Must(t, os.WriteFile(file, txtar.Format(script), 0o644))
	}
}

func setUp(t *testing.T, f *sessiontest.Fake, s *session.Session, comment string) {
	t.Helper()
	s.Profile.Entries = []policy.Entry{
		{Path: "/srv/a b", Kind: policy.KindDir, Rights: policy.Read | policy.Write, Origin: policy.OriginRule},
		{Path: "/srv/notes", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline},
	}
	sessiontest.Asking(s, &sessiontest.Asker{}) // where nothing is refused that may be asked about, no byte is another
	diagnostest.Of(&s.Known).Canonical = func(path string) string { return strings.Replace(path, "/link", "/srv/notes", 1) }
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var err error
		switch key {
		case "server":
			f.Server = value
		case "denied":
			f.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "open", Target: value, Count: 1}}
		case "roots":
			s.Profile.Roots = value
		case "call":
			s.Profile.Call, err = time.ParseDuration(value)
		case "startup":
			s.Profile.Startup, err = time.ParseDuration(value)
		case "", "#":
		default:
			t.Fatalf("unknown setting %q", key)
		}
		testkit.Must(t, err)
	}
}

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// TestNotOnOneLine: an answer that is not one line by itself becomes an error that says why, while
// the server runs on.
func TestNotOnOneLine(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"indented": "writes one message over several lines; MCP's stdio needs one line each",
		"deep":     "an answer was not passed on: its values are nested more than 10000 deep",
		"framed":   "frames its messages with Content-Length, as LSP does",
	} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			p := begin(t, &sessiontest.Fake{Server: server}, nil)
			p.Send(sessiontest.Initialize)
			line := p.Line()
			if got := sessiontest.FailureOf(t, line).String(); got != "0 -32603 call" || !strings.Contains(line, strings.ReplaceAll(want, `"`, `\"`)) {
				t.Errorf("got %q", line)
			}
			if stderr := p.End(); !strings.Contains(stderr, want) {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestLoggedAnswer: a log that has an answer in it replaces no answer.
func TestLoggedAnswer(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "logging"}, nil)
	p.Send(list)
	if got := p.Line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("got %q", got)
	}
	if rest := p.Rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	p.Ended()
}

// TestTextIDs: an answer with the id in another type is passed on, and answers no request.
func TestTextIDs(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "text-ids"}, nil)
	p.Send(list)
	if got := p.Line(); got != `{"jsonrpc":"2.0","id":"1","result":{}}`+"\n" {
		t.Errorf("got %q", got)
	}
	p.In.Close()
	if got := sessiontest.FailureOf(t, p.Rest()).String(); got != "1 -31003 list" {
		t.Errorf("then %s", got)
	}
	p.Ended()
}

// TestMadeNonBlocking: another program that shares the client's descriptors makes them
// non-blocking during the session.
func TestMadeNonBlocking(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MCP_JAIL_TEST_SERVER=session", "MCP_JAIL_TEST_INNER=polite", "GORACE=atexit_sleep_ms=0")
	inR, in, err := os.Pipe()
	testkit.Must(t, err)
	out, outW, err := os.Pipe()
	testkit.Must(t, err)
	defer out.Close()
	cmd.Stdin, cmd.Stdout = inR, outW
	testkit.Must(t, cmd.Start())
	p := &sessiontest.Play{T: t}
	p.Use(in, out)
	p.Send(sessiontest.Initialize)
	p.Line()
	for _, f := range []*os.File{inR, outW} {
		testkit.Must(t, syscall.SetNonblock(int(f.Fd()), true))
		f.Close()
	}
	const n = 100
	line := `{"id":1,"method":"m","params":"` + strings.Repeat("x", 2000) + `"}`
	for range n {
		p.Send(line)
	}
	p.In.Close()
	time.Sleep(300 * time.Millisecond) // until our stdout is full
	if got := p.Rest(); got != strings.Repeat(sessiontest.AnswerTo("1", line), n) {
		t.Errorf("got %d bytes", len(got))
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 7 {
		t.Errorf("status %d", got)
	}
}
