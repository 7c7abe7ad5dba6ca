package egress

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// retries are the ClientHellos of a client that is asked for another key.
func retries(t testing.TB, name string) (first, second []byte) {
	client, server := pair(t)
	defer client.Close()
	go tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}}).Handshake()
	defer server.Close()
	read := recording{Conn: server}
	tls.Server(&read, &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return nil, io.EOF
	}}).Handshake()
	n := tlsRecordHeader + recordSize(read.b)
	return read.b[:n], read.b[n:]
}

// recording is a connection that keeps what was read.
type recording struct {
	net.Conn
	b []byte
}

func (r *recording) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.b = append(r.b, p[:n]...)
	return n, err
}

// helloSeeds are handshakes of crypto/tls, and of the programs that are named in testdata/hello.
func helloSeeds(t testing.TB) (seeds [][]byte) {
	files, err := filepath.Glob("testdata/hello/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("no handshakes of programs: %v", err)
	}
	for _, f := range files {
		text := testkit.Get(os.ReadFile(f))(t)
		b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		seeds = append(seeds, b)
	}
	first, second := retries(t, "api.test")
	whole := hello(t, "api.test")
	return append(seeds, whole, records(whole, 1), records(whole, 7), hello(t, "bad.test"), hello(t, ""), []byte(oldTLS), slices.Concat(first, second),
		slices.Concat(first, bytes.ReplaceAll(second, []byte("api.test"), []byte("bad.test"))))
}

// mutateHello changes a handshake in one of the ways in which servers may be more lenient.
func mutateHello(random *rand.Rand, b []byte) []byte {
	const api, bad = "api.test", "bad.test"
	at := random.IntN(len(b) + 1)
	switch name := bytes.Index(b, []byte(api)); random.IntN(9) {
	case 0: // another byte, most often one of a header
		if i := min(random.IntN(64), len(b)-1); i >= 0 {
			b[i] = byte(random.IntN(256))
		}
	case 1:
		if name >= 9 { // the extension's and the list's lengths and kinds
			b[name-9+random.IntN(10)] ^= 1 << random.IntN(8)
		}
	case 2:
		return records(b, 1+random.IntN(300))
	case 3: // a record before
		return slices.Concat(oneOf(random, "\x15\x03\x01\x00\x02\x01\x70", "\x14\x03\x01\x00\x01\x01", "\x17\x03\x03\x00\x01x", "\x15\x00\x00\x00\x02\x01\x5a", "\x16\x03\x01\x00\x00", "\r\n"), b)
	case 4: // a record in the middle
		return slices.Concat(b[:at], oneOf(random, "\x15\x03\x01\x00\x02\x01\x70", "\x14\x03\x01\x00\x01\x01", "\x16\x03\x01\x00\x00"), b[at:])
	case 5: // another version
		if len(b) > 10 {
			b[[]int{1, 2, 9, 10}[random.IntN(4)]] = byte(random.IntN(5))
		}
	case 6:
		return bytes.ReplaceAll(b, []byte(api), []byte(bad))
	case 7:
		return b[:at]
	case 8:
		if name >= 0 {
			copy(b[name:], oneOf(random, "API.TEST", "api.tes.", "bad.test", "api\x00test"))
		}
	}
	return b
}

func oneOf(random *rand.Rand, all ...string) []byte { return []byte(all[random.IntN(len(all))]) }

// FuzzClientHello: what crypto/tls takes for a handshake counts as one, and has the same name or is
// refused, however the bytes arrive.
func FuzzClientHello(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, b := range helloSeeds(f) {
		f.Add(b)
		for range 8 {
			f.Add(mutateHello(random, bytes.Clone(b)))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		names := readByGo(b)
		n, p := 0, protoUnknown
		for n < len(b) && p == protoUnknown { // one byte after the other
			n++
			p = sniffProtocol(b[:n])
		}
		if len(names) == 0 {
			return
		}
		testkit.MustEqual(t, fmt.Sprintf("crypto/tls reads %q, and here it is … after %d bytes", names, n), p, protoTLS)
		name, size, err := clientHello(b)
		if err != nil || size == 0 {
			return // refused
		}
		if whole, again, _ := clientHello(b[:size]); whole != name || again != size {
			t.Fatalf("%q of %d bytes, and %q of %d", name, size, whole, again)
		}
		testkit.MustEqual(t, "here and for crypto/tls", names[0], name)
	})
}

// readByGo returns the server names that crypto/tls reads, at most one for a handshake that it
// accepts.
func readByGo(b []byte) (names []string) {
	server := tls.Server(readConn{Reader: bytes.NewReader(b)}, &tls.Config{MinVersion: tls.VersionTLS10, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		names = append(names, h.ServerName)
		return nil, io.EOF
	}})
	server.Handshake()
	return names
}
