//go:build linux

package conformance

import (
	"fmt"
	"os"
	"strconv"
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
			got := withoutAdditions(through.stdout)
			for _, fault := range compareReplays(direct, &replay{got, through.status}) {
				t.Error(fault)
			}
		})
	}
}
