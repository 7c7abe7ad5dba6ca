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
	for _, limit := range []int64{100, maxInMemory / 2, maxInMemory + 1000} {
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
	if r.Next(); r.held.Cap() > keepBuffer {
		t.Errorf("keeps a buffer of %d", r.held.Cap())
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
