package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestHeadRefusedEarly(t *testing.T) {
	for _, head := range []string{"GET / HTTP/1.1\nHost: a.test\n\n", "GET / HTTP/1.1\r\nHost: a.test\n", "\n", strings.Repeat("x", maxHead)} {
		_, _, err := readRequestHead(bufio.NewReaderSize(io.MultiReader(strings.NewReader(head), iotest.ErrReader(io.ErrNoProgress)), maxHead))
		var refused *refusal
		if !errors.As(err, &refused) || refused.why != policy.DeniedAmbiguous {
			t.Errorf("%.50q: %v", head, err)
		}
	}
}

func TestCopyChunks(t *testing.T) {
	rows := append(testkit.Rows(t, "chunks.txt", 2), []string{strings.Repeat("0", 40<<10) + "\r\n\n", "false"})
	for _, row := range rows {
		body, ok := row[0], row[1] == "true"
		var out bytes.Buffer
		b := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(body+"GET")), maxHead)
		err := copyChunks(&out, b)
		if (err == nil) != ok || ok && out.String() != body {
			t.Errorf("%.80q: %q, %v", body, out.String(), err)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"))
	f.Add([]byte("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("PUT / HTTP/1.1\r\nContent-Length: 3\r\nHost: a.test\r\n\r\nabcGET / HTTP/1.1\r\nHost: a.test\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours := bufio.NewReaderSize(bytes.NewReader(b), maxHead)
		head, req, err := readRequestHead(ours)
		if err != nil {
			return
		}
		testkit.Equal(t, fmt.Sprintf("%q passes for no HTTP", b), sniffProtocol(b), protoHTTP)
		// net/http reads the same host, or nothing.
		theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		host := strings.TrimSuffix(theirs.Host, ":"+(&url.URL{Host: theirs.Host}).Port())
		if !strings.EqualFold(host, req.Hosts[0]) {
			t.Errorf("%q here, %q there: %q", req.Hosts, host, head)
		}
		length := req.Length
		if req.Chunked {
			length = -1
		}
		if theirs.ContentLength != length {
			t.Errorf("a body of %d here, %d there: %q", length, theirs.ContentLength, head)
		}
	})
}
