package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestReader checks that the frames together are the bytes of the stream, for all sizes of
// frames and reads.
func TestReader(t *testing.T) {
	smallFrames(t)
	random := rand.New(rand.NewPCG(1, 2))
	var in []byte
	var ids []string
	for i := range 400 {
		size := random.IntN(300)
		if i%80 == 0 {
			size = random.IntN(2 * maxInMemory)
		}
		ids = append(ids, fmt.Sprint(i))
		in = fmt.Appendf(in, `{"jsonrpc":"2.0","result":{"text":"%s"},"id":%d}`, strings.Repeat("a\\n", size/3), i)
		in = append(in, []string{"\n", "\r\n"}[i%2]...)
	}
	in = append(in, `{"id":"last","method":"m"}`...)
	ids = append(ids, `"last"`)
	for name, src := range map[string]io.Reader{
		"whole": bytes.NewReader(in), "data with error": iotest.DataErrReader(bytes.NewReader(in)), "half": iotest.HalfReader(bytes.NewReader(in)),
	} {
		r := NewReader(src, 0)
		var out bytes.Buffer
		w := NewWriter(&out)
		var got []string
		for {
			f, err := r.Next()
			if err == io.EOF {
				break
			}
			testkit.Must(t, err)
			if !f.Flaws.IsStrict() || len(f.Messages) != 1 {
				t.Fatalf("%s: flaws %b, %d messages in a frame of %d", name, f.Flaws, len(f.Messages), f.Size)
			}
			got = append(got, string(f.Messages[0].ID))
			testkit.Must(t, w.Send(f))
		}
		if !bytes.Equal(out.Bytes(), in) {
			t.Errorf("%s: bytes differ", name)
		}
		if fmt.Sprint(got) != fmt.Sprint(ids) {
			t.Errorf("%s: ids %v", name, got)
		}
	}
}

func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(broken)), 0)
	for _, want := range []string{"{}\n", "{"} {
		f, err := r.Next()
		if err != nil || string(f.Bytes()) != want {
			t.Fatalf("%q, %v", f.Bytes(), err)
		}
	}
	if _, err := r.Next(); err != broken {
		t.Errorf("error %v", err)
	}
}

// TestReaderLimit checks that an oversized frame is reported with its id, wherever the id
// stands, that the next frame is read, and that the limit is exact.
func TestReaderLimit(t *testing.T) {
	smallFrames(t)
	for _, limit := range []int64{100, int64(maxInMemory) / 2, int64(maxInMemory) + 1000} {
		pad := strings.Repeat("x", int(limit)+10)
		for _, line := range []string{
			`{"id":7,"result":{"text":"` + pad + `"}}`,
			`{"result":{"text":"` + pad + `"},"id":7}`,
		} {
			r := NewReader(strings.NewReader(line+"\n{}\n"), limit)
			f, err := r.Next()
			if err != nil || !f.Oversized || f.Err != nil || f.Size != int64(len(line))+1 || string(f.Messages[0].ID) != "7" || f.Bytes() != nil {
				t.Errorf("limit %d: %+v, %v", limit, f, err)
			}
			if f, err := r.Next(); err != nil || f.Oversized || string(f.Bytes()) != "{}\n" {
				t.Errorf("limit %d: after it: %+v, %v", limit, f, err)
			}
		}
		exact := `{"id":7,"result":"` + strings.Repeat("x", int(limit)-21) + `"}` + "\n"
		if f, err := NewReader(strings.NewReader(exact), limit).Next(); err != nil || f.Oversized || int64(len(exact)) != limit {
			t.Errorf("limit %d: a frame of just that is oversized: %v %v", limit, len(exact), err)
		}
		longer := strings.Replace(exact, "x", "xx", 1)
		if f, err := NewReader(strings.NewReader(longer), limit).Next(); err != nil || !f.Oversized || f.Bytes() != nil || f.Size != limit+1 {
			t.Errorf("limit %d: a frame of one byte more is not oversized: %d %v", limit, f.Size, err)
		}
	}
}

// TestReaderMemory checks that an oversized line is not held in memory.
func TestReaderMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 256 MiB")
	}
	src := io.MultiReader(strings.NewReader(`{"result":"`), io.LimitReader(endless('x'), 256<<20), strings.NewReader("\",\"id\":7}\n{}\n"))
	r := NewReader(src, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := r.Next()
	runtime.ReadMemStats(&after)
	if err != nil || !f.Oversized || string(f.Messages[0].ID) != "7" || f.Size <= 256<<20 {
		t.Fatalf("%+v, %v", f, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 12<<20 {
		t.Errorf("%d bytes allocated in all", got)
	}
	r.Next() // a small frame
	if r.Next(); len(r.buf) > keepBuffer {
		t.Errorf("keeps a buffer of %d", len(r.buf))
	}
}

// TestReaderCopies checks that large frames that follow one another are all read into one buffer. A new
// one for each, which grows by copies, costs more than all else that is done with them.
func TestReaderCopies(t *testing.T) {
	line := `{"id":1,"result":"` + strings.Repeat("x", 1<<20) + "\"}\n"
	r := NewReader(strings.NewReader(strings.Repeat(line, 5)), 0)
	r.Next()
	if got := testing.AllocsPerRun(3, func() { r.Next() }); got > 1 { // the id
		t.Errorf("%v allocations for a frame", got)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// TestReceive checks that Receive passes the same frames as RunServer.
func TestReceive(t *testing.T) {
	const limit = 20_000
	in := "Listening\n" + `{"id":1,"result":{}}` + "\n" + "[7]\n" + `{"id":2,"result":"` + strings.Repeat("x", limit) + `"}` + "\n" +
		`[{"id":3,"method":"m"}]` + "\r\n" + `{"id":4,"result":{"_meta":{` + strings.Repeat(`"dev.mcp-jail/x":1,`, 100) + `"a":1}}}` + "\n" + `{"id":5,"resu`
	var seen []string
	h := Hooks{
		NonMessage: func(f *Frame) { seen = append(seen, fmt.Sprintf("junk %q", f.Bytes())) },
		Oversized: func(from Side, f *Frame) {
			seen = append(seen, fmt.Sprintf("oversized %s %v", f.Messages[0].ID, f.Err))
		},
	}
	read := func(h *Hooks, stop error) error {
		return h.Receive(NewReader(iotest.HalfReader(strings.NewReader(in)), limit), func(f *Frame) error {
			seen = append(seen, fmt.Sprintf("message %q", f.Bytes()))
			return stop
		})
	}
	testkit.Must(t, read(&h, nil))
	want := []string{
		`junk "Listening\n"`, `message "{\"id\":1,\"result\":{}}\n"`, `junk "[7]\n"`, "oversized 2 <nil>", `message "[{\"id\":3,\"method\":\"m\"}]\r\n"`,
		"oversized 4 " + ErrTooManyReserved.Error(), `junk "{\"id\":5,\"resu"`,
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("seen\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	stop := errors.New("stop")
	if seen = nil; read(&Hooks{}, stop) != stop || len(seen) != 1 {
		t.Errorf("the error of message does not end it: %q", seen)
	}
	if err := h.Receive(NewReader(iotest.ErrReader(stop), 0), nil); err != stop {
		t.Errorf("error %v", err)
	}
}

// TestReceiveTooManyReserved checks that a frame is not forwarded if it can have more reserved
// members than are found.
func TestReceiveTooManyReserved(t *testing.T) {
	const last = `{"method":"n"}`
	forged := `"_meta":{"dev.mcp-jail/denials":[]}`
	batch := func(n int) string {
		return "[" + strings.Repeat(`{"method":"m"},`, n) + `{"method":"m","params":{` + forged + `}}]`
	}
	name := func(n int) string {
		return `{"method":"m","params":{"name":"` + strings.Repeat("x", n) + `",` + forged + `}}`
	}
	for _, c := range []struct {
		in   string
		want error
	}{
		{`{"id":4,"result":{"_meta":{` + strings.Repeat(`"dev.mcp-jail/denials":[],`, 1000) + `"a":1}}}`, ErrTooManyReserved},
		{batch(maxBatch - 1), nil},
		{batch(maxBatch), ErrTooManyNames},
		{name(maxText - 31), nil},
		{name(maxText - 11), ErrTooManyNames}, // the name of the member has no room
		{name(maxText - 5), ErrTooManyNames},  // nor has that of its container
		{name(maxText + 1), nil},              // this name is not kept at all
		{`{"method":"m","params":{"_meta":{"dev.mcp-jail/` + strings.Repeat("x", maxText) + `":1}}}`, ErrTooManyNames},
		{`{"Method":"m","params":{` + forged + `}}`, nil}, // some readers ignore case
		{`{"id":1,"Result":{` + forged + `}}`, nil},
	} {
		var out bytes.Buffer
		var why error
		p := NewProxy(NewConn(strings.NewReader(""), &out, 0), Hooks{
			Oversized:       func(_ Side, f *Frame) { why = f.Err },
			ReservedMembers: func(f *Frame, e *Envelope) { f.Cut(e.Reserved) },
		})
		testkit.Must(t, p.RunServer(NewConn(strings.NewReader(c.in+"\n"+last), io.Discard, 0)))
		got := out.String()
		if !errors.Is(why, c.want) || strings.Contains(got, ReservedPrefix) || !strings.HasSuffix(got, last) || (len(got) == len(last)) != (c.want != nil) {
			t.Errorf("%.60q of %d bytes: error %v, want %v; forwarded %d bytes: %.100q", c.in, len(c.in), why, c.want, len(got), got)
		}
	}
}

// TestNoise checks what of a server's output is a message, by its members.
func TestNoise(t *testing.T) {
	smallFrames(t)
	for line, noise := range testkit.Named[bool](t, "lines.txt", "<long>", strings.Repeat("x", 2*maxInMemory)) {
		f, err := NewReader(strings.NewReader(line+"\n"), 0).Next()
		if err != nil || f.Noise() != noise {
			t.Errorf("%.80s: noise %v, error %v", line, f.Noise(), err)
		}
		f.Close()
	}
}

// receive returns what Receive makes of the output of a server, and how much of it is noise.
func receive(t *testing.T, in io.Reader) (events []string, noise int) {
	t.Helper()
	h := Hooks{
		NonMessage: func(*Frame) { noise++ },
		Oversized: func(_ Side, f *Frame) {
			for i := range f.Messages {
				events = append(events, fmt.Sprintf("%s %v", f.Messages[i].ID, f.Err))
			}
		},
	}
	if err := h.Receive(NewReader(in, 0), func(f *Frame) error {
		events = append(events, strings.TrimSpace(string(f.Bytes())))
		return nil
	}); err != nil {
		t.Error(err)
	}
	return events, noise
}

// TestSeveralLines checks that a message over several lines is reported once it is whole, that its
// lines are noise, and that lines which only look like one change nothing.
func TestSeveralLines(t *testing.T) {
	pretty := func(id string) string {
		return "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": " + id + ",\n  \"result\": {\n    \"a\": [\n      {},\n      \"b\"\n    ]\n  }\n}\n"
	}
	const single = `{"id":9,"result":1}`
	several := func(id string) string { return id + " " + ErrSeveralLines.Error() }
	for name, c := range map[string]struct {
		in    string
		want  []string
		noise int
	}{
		"one":                      {pretty("1") + single, []string{several("1"), single}, 10},
		"two":                      {pretty("1") + pretty("2"), []string{several("1"), several("2")}, 20},
		"no line end between them": {strings.TrimSuffix(pretty("1"), "\n") + pretty("2"), []string{several("1"), several("2")}, 19},
		"CRLF":                     {strings.ReplaceAll(pretty("1"), "\n", "\r\n"), []string{several("1")}, 10},
		"blank lines":              {strings.ReplaceAll(pretty("1"), "\n", "\n\n"), []string{several("1")}, 20},
		"batch":                    {"[\n{\n\"id\":1,\n\"result\":1\n},\n{\n\"id\":2,\n\"result\":1\n}\n]\n", []string{several("1"), several("2")}, 10},
		"line end in a string":     {"{\"id\":1,\"result\":\"a\nb\"}\n", []string{several("1")}, 2},
		"after a log":              {"Starting {\n[INFO] up\n{oops\n" + pretty("1"), []string{several("1")}, 13},
		"after half a message":     {"{\"id\":7,\n" + pretty("1"), []string{several("1")}, 11},
		"a log over several lines": {"{\n\"level\":30\n}\n" + single, []string{single}, 3},
		"a message between":        {"{\n" + single + "\n\"id\":1,\"result\":1}\n", []string{single}, 2},
		"cut off":                  {"{\n\"id\":1,\n", nil, 2},
		"other values":             {"[\n1\n]\n7\n\"a\"\n", nil, 5},
	} {
		for step, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			if got, noise := receive(t, src); fmt.Sprint(got) != fmt.Sprint(c.want) || noise != c.noise {
				t.Errorf("%s (%d): %q and %d lines of noise, want %q and %d", name, step, got, noise, c.want, c.noise)
			}
		}
	}
}

// TestContentLength checks that messages framed as by LSP are reported, also the last one, after
// which no byte comes, and that a message with its own line passes whatever is before it.
func TestContentLength(t *testing.T) {
	smallFrames(t)
	framed := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	rejected := func(id string) string { return id + " " + ErrContentLength.Error() }
	const one, two = `{"id":1,"result":{"é":1}}`, `{"id":2,"result":{}}`
	big := `{"result":"` + strings.Repeat("x", 2*maxInMemory) + `","id":3}`
	for name, c := range map[string]struct {
		in     string
		want   []string
		atOnce bool // a reader of single bytes would see another text, or takes too long
	}{
		"one":               {framed(one), []string{rejected("1")}, false},
		"two":               {framed(one) + framed(two), []string{rejected("1"), rejected("2")}, false},
		"large":             {framed(big) + framed(two), []string{rejected("3"), rejected("2")}, true},
		"type":              {"content-length:20\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n" + two, []string{rejected("2")}, false},
		"length of another": {strings.Replace(framed(one), "26", "24", 1) + framed(two), []string{rejected("1"), rejected("2")}, false},
		"log":               {framed(`{"level":30}`) + "\n" + two + "\n", []string{two}, false},
		"own line":          {framed(one+"\n") + framed(two+"\n"), []string{one, two}, false},
		"line end at once":  {framed(one) + "\n" + framed(two) + "\n", []string{one, two}, true},
		"length in a log":   {"Content-Length: 20\n\nand more\n" + two + "\n", []string{two}, false},
		"no blank line":     {"Content-Length: 20\n" + two + "\n" + one, []string{two, one}, false},
		"another text":      {two + "Content: 90\n", []string{two + "Content: 90"}, false},
	} {
		for step, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			if step == 1 && c.atOnce {
				continue
			}
			if got, _ := receive(t, src); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s (%d): %.200q, want %q", name, step, got, c.want)
			}
		}
	}
	// The last message is reported although no more comes.
	in, server := io.Pipe()
	done := make(chan string, 1)
	go func() {
		h := Hooks{Oversized: func(_ Side, f *Frame) { done <- string(f.Messages[0].ID) }}
		h.Receive(NewReader(in, 0), func(*Frame) error { return nil })
	}()
	server.Write([]byte(framed(one)))
	if id := <-done; id != "1" {
		t.Errorf("id %s", id)
	}
	server.Close()
	// A client is not a server: what it sends is passed on as it is.
	r := NewReader(strings.NewReader(framed(one)), 0)
	var all string
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		if f.Oversized {
			t.Error("the frame of a client is dropped")
		}
		all += string(f.Bytes())
	}
	if all != framed(one) {
		t.Errorf("%q", all)
	}
}
