//go:build unix

package stateful

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestEOF: the client closes stdin, and the session ends as the server does.
func TestEOF(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]int{"polite": 7, "deaf": 128 + 15, "stubborn": 128 + 9, "daemon": 4} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			change := sessiontest.Impatient
			if server == "stubborn" {
				change = sessiontest.Ruthless
			} else if want < 128 { // the server ends in its own time; a process of "daemon" writes on
				change = func(s *session.Session) { session.TimesOf(s).DrainTotal = 500 * time.Millisecond }
			}
			p := begin(t, &sessiontest.Fake{Server: server}, change)
			p.Send(sessiontest.Initialize)
			p.Line()
			if _, _, status := p.Close(); status != want || want > 128 && p.Exit.Signal != syscall.Signal(want-128) || want < 128 && p.Exit.Signal != 0 {
				t.Errorf("status %d, %+v, want %d", status, p.Exit, want)
			}
		})
	}
}

// TestJailGivesUp: when the jail has ended the server because it could not go on, the
// diagnosis blames neither the server nor its limits, and the log does not say that the server did.
func TestJailGivesUp(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{"step supervision failed": "could no longer enforce the policy and ended the server: step supervision failed", "": "memory_mb"} {
		var record diagnostics.Record
		var by string
		f := &sessiontest.Fake{Server: "silent", Why: why}
		p := begin(t, f, func(s *session.Session) {
			s.Profile.Limits.MemoryMB = 64
			s.Sink = func(r diagnostics.Record) { record = r }
			s.Events = &session.Events{Begun: func(string, string) {}, Tick: func() {}, Ended: func(who string) { by = who }}
		})
		p.Send(sessiontest.Initialize)
		sessiontest.Eventually(t, "a process", func() bool { f.Mu.Lock(); defer f.Mu.Unlock(); return f.Proc != nil })
		f.Proc.Kill()
		answer := p.Line()
		_, stderr, _ := p.Close()
		testkit.Equal(t, "ended by", by, map[bool]string{true: session.ByServer, false: session.ByUs}[why == ""])
		recorded := fmt.Sprintf("%+v", record.Diagnoses)
		for where, said := range map[string]string{"stderr": stderr, "answer": answer, "record": recorded} {
			if !strings.Contains(said, want) || why != "" && strings.Contains(said, "memory_mb") {
				t.Errorf("%q: %s: %s", why, where, said)
			}
		}
	}
}

// TestNeverAsked: the client closes stdin without a request: at once, as a throw-away
// probe does, or when the server has ended, so that our reader has not seen it.
// It does not run beside other tests: a program that those start holds a copy of the pipe
// until its exec, and hides the end of stdin.
func TestNeverAsked(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late=%v", late), func(t *testing.T) {
			f := &sessiontest.Fake{Server: "crash"}
			leave := make(chan *os.File, 1)
			if late {
				f.Last = func() { (<-leave).Close() }
			}
			p := begin(t, f, nil)
			if leave <- p.In; !late {
				p.In.Close()
			}
			if rest := p.Rest(); rest != "" {
				t.Errorf("got %q", rest)
			}
			if status, _ := p.Ended(); status != 3 || len(p.Record.Diagnoses) != 0 {
				t.Errorf("status %d, record %+v", status, p.Record)
			}
		})
	}
}

// TestClientStopsReading: EPIPE ends a session as end-of-file does.
func TestClientStopsReading(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "chatty"}, sessiontest.Impatient)
	p.Line()
	p.Out.Close()
	if status, _ := p.Ended(); status != 128+15 || len(p.Record.Diagnoses) != 0 {
		t.Errorf("status %d, record %+v", status, p.Record)
	}
}

// TestBackPressure: a client that does not read makes us buffer nothing, and does not keep
// the session alive.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "chatty"}, func(s *session.Session) {
		sessiontest.Impatient(s)
		session.TimesOf(s).DrainTotal = 200 * time.Millisecond
	})
	p.Line()
	p.In.Close()
	if status, _ := p.Ended(); status != 128+15 {
		t.Errorf("status %d", status)
	}
}

// TestServerClosesItsEnds: a server that closes stdin or stdout gets its request answered
// with a failure, and the session ends.
func TestServerClosesItsEnds(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"stdin-closer", "stdout-closer"} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, nil)
			p.Send(sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), "0 -31002 boot")
			if status, _ := p.Ended(); status != 6 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestCancelled: cancelling ctx ends a session as SIGTERM does, also during the start.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fake   *sessiontest.Fake
		ask    bool
		status int
	}{
		{&sessiontest.Fake{Server: "polite"}, true, 128 + 15},
		{&sessiontest.Fake{Server: "stubborn"}, true, 128 + 9},
		{&sessiontest.Fake{Server: "silent"}, false, 128 + 15},
		{&sessiontest.Fake{Block: true}, false, 128 + 15},
		{&sessiontest.Fake{Err: os.ErrInvalid}, true, 3}, // the answer shows that the start has failed
	} {
		t.Run(tt.fake.Server, func(t *testing.T) {
			p := begin(t, tt.fake, nil)
			if tt.ask {
				p.Send(sessiontest.Initialize)
				p.Line()
			} else if tt.fake.Server != "" {
				sessiontest.WaitFor(p)
			} else {
				time.Sleep(50 * time.Millisecond)
			}
			p.Cancel()
			if status, _ := p.Ended(); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
		})
	}
}

// TestSignal: a signal is forwarded. Signals go to whole processes, so the session runs in
// a process of its own.
func TestSignal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server string
		sig    syscall.Signal
		status int
	}{{"trap", syscall.SIGINT, 9}, {"trap", syscall.SIGHUP, 9}, {"stubborn", syscall.SIGTERM, 137}, {"polite", syscall.SIGTERM, 143}} {
		t.Run(tt.server+" "+tt.sig.String(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "MCP_JAIL_TEST_SERVER=session", "MCP_JAIL_TEST_INNER="+tt.server, "GORACE=atexit_sleep_ms=0")
			in, err := cmd.StdinPipe()
			testkit.Must(t, err)
			outR, outW, err := os.Pipe()
			testkit.Must(t, err)
			defer outR.Close()
			cmd.Stdout = outW
			testkit.Must(t, cmd.Start())
			outW.Close()
			p := &sessiontest.Play{T: t}
			p.Use(nil, outR)
			in.Write([]byte(sessiontest.Initialize + "\n"))
			p.Line()
			go func() { // another signal does not put off the kill
				for cmd.Process.Signal(tt.sig) == nil && tt.server == "stubborn" {
					time.Sleep(100 * time.Millisecond)
				}
			}()
			ended := make(chan struct{})
			time.AfterFunc(testkit.Patience, func() {
				select {
				case <-ended:
				default:
					t.Error("the session hangs")
					cmd.Process.Kill()
				}
			})
			cmd.Wait()
			close(ended)
			if got := cmd.ProcessState.ExitCode(); got != tt.status {
				t.Errorf("status %d, want %d", got, tt.status)
			}
		})
	}
}

// ownSession is a proxy over its own standard descriptors, which are blocking.
func ownSession() {
	exit, _ := Run(context.Background(), session.Session{
		Launcher: &sessiontest.Fake{Server: os.Getenv("MCP_JAIL_TEST_INNER")},
		Profile:  &policy.Profile{Server: "test", Limits: policy.DefaultLimits},
	})
	os.Exit(exit.Code)
}

// TestDeathDuringCalls: a call whose server dies gets one failure.
func TestDeathDuringCalls(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]int{"exit-in-call": 5, "mid-frame": 128 + 9} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, nil)
			p.Send(sessiontest.Initialize)
			p.Line()
			p.Send(sessiontest.CallLine)
			sessiontest.IsFailure(t, p.Line(), "1 -31003 call t")
			if rest := p.Rest(); rest != "" {
				t.Errorf("then %q", rest)
			}
			status, stderr := p.Ended()
			if status != want || !strings.Contains(stderr, "mcp-jail: ") {
				t.Errorf("status %d, stderr %q", status, stderr)
			}
		})
	}
}

// TestUnansweredAtEnd: requests that the server has not answered at its end get a failure.
func TestUnansweredAtEnd(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "forgetful"}, nil)
	p.Send(sessiontest.Initialize)
	p.Line()
	p.Send(sessiontest.CallLine, `[{"id":"x","method":"tools/call","params":{"name":"u"}}]`)
	p.In.Close()
	sessiontest.IsFailure(t, p.Line(), "1 -31003 call t")
	sessiontest.IsFailure(t, strings.Trim(p.Line(), "[]\n"), `"x" -31003 call u`)
	if status, _ := p.Ended(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestEndOfOpenCalls: an end is explained by what was refused during the calls that were open, the
// latest first, and by nothing of the calls before them.
func TestEndOfOpenCalls(t *testing.T) {
	t.Parallel()
	f := &sessiontest.Fake{Server: "forgetful"}
	p := begin(t, f, nil)
	p.Send(sessiontest.Initialize)
	p.Line()
	f.Refuse("/bin/earlier")
	p.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"first"}}`, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	p.Line()
	f.Refuse("/bin/git")
	f.Refuse("/bin/id")
	p.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"second"}}`, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	p.Line()
	p.In.Close()
	for range 2 {
		line := p.Line()
		git, id := strings.Index(line, "/bin/git"), strings.Index(line, "/bin/id")
		if id < 0 || git < id || strings.Contains(line, "/bin/earlier") {
			t.Errorf("%s", line)
		}
	}
	p.Rest()
	p.Ended()
}

// TestTimeoutsOfHungServer: a server that does not read the cancellation of one call does
// not delay the timeout of the next.
func TestTimeoutsOfHungServer(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "hung"}, func(s *session.Session) {
		sessiontest.Ruthless(s)
		s.Profile.Call = 300 * time.Millisecond
	})
	p.Send(sessiontest.Initialize)
	p.Line()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		io.WriteString(p.In, `{"id":1,"method":"tools/call","params":{"name":"a"}}`+"\n")
		time.Sleep(150 * time.Millisecond)
		io.WriteString(p.In, `{"id":2,"method":"tools/call","params":{"name":"b","x":"`+strings.Repeat("y", 3<<20)+`"}}`+"\n")
	}()
	for _, want := range []string{"1 -31006 call a", "2 -31006 call b"} {
		sessiontest.IsFailure(t, p.Line(), want)
	}
	p.Cancel()
	<-sent
	p.Ended()
}

// TestCancelledCall: a request that the client has cancelled gets no error, neither for a
// timeout nor for the server's end.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "scribe"}, func(s *session.Session) { s.Profile.Call = 300 * time.Millisecond })
	p.Send(`{"id":1,"method":"tools/call","params":{"name":"hang"}}`, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
	time.Sleep(600 * time.Millisecond)
	p.Send(`{"id":2,"method":"tools/list"}`)
	sessiontest.Has(t, p.Line(), `"id":2,"result"`)
	if stderr := p.End(); ownWords(stderr) != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestTimedOutInBatch: the server's late answer to a batch passes without the call that
// was answered by us.
func TestTimedOutInBatch(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "batch-late"}, func(s *session.Session) { s.Profile.Call = 100 * time.Millisecond })
	p.Send(`[{"id":1,"method":"tools/call","params":{"name":"t"}},{"id":2,"method":"tools/list"}]`)
	sessiontest.IsFailure(t, strings.Trim(p.Line(), "[]\n"), "1 -31006 call t")
	if got := p.Line(); got != `[{"jsonrpc":"2.0","id":2,"result":{}}]`+"\n" {
		t.Errorf("got %q", got)
	}
	p.End()
}

// TestCallTimeout: stderr says that calls are waited for. Each is answered, the server is told of each, a late answer is
// dropped, and the session goes on.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "slow"}, func(s *session.Session) { s.Profile.Call = time.Second })
	p.Send(sessiontest.Initialize)
	p.Line()
	p.Send(sessiontest.CallLine, strings.Replace(sessiontest.CallLine, `"id":1`, `"id":3`, 1))
	sessiontest.IsFailure(t, p.Line(), "1 -31006 call t")
	sessiontest.IsFailure(t, p.Line(), "3 -31006 call t")
	time.Sleep(300 * time.Millisecond) // the cancellation follows the answer
	p.Send(`{"id":2,"method":"ping"}`)
	if got := p.Line(); got != sessiontest.AnswerTo("2", `{"id":2,"method":"ping"}`) {
		t.Errorf("got %q", got)
	}
	stderr := p.End()
	sessiontest.Has(t, stderr, `cancelled {"requestId":1,`, `cancelled {"requestId":3,`)
	if strings.Count(stderr, `waiting for the answer of server "test" to a call of tool "t"`) != 2 {
		t.Errorf("stderr %q", stderr)
	}
}
