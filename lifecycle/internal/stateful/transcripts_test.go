//go:build unix

package stateful

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/rogpeppe/go-internal/txtar"
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
	session.TimesOf(s).Discover = time.Minute // a program may take a while to answer, or to die
	s.Profile.Entries = []policy.Entry{
		{Path: "/srv/a b", Kind: policy.KindDir, Rights: policy.Read | policy.Write, Origin: policy.OriginRule},
		{Path: "/srv/notes", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline},
	}
	sessiontest.Asking(s, &sessiontest.Asker{}) // where nothing is refused that may be asked about, no byte is another
	s.Known.Canonical = func(path string) string { return strings.Replace(path, "/link", "/srv/notes", 1) }
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var err error
		switch key {
		case "server":
			if f.Server = value; strings.HasPrefix(value, "ignores") {
				session.TimesOf(s).Discover = 200 * time.Millisecond
			}
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
