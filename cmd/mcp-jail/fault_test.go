//go:build linux

package main

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

	"golang.org/x/sys/unix"
)

// The tests in fault*_test.go make everything go wrong around a whole mcp-jail.
// Each compares with a bare server, and each is shown to be able to fail.

// faultyServer is a place of the faulty server that every jail may see.
var faultyServer = sync.OnceValues(func() (string, error) {
	file := filepath.Join(os.TempDir(), "bin", "real", "faulty") // TestMain removes it
	b, err := os.ReadFile("/proc/self/exe")
	return file, errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, b, 0o755))
})

// talk is what a client does in one session.
type talk struct {
	mode     []string // of the faulty server
	say      []byte
	bytewise bool
	until    string        // what the client waits for, then it closes stdin
	deaf     time.Duration // for which it does not read
	stopped  bool          // the proxy is, again and again
}

// replay is what came of it.
type replay struct {
	stdout, stderr []byte
	status         int // 128 + n for those that died of signal n
	peakKB         int // of memory
}

// on plays a talk. The client gives up waiting after so long, and closes stdin.
func (c talk) on(t *testing.T, cmd *exec.Cmd, enough time.Duration) replay {
	t.Helper()
	theirIn, in, err := os.Pipe()
	must(t, err)
	out, theirs, err := os.Pipe()
	must(t, err)
	defer out.Close()
	var stderr lockedBuffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirIn, theirs, &stderr, 5*time.Second
	err = cmd.Start()
	theirIn.Close()
	theirs.Close()
	must(t, err)
	hung := time.AfterFunc(patience, func() {
		t.Errorf("%v hangs", cmd.Args)
		cmd.Process.Kill()
	})
	defer hung.Stop()

	var r replay
	heard := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		time.Sleep(c.deaf)
		buf, met := make([]byte, 64<<10), false
		for {
			n, err := out.Read(buf)
			from := max(0, len(r.stdout)-len(c.until))
			r.stdout = append(r.stdout, buf[:n]...)
			if !met && bytes.Contains(r.stdout[from:], []byte(c.until)) {
				met = true
				close(heard)
			}
			if err != nil {
				return
			}
		}
	}()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		size := max(1, len(c.say))
		if c.bytewise {
			size = 1
		}
		for part := range slices.Chunk(c.say, size) {
			if _, err := in.Write(part); err != nil {
				return
			}
			for c.bytewise && unread(in) > 0 && !isClosed(ended) {
				time.Sleep(10 * time.Microsecond) // one byte, one read
			}
		}
	}()
	if c.stopped {
		for range 5 {
			cmd.Process.Signal(syscall.SIGSTOP)
			eventually(t, "the proxy is stopped", func() bool {
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
				return bytes.Contains(stat, []byte(") T "))
			})
			time.Sleep(100 * time.Millisecond)
			cmd.Process.Signal(syscall.SIGCONT)
			time.Sleep(10 * time.Millisecond)
		}
	}
	timeout := time.After(enough)
	select {
	case <-sent:
	case <-ended:
	case <-timeout:
	}
	if c.until != "" {
		select {
		case <-heard:
		case <-ended:
		case <-timeout:
		}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); peak != nil {
		r.peakKB = atoi(peak[1])
	}
	in.Close()
	<-ended
	cmd.Wait()
	r.stderr, r.status = []byte(stderr.String()), statusAfter(cmd.ProcessState)
	return r
}

// unread is how much of a pipe nobody has read yet.
func unread(pipe *os.File) (n int) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func statusAfter(p *os.ProcessState) int {
	if ws := p.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}

// difference is empty where a client could not tell.
func difference(want, got replay) string {
	if want.status != got.status {
		return fmt.Sprintf("exit status %d, bare %d; stderr %.300q", got.status, want.status, got.stderr)
	}
	for i := range max(len(want.stdout), len(got.stdout)) {
		if i >= len(want.stdout) || i >= len(got.stdout) || want.stdout[i] != got.stdout[i] {
			clip := func(b []byte) []byte { return b[min(len(b), max(0, i-40)):min(len(b), i+60)] }
			return fmt.Sprintf("stdout (%d bytes, bare %d) differs at %d: %q, bare %q; stderr %.300q", len(got.stdout), len(want.stdout), i, clip(got.stdout), clip(want.stdout), got.stderr)
		}
	}
	return ""
}

const handshake = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"faults","version":"1"}}}` + "\n"

// calls are requests with these ids, each with parameters of its own.
func calls(ids []string, end string) []byte {
	b := []byte(handshake)
	for i, id := range ids {
		b = fmt.Appendf(b, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"t","arguments":{"n":%d,"text":"ü🙂\\\u2028"}}}`+end, id, i)
	}
	return b
}

func numbers(n int) (ids []string) {
	for i := range n {
		ids = append(ids, strconv.Itoa(i))
	}
	return ids
}

var oddIDs = []string{
	"0", "1", "-7", "-0", "9007199254740993", "-9007199254740993", "123456789012345678901234567890", "1.5", "2.0", "1e2", "1E+2", "3.14e-400",
	`""`, `"0"`, `"ü🙂"`, `"\u00fc"`, `"a\"b\\\/"`, `"\u0000"`, `"` + strings.Repeat("x", 5000) + `"`, "null",
}

// ambiguous messages mean different things to different readers.
const ambiguous = handshake +
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{}}` + "\n" +
	`{"jsonrpc":"2.0","id":3,"ID":4,"method":"tools/call","params":{"name":"a","Name":"b","name":"c"}}` + "\n" +
	`{"jsonrpc":"2.0","id":5,"Method":"ping"}` + "\n" +
	`{"JSONRPC":"1.0","jsonrpc":"2.0","id":6,"\u0069d":6,"method":"tools/call","params":{"isError":false,"IsError":true,"isError":false}}` + "\n" +
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"a":1,"a":2,"A":3},"_META":{},"_meta":{}}}` + "\n" +
	`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"deep":[{"k":1,"k":2,"K":3}]},"result":{},"result":1}` + "\n"

const noText = handshake +
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"text\":\"\xff\xfe \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82\"}}\n" +
	"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"tools/call\",\"params\":{\"\xfe\":\"\\ud800\"}}\n" +
	"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n"

func notes(n int) []byte {
	b := []byte(handshake)
	for i := range n {
		b = fmt.Appendf(b, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d}}`+"\n", i)
	}
	return append(b, `{"jsonrpc":"2.0","id":"tally","method":"tally"}`+"\n"...)
}

func flood(n int) []byte {
	return fmt.Appendf([]byte(handshake), `{"jsonrpc":"2.0","id":"end","method":"tools/call","params":{"flood":%d}}`+"\n", n)
}

// TestFaultStreams: hard streams come through as they were. A relay that makes
// the one mistake is told from one that does not.
func TestFaultStreams(t *testing.T) {
	t.Parallel()
	large := fmt.Appendf([]byte(handshake), `{"jsonrpc":"2.0","id":"l","method":"tools/call","params":{"text":"%s"}}`+"\n", strings.Repeat("ünd so weiter ", 750_000))
	large = append(large, `{"jsonrpc":"2.0","id":"end","method":"tools/call","params":{}}`+"\n"...)
	for name, c := range map[string]struct {
		talk
		lossy string
		lines int // on stdout
	}{
		"a client that writes byte by byte": {talk{mode: []string{"echo"}, say: calls(numbers(3), "\n"), bytewise: true, until: `"id":2,`}, "reads", 4},
		"a server that writes byte by byte": {talk{mode: []string{"bytewise"}, say: calls(numbers(3), "\n"), until: `"id":2,`}, "reads", 4},
		"10 MB both ways":                   {talk{mode: []string{"echo"}, say: large, until: `"id":"end"`}, "short", 3},
		"no newline at the end":             {talk{mode: []string{"echo"}, say: bytes.TrimSuffix(calls(numbers(3), "\n"), []byte("\n"))}, "ends", 3},
		"CR LF":                             {talk{mode: []string{"echo"}, say: calls(numbers(10), "\r\n"), until: `"id":9,`}, "trims", 11},
		"invalid UTF-8":                     {talk{mode: []string{"echo"}, say: []byte(noText), until: `"data":`}, "corrects", 4},
		"ambiguous members":                 {talk{mode: []string{"echo"}, say: []byte(ambiguous), until: `"id":8`}, "decodes", 7},
		"ids of every kind":                 {talk{mode: []string{"echo"}, say: calls(oddIDs, "\n"), until: `"id":null`}, "decodes", len(oddIDs) + 1},
		"5,000 requests in flight":          {talk{mode: []string{"hold", "5000"}, say: calls(numbers(5000), "\n"), until: `"id":0,`}, "drops", 5001},
		"100,000 notifications of a server": {talk{mode: []string{"echo"}, say: flood(100_000), until: `"id":"end"`}, "drops", 100_002},
		"100,000 notifications of a client": {talk{mode: []string{"echo"}, say: notes(100_000), until: `"id":"tally"`}, "forgets", 2},
		"a proxy that is stopped":           {talk{mode: []string{"echo"}, say: calls(numbers(5000), "\n"), until: `"id":4999,`, stopped: true}, "drops", 5001},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			program, err := faultyServer()
			must(t, err)
			direct := c.talk
			direct.bytewise, direct.stopped = false, false
			want := direct.on(t, w.plain(append([]string{program}, c.mode...)...), patience)
			if n := bytes.Count(want.stdout, []byte("\n")); n != c.lines || want.status != 0 {
				t.Fatalf("the bare server: %d lines, want %d; status %d: %.300q", n, c.lines, want.status, want.stdout)
			}
			got := c.on(t, w.jail(append([]string{"--", program}, c.mode...)...), patience)
			if d := difference(want, got); d != "" {
				t.Error(d)
			}
			bad := c.on(t, w.plain(append([]string{program, "lossy", c.lossy}, c.mode...)...), 2*time.Second)
			if difference(want, bad) == "" {
				t.Errorf("a relay that is lossy (%s) is not noticed", c.lossy)
			}
		})
	}
}

// TestFaultReaderStalls: what a client does not read waits with the server, not
// in the proxy, and nothing of it is lost. The client pauses for three seconds.
func TestFaultReaderStalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program, err := faultyServer()
	must(t, err)
	const most = 48 << 10 // kB
	c := talk{mode: []string{"echo"}, say: flood(250_000), until: `"id":"end"`}
	want := c.on(t, w.plain(program, "echo"), patience)
	if len(want.stdout) < 60<<20 {
		t.Fatalf("%d bytes are too few to tell", len(want.stdout))
	}
	c.deaf = 3 * time.Second
	got := c.on(t, w.jail("--", program, "echo"), patience)
	if d := difference(want, got); d != "" {
		t.Error(d)
	}
	if got.peakKB == 0 || got.peakKB > most {
		t.Errorf("the proxy took %d kB", got.peakKB)
	}
	c.deaf = 0
	if bad := c.on(t, w.plain(program, "lossy", "hoards", "echo"), patience); bad.peakKB <= most {
		t.Errorf("a relay that hoards took %d kB only: the limit says nothing", bad.peakKB)
	}
}

// TestFaultDeathInsideAFrame: half a frame is no message. The client gets an
// answer in place of it, where the bare server leaves it with half a line.
func TestFaultDeathInsideAFrame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program, err := faultyServer()
	must(t, err)
	for mode, status := range map[string]int{"half": 9, "half-killed": 137} {
		c := talk{say: calls([]string{"1"}, "\n"), until: `"code":`}
		whole := func(r replay) (n int) {
			for line := range bytes.Lines(r.stdout) {
				if json.Valid(line) {
					n++
				}
			}
			return n
		}
		bare := c.on(t, w.plain(program, mode), patience)
		if bare.status != status || whole(bare) != 1 || bytes.Count(bare.stdout, []byte("\n")) != 1 {
			t.Errorf("%s: the bare server: %+v", mode, bare)
		}
		got := c.on(t, w.jail("--", program, mode), patience)
		if got.status != status || whole(got) != 2 || bytes.Count(got.stdout, []byte("\n")) != 2 || !bytes.Contains(got.stdout, []byte(`"id":1,"error":{"code":-31003`)) {
			t.Errorf("%s: status %d, want %d; stdout %q", mode, got.status, status, got.stdout)
		}
	}
}

var dropped = regexp.MustCompile(`mcp-jail: (\d+) lines of the server's stderr were dropped`)

// TestFaultStderrFloods while stdout is closed, by the server or by the client.
func TestFaultStderrFloods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program, err := faultyServer()
	must(t, err)
	const lines = 100_000

	// A client that reads: each line comes, or is counted among the dropped.
	c := talk{say: calls([]string{"1"}, "\n"), until: `"id":1,`}
	count := func(r replay) int { return bytes.Count(r.stderr, []byte(" of many\n")) }
	bare := c.on(t, w.plain(program, "stderr", strconv.Itoa(lines)), patience)
	if bare.status != 5 || count(bare) != lines {
		t.Errorf("the bare server: status %d, %d lines", bare.status, count(bare))
	}
	got := c.on(t, w.jail("--", program, "stderr", strconv.Itoa(lines)), patience)
	n := count(got)
	for _, d := range dropped.FindAllSubmatch(got.stderr, -1) {
		n += atoi(d[1])
	}
	if got.status != 5 || n != lines || count(got) == 0 {
		t.Errorf("status %d, %d lines came or were counted, %d came", got.status, n, count(got))
	}
	if !bytes.Contains(got.stdout, []byte(`"id":1,"error":{"code":-31003`)) {
		t.Errorf("the call is not answered: %q", got.stdout)
	}

	// A client that does not read its stderr hangs a bare server for good.
	for _, mode := range []string{"stderr", "stderr-until-eof"} {
		for kind, cmd := range map[string]*exec.Cmd{
			"bare": w.plain(program, mode, strconv.Itoa(lines)), "jailed": w.jail("--", program, mode, strconv.Itoa(lines)),
		} {
			unread, theirErr, err := os.Pipe()
			must(t, err)
			out, theirOut, err := os.Pipe()
			must(t, err)
			cmd.Stdout, cmd.Stderr = theirOut, theirErr
			in, err := cmd.StdinPipe()
			must(t, err)
			must(t, cmd.Start())
			theirOut.Close()
			theirErr.Close()
			io.WriteString(in, handshake)
			out.Read(make([]byte, 1000))
			if mode == "stderr-until-eof" {
				out.Close() // and the answer to come finds it closed
			}
			in.Write(bytes.TrimPrefix(calls([]string{"1"}, "\n"), []byte(handshake)))
			ended := make(chan struct{})
			go func() { cmd.Wait(); close(ended) }()
			patient := patience
			if kind == "bare" {
				patient = time.Second
				if mode == "stderr-until-eof" {
					in.Close()
				}
			}
			select {
			case <-ended:
			case <-time.After(patient):
				cmd.Process.Kill()
				<-ended
			}
			want := map[string]int{"bare stderr": 137, "jailed stderr": 5, "bare stderr-until-eof": 6, "jailed stderr-until-eof": 6}[kind+" "+mode]
			if status := statusAfter(cmd.ProcessState); status != want {
				t.Errorf("%s, %s: exit status %d, want %d", kind, mode, status, want)
			}
			in.Close()
			out.Close()
			unread.Close()
		}
		w.noneLeft(t)
	}
}
