//go:build linux

package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A transcript is what a client sends, and in which order. The lines of its file:
//
//	# a remark
//	servers: NAME …   the servers that get it
//	> LINE            send a line, and wait for the answers to the requests in it
//	>> LINE           send a line
//	>= "BYTES"        send these bytes
//	< TEXT            wait for a line of the server, after those waited for, with TEXT in it
//
// $WORK is the workspace, and $REPEAT(WORDS*N) stands for N times WORDS.
type transcript struct {
	name    string
	servers []string
	steps   []step

	bytewise bool              // the client writes one byte at a time
	during   func(*os.Process) // runs beside the session, and is waited for
}

type step struct {
	send    []byte
	answers []string // ids to wait for
	hear    string   // or text
}

var repeated = regexp.MustCompile(`\$REPEAT\((.+?)\*(\d+)\)`)

func readTranscript(file, work string) (*transcript, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	tr := &transcript{name: strings.TrimSuffix(filepath.Base(file), ".txt")}
	for n, line := range strings.Split(string(b), "\n") {
		line = strings.ReplaceAll(line, "$WORK", work)
		line = repeated.ReplaceAllStringFunc(line, func(s string) string {
			m := repeated.FindStringSubmatch(s)
			times, _ := strconv.Atoi(m[2])
			return strings.Repeat(m[1], times)
		})
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "servers:":
			tr.servers = strings.Fields(rest)
		case ">":
			ids, err := requests([]byte(rest))
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
			}
			tr.steps = append(tr.steps, step{send: []byte(rest + "\n"), answers: ids})
		case ">>":
			tr.steps = append(tr.steps, step{send: []byte(rest + "\n")})
		case ">=":
			raw, err := strconv.Unquote(rest)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
			}
			tr.steps = append(tr.steps, step{send: []byte(raw)})
		case "<":
			tr.steps = append(tr.steps, step{hear: rest})
		default:
			return nil, fmt.Errorf("%s:%d: unknown word %q", file, n+1, word)
		}
	}
	if len(tr.servers) == 0 || len(tr.steps) == 0 {
		return nil, fmt.Errorf("%s: no servers, or nothing to do", file)
	}
	return tr, nil
}

// envelope has the members of a message that a transcript waits for.
type envelope struct {
	ID     json.RawMessage
	Method string
}

// envelopes reads a line: a message or a batch.
func envelopes(line []byte) ([]envelope, error) {
	if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '[' {
		var batch []envelope
		err := json.Unmarshal(line, &batch)
		return batch, err
	}
	var one envelope
	err := json.Unmarshal(line, &one)
	return []envelope{one}, err
}

// requests returns the ids of the requests in a line of a client.
func requests(line []byte) (ids []string, err error) {
	all, err := envelopes(line)
	for _, e := range all {
		if e.ID != nil && e.Method != "" {
			ids = append(ids, e.key())
		}
	}
	return ids, err
}

// key returns the id of a message without escapes in a string. Numbers are equal only in
// the same form.
func (e envelope) key() string {
	var s string
	if json.Unmarshal(e.ID, &s) == nil {
		return strconv.Quote(s)
	}
	return string(e.ID)
}

// A replay is the outcome of a transcript.
type replay struct {
	stdout []byte
	status int // 128 plus the number after a signal, as in a shell
}

// listener keeps the output of a server.
type listener struct {
	mu    sync.Mutex
	all   []byte
	lines []string // whole ones
	ids   map[string]int
	news  chan struct{}
	ended chan struct{}
}

func (l *listener) listen(r io.Reader) {
	defer close(l.ended)
	buffer := make([]byte, 1<<16)
	scanned := 0
	for {
		n, err := r.Read(buffer)
		l.mu.Lock()
		l.all = append(l.all, buffer[:n]...)
		for {
			i := bytes.IndexByte(l.all[scanned:], '\n')
			if i < 0 {
				break
			}
			line := l.all[scanned : scanned+i]
			scanned += i + 1
			l.lines = append(l.lines, string(line))
			all, _ := envelopes(line)
			for _, e := range all {
				if e.Method == "" {
					l.ids[e.key()]++
				}
			}
		}
		l.mu.Unlock()
		select {
		case l.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// wrote returns the beginning of the output, for a message.
func (l *listener) wrote() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return clip(l.all)
}

// until waits for a condition on the output.
func (l *listener) until(deadline <-chan time.Time, met func() bool) error {
	for {
		l.mu.Lock()
		ok := met()
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-l.news:
		case <-l.ended:
			l.mu.Lock()
			defer l.mu.Unlock()
			if met() {
				return nil
			}
			return errors.New("the server's stdout has ended")
		case <-deadline:
			return errors.New("timeout")
		}
	}
}

// play sends a transcript to a command, which must exit after the end of its stdin.
func (tr *transcript) play(cmd *exec.Cmd) (*replay, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout = theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	l := &listener{ids: map[string]int{}, news: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.listen(out)
	if tr.during != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			tr.during(cmd.Process)
		}()
		defer func() { <-done }()
	}
	deadline := time.After(patience)
	waited, heard := map[string]int{}, 0
	for _, st := range tr.steps {
		size := max(1, len(st.send))
		if tr.bytewise {
			size = 1
		}
		for part := range slices.Chunk(st.send, size) {
			if _, err := in.Write(part); err != nil && !errors.Is(err, syscall.EPIPE) {
				return nil, err
			}
		}
		for _, id := range st.answers {
			waited[id]++
			if err := l.until(deadline, func() bool { return l.ids[id] >= waited[id] }); err != nil {
				return nil, fmt.Errorf("waiting for the answer to %s: %w; it wrote %q", clip(st.send), err, l.wrote())
			}
		}
		if st.hear != "" {
			err := l.until(deadline, func() bool {
				i := slices.IndexFunc(l.lines[heard:], func(s string) bool { return strings.Contains(s, st.hear) })
				if i >= 0 {
					heard += i + 1
				}
				return i >= 0
			})
			if err != nil {
				return nil, fmt.Errorf("waiting for %q: %w; it wrote %q", st.hear, err, l.wrote())
			}
		}
	}
	in.Close()
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	select {
	case <-exited:
	case <-deadline:
		return nil, fmt.Errorf("it did not exit after the end of its stdin; it wrote %q", l.wrote())
	}
	<-l.ended
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	r := &replay{stdout: l.all, status: ws.ExitStatus()}
	if ws.Signaled() {
		r.status = 128 + int(ws.Signal())
	}
	return r, nil
}

// replayOn plays a transcript on one side.
func replayOn(t *testing.T, s *site, tr *transcript, sv server, how side) *replay {
	t.Helper()
	r, err := tr.play(s.command(how(s, sv)...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTranscripts replays each transcript twice with the bare server, to show that the
// server is deterministic, and once through the jail. In the short form, the servers that node runs
// have one transcript each.
func TestTranscripts(t *testing.T) {
	s := here(t)
	files, err := filepath.Glob("transcripts/*.txt")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there are no transcripts")
	}
	for _, file := range files {
		tr, err := readTranscript(file, s.work)
		must(t, err)
		for _, name := range tr.servers {
			sv := serverNamed(t, name)
			if !longForms() && sv.made == "TypeScript SDK 1.x" && tr.name != "2025-11-25" {
				continue // node takes long to start
			}
			t.Run(tr.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				direct := replayOn(t, s, tr, sv, plain)
				again := replayOn(t, s, tr, sv, plain)
				if !bytes.Equal(direct.stdout, again.stdout) || direct.status != again.status {
					t.Fatalf("two runs without a jail differ: this transcript shows nothing about the jail\n%s", difference(direct.stdout, again.stdout))
				}
				through := replayOn(t, s, tr, sv, jailed)
				got, additions := withoutAdditions(through.stdout)
				for _, fault := range compareReplays(direct, &replay{got, through.status}) {
					t.Error(fault)
				}
				results.add(t, "transcripts", sv.name, tally{sessions: 1, lines: bytes.Count(direct.stdout, []byte("\n")), bytes: len(direct.stdout), additions: additions})
			})
		}
	}
}

func compareReplays(want, got *replay) (faults []string) {
	if !bytes.Equal(want.stdout, got.stdout) {
		faults = append(faults, "stdout differs\n"+difference(want.stdout, got.stdout))
	}
	if want.status != got.status {
		faults = append(faults, fmt.Sprintf("exit status %d, want %d", got.status, want.status))
	}
	return faults
}

// difference shows where two texts differ.
func difference(want, got []byte) string {
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	from := max(0, i-120)
	return fmt.Sprintf("at byte %d of %d and %d\n want …%q\n  got …%q", i, len(want), len(got),
		want[from:min(len(want), i+200)], got[from:min(len(got), i+200)])
}

// addedBlock matches the addition that docs/reference.md, "Answers to tool calls", promises
// for a failed result if the jail refused nothing.
var addedBlock = regexp.MustCompile(`,\{"type":"text","text":"\\n\[mcp-jail\](?:[^"\\]|\\.)*"\}`)

// withoutAdditions removes the promised addition from messages, and counts the messages
// that had it.
func withoutAdditions(stdout []byte) (stripped []byte, frames int) {
	for line := range bytes.Lines(stdout) {
		if bytes.Contains(line, []byte(`"isError"`)) && !bytes.Contains(line, []byte(`"dev.mcp-jail/denials"`)) && len(addedBlock.FindAll(line, -1)) == 1 {
			line = addedBlock.ReplaceAll(line, nil)
			frames++
		}
		stripped = append(stripped, line...)
	}
	return stripped, frames
}
