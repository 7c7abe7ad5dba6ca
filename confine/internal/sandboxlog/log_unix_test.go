//go:build unix

package sandboxlog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fake returns a Log whose program is a script: it keeps its arguments in a file beside it.
func fake(t *testing.T, script string) (l *Log, arguments string) {
	t.Helper()
	dir := t.TempDir()
	program, arguments := filepath.Join(dir, "log"), filepath.Join(dir, "arguments")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >"+arguments+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	l = New(tag)
	l.program = program
	return l, arguments
}

// TestAsk checks the question, and that a second answer with the same lines adds nothing.
func TestAsk(t *testing.T) {
	answer := filepath.Join(t.TempDir(), "answer")
	first := line(t, "Sandbox: cat(11) deny(1) file-read-data /tmp/x\n"+tag)
	write := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(answer, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first)
	l, asked := fake(t, "cat "+answer)
	if l.Denials() != nil {
		t.Error("there are denials before the first question")
	}
	l.ask(context.Background(), time.Now().Add(-10*time.Second))
	if got := l.Denials(); len(got) != 1 || got[0].Target != "/tmp/x" || got[0].Count != 1 {
		t.Fatalf("got %+v", got)
	}
	words, err := os.ReadFile(asked)
	if want := "show\n--style\nndjson\n--last\n12s\n--predicate\nprocessID == 0 AND sender == \"Sandbox\" AND eventMessage CONTAINS \"" + tag + "\"\n"; err != nil || string(words) != want {
		t.Errorf("asked %q: %v", words, err)
	}
	write(first, strings.Replace(first, "09:16:59", "09:17:08", 1), strings.Replace(first, "/tmp/x", "/tmp/y", 1))
	l.ask(context.Background(), time.Now().Add(-time.Hour))
	if got := l.Denials(); len(got) != 2 || got[0].Count != 2 || got[0].Last.IsZero() || got[1].Target != "/tmp/y" {
		t.Errorf("got %+v", got)
	}
	if words, _ = os.ReadFile(asked); !strings.Contains(string(words), "--last\n62s\n") {
		t.Errorf("asked %q", words)
	}
	write(strings.Replace(first, "09:16:59", "09:17:30", 1))
	l.ask(context.Background(), time.Now())
	if got := l.Denials(); got[0].Count != 3 {
		t.Errorf("got %+v", got)
	}
}

// TestAskFails has programs that give no answer: none of them is evidence.
func TestAskFails(t *testing.T) {
	answer := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(answer, []byte(line(t, "Sandbox: cat(11) deny(1) file-read-data /tmp/x\n"+tag)), 0o600); err != nil {
		t.Fatal(err)
	}
	good := "cat " + answer + "\n"
	for name, script := range map[string]string{
		"refuses":    good + "exit 64\n", // as it answers to a user that is no administrator
		"is too big": "head -c 5000000 /dev/zero\n",
		"is ended":   good + "kill -9 $$\n",
	} {
		l, _ := fake(t, script)
		if l.ask(context.Background(), time.Now()); len(l.Denials()) != 0 {
			t.Errorf("%s: %+v", name, l.Denials())
		}
	}
	l, asked := fake(t, "exec sleep 600\n")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { l.ask(ctx, time.Now()); close(done) }()
	for { // until it runs
		if _, err := os.Stat(asked); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
}

// TestAvailable has a system without the program: nothing is started, and the reason is said.
func TestAvailable(t *testing.T) {
	var none *Log
	if none.Ask(context.Background(), time.Now()); none.Denials() != nil {
		t.Error("no log has denials")
	}
	if _, err := os.Stat(program); err == nil {
		return // a Mac: the self-test asks
	}
	if err := Available(); err == nil || !strings.Contains(err.Error(), program) {
		t.Errorf("got %v", err)
	}
	l, asked := fake(t, "")
	l.Ask(context.Background(), time.Now())
	if _, err := os.Stat(asked); err == nil {
		t.Error("the log was asked although it is not available")
	}
}
