//go:build unix

package lifecycle

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	callLine   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
)

// answerTo is what a server of serve says.
func answerTo(id, line string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"echo":%q}}`+"\n", id, line)
}

func TestRelay(t *testing.T) {
	p := begin(t, &fake{server: "polite"}, nil)
	odd := `{"id":9007199254740993 , "method":"x","params":{"\u006e":1,"n":2}}`
	for _, m := range []struct{ id, line string }{{"0", initialize}, {`"é"`, `{"id":"é","method":"tools/call","unknown":1.0}`}, {"9007199254740993", odd}} {
		p.send(m.line)
		if got, want := p.line(), answerTo(m.id, m.line); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	p.in.Close()
	if rest := p.rest(); rest != "" {
		t.Errorf("then %q", rest)
	}
	status, stderr := p.ended()
	if status != 7 || p.err != nil || stderr != "" {
		t.Errorf("status %d, error %v, stderr %q", status, p.err, stderr)
	}
	if p.record.Server != "test" || len(p.record.Diagnoses) != 0 {
		t.Errorf("record %+v", p.record)
	}
}

// TestPipelinedThenEOF: what was sent before end-of-file is answered.
func TestPipelinedThenEOF(t *testing.T) {
	p := begin(t, &fake{server: "polite"}, nil)
	const n = 3000
	go func() {
		for i := range n {
			fmt.Fprintf(p.in, `{"id":%d,"method":"m"}`+"\n", i)
		}
		p.in.Close()
	}()
	for i := range n {
		if got, want := p.line(), answerTo(fmt.Sprint(i), fmt.Sprintf(`{"id":%d,"method":"m"}`, i)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if status, _ := p.ended(); status != 7 {
		t.Errorf("status %d", status)
	}
}

func TestNoNewlineAtTheEnd(t *testing.T) {
	p := begin(t, &fake{server: "no-newline"}, nil)
	p.send(initialize)
	if got := p.rest(); got != `{"jsonrpc":"2.0","id":0,"result":{}}` {
		t.Errorf("got %q", got)
	}
	if status, _ := p.ended(); status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestGarbage(t *testing.T) {
	p := begin(t, &fake{server: "garbage"}, nil)
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	if got := p.rest(); got != "" {
		t.Errorf("then %q", got)
	}
	_, stderr := p.ended()
	for _, want := range []string{"Listening on stdio\n[INFO] ready\n", "bye"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q: %q", want, stderr)
		}
	}
	if n := strings.Count(stderr, "no MCP message"); n != 1 {
		t.Errorf("%d notes: %q", n, stderr)
	}
}

// TestBothDirectionsHaveTheirOwnIDs: the server's request 0 is not the client's.
func TestBothDirectionsHaveTheirOwnIDs(t *testing.T) {
	p := begin(t, &fake{server: "asks"}, nil)
	if got := p.line(); !strings.Contains(got, "roots/list") {
		t.Errorf("got %q", got)
	}
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.send(`{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`)
	p.in.Close()
	p.rest()
	p.ended()
}

func TestOversizedAnswer(t *testing.T) {
	p := begin(t, &fake{server: "big"}, func(s *Session) { s.Profile.Limits.MessageMB = 1 })
	call := func(id, size int) {
		p.send(fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":"big","arguments":{"size":%d}}}`, id, size))
	}
	call(1, 1000)
	if got := p.line(); len(got) < 1000 || strings.Contains(got, "error") {
		t.Errorf("got %.80q", got)
	}
	call(2, 3<<20)
	if got := failureOf(t, p.line()); got.String() != "2 -32603 call big" || !strings.Contains(got.Error.Message, "message_mb") {
		t.Errorf("got %v: %s", got, got.Error.Message)
	}
	call(3, 10)
	if got := p.line(); !strings.Contains(got, `"id":3`) {
		t.Errorf("got %q", got)
	}
	p.send(`{"id":4,"method":"tools/list","params":{"x":"` + strings.Repeat("y", 2<<20) + `"}}`)
	if got := failureOf(t, p.line()); got.String() != "4 -32603 call" {
		t.Errorf("got %v", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}

// TestStderrIsNeverBlocked: nobody reads our stderr, and the server goes on.
func TestStderrIsNeverBlocked(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := begin(t, &fake{server: "flood"}, func(s *Session) { s.Err = w })
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
	w.Close()
	if b, _ := io.ReadAll(r); len(b) > 1<<20 || len(b) == 0 {
		t.Errorf("%d bytes were forwarded", len(b))
	}
}

// TestMemory: a line of 1 GiB becomes an error for its id, in little memory.
func TestMemory(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("moves 1 GiB")
	}
	cmd := exec.Command(os.Args[0])
	status := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(os.Environ(), "MCP_JAIL_TEST_SERVER=session", "MCP_JAIL_TEST_INNER=torrent", "MCP_JAIL_TEST_STATUS="+status)
	cmd.Stdin = strings.NewReader(initialize)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := failureOf(t, string(out)).String(); got != "0 -32603 call" {
		t.Errorf("got %s", got)
	}
	// Not what rusage says: that has the peak of the test itself, from before the exec.
	b, err := os.ReadFile(status)
	_, peak, ok := strings.Cut(string(b), "VmHWM:")
	if err != nil || !ok {
		t.Skipf("no VmHWM: %v", err)
	}
	var kB int
	if _, err := fmt.Sscan(peak, &kB); err != nil || kB > 40<<10 {
		t.Errorf("%d kB, %v", kB, err)
	} else {
		t.Logf("%d kB", kB)
	}
}

func TestErrorResults(t *testing.T) {
	denial := confine.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}
	p := begin(t, &fake{server: "failing", denials: []confine.Denial{denial}}, nil)
	p.send(callLine)
	got := p.line()
	const head = `{"jsonrpc": "2.0", "id":1, "result":{"isError":true,"n":9007199254740993,"content":[{"type":"text","text":"EACCES: permission denied, open '/secret'"},{`
	if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, "}}\r\n") || !strings.Contains(got, `"_meta":{"dev.mcp-jail/denials":[{`) || !strings.Contains(got, `"text":"\n[mcp-jail]`) {
		t.Errorf("got %q", got)
	}
	p.send(`{"id":2,"method":"tools/list"}`)
	if got := p.line(); got != `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"cannot read /secret"}}`+"\n" {
		t.Errorf("got %q", got)
	}
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	_, stderr := p.ended()
	if len(p.record.Diagnoses) != 2 || p.record.Diagnoses[0].Stage != "call" || p.record.Diagnoses[1].Stage != "list" || !strings.Contains(stderr, "/secret") {
		t.Errorf("record %+v, stderr %q", p.record.Diagnoses, stderr)
	}
}

// TestFailureWithoutDenials: some clients print _meta, so an empty list is not told.
func TestFailureWithoutDenials(t *testing.T) {
	p := begin(t, &fake{server: "failing"}, nil)
	p.send(callLine)
	if got := p.line(); !strings.Contains(got, "[mcp-jail]") || strings.Contains(got, "_meta") {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}

// TestDenialDuringASuccess: the result gains _meta and nothing else.
func TestDenialDuringASuccess(t *testing.T) {
	p := begin(t, &fake{server: "polite", denials: []confine.Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}}}, nil)
	p.send(callLine)
	got := p.line()
	want := strings.TrimSuffix(answerTo("1", callLine), "}}\n") + `,"_meta":{"dev.mcp-jail/denials":[`
	if !strings.HasPrefix(got, want) || strings.Contains(got, "[mcp-jail]") {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}

// TestRecordedDenials: what a server puts into names does not reach the disk.
func TestRecordedDenials(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	denial := confine.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/" + secret, Program: "/home/" + secret, Count: 1}
	p := begin(t, &fake{server: "polite", denials: []confine.Denial{denial}}, func(s *Session) {
		s.Profile.Env = []policy.Variable{{Name: "TOKEN", Value: secret, Secret: true}}
	})
	p.send(callLine)
	p.line()
	p.in.Close()
	p.rest()
	p.ended()
	for _, d := range p.record.Denials {
		if d.Target != "/[redacted TOKEN]" || d.Program != "/home/[redacted TOKEN]" {
			t.Errorf("recorded: %+v", d)
		}
	}
	if b, err := p.record.Encode(); err != nil || len(p.record.Denials) != 1 || strings.Contains(string(b), secret) {
		t.Errorf("%v: %s", err, b)
	}
}

// TestHiddenSecrets: values that the server never had, and that came back to it from
// somewhere, are shown to nobody either.
func TestHiddenSecrets(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	p := begin(t, &fake{server: "failing", secrets: map[string]string{"TOKEN": secret}, denials: []confine.Denial{
		{Axis: policy.AxisNet, Operation: "resolve", Target: secret + ".example", Reason: "not_granted", Count: 1},
		{Axis: policy.AxisNet, Operation: "connect", Target: "a.example:443", Reason: "request", Detail: "GET /" + secret + ": no rule allows it", Count: 1},
		{Axis: policy.AxisFs, Operation: "open", Target: "/" + base64.StdEncoding.EncodeToString([]byte("u:"+secret)), Count: 1},
	}}, func(s *Session) {
		s.Profile.Env = []policy.Variable{{Name: "TOKEN", Value: policy.Placeholder("TOKEN")}}
	})
	p.send(callLine)
	shown := p.line()
	p.in.Close()
	p.rest()
	_, stderr := p.ended()
	record, err := p.record.Encode()
	if err != nil || len(p.record.Denials) != 3 || len(p.record.Diagnoses) != 1 || len(p.record.Remedies) == 0 {
		t.Errorf("%v: %s", err, record)
	}
	for where, text := range map[string]string{"the client": shown, "stderr": stderr, "the record": string(record)} {
		if strings.Contains(text, secret) || strings.Contains(text, base64.RawStdEncoding.EncodeToString([]byte(secret)[1:16])) || strings.Count(text, "[redacted TOKEN]") < 3 {
			t.Errorf("%s is shown\n%s", where, text)
		}
	}
}

// BenchmarkCall is one tools/call through a session and a real process, and
// without one: the difference is what a call costs.
func BenchmarkCall(b *testing.B) {
	b.Run("proxied", func(b *testing.B) {
		p := begin(b, &fake{server: "polite"}, nil)
		benchmark(b, p)
		p.in.Close()
		p.rest()
		p.ended()
	})
	b.Run("direct", func(b *testing.B) {
		p := &play{t: b}
		pipes, err := newPipes()
		if err != nil {
			b.Fatal(err)
		}
		proc, err := (&fake{server: "polite"}).Start(b.Context(), nil, pipes.serverEnds)
		if err != nil {
			b.Fatal(err)
		}
		pipes.closeServerEnds()
		p.use(pipes.stdin, pipes.stdout.file)
		benchmark(b, p)
		pipes.stdin.Close()
		proc.Wait()
		pipes.closeOwnEnds()
	})
}

func benchmark(b *testing.B, p *play) {
	b.ReportAllocs()
	for b.Loop() {
		p.send(callLine)
		p.line()
	}
}
