package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress/front"
	"github.com/mcp-jail/mcp-jail/policy"
)

// relayRequests forwards HTTP/1 requests. It checks the host of each request, because a
// connection to a granted host can carry requests to others. It forwards bodies unchanged;
// their length shows where the next request begins.
func (r *relay) relayRequests() error {
	b := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(r.head), r.client), maxHead)
	for first := true; ; first = false {
		head, req, err := readRequestHead(b)
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if why, detail := r.g.rules.checkNames(r.d, protoHTTP, req.Hosts); why != "" {
			return &refusal{why, detail}
		}
		if _, err := r.upstream.Write(head); err != nil {
			return err
		}
		b.Discard(len(head))
		switch {
		case req.Chunked:
			err = copyChunks(r.upstream, b)
		case req.Length > 0:
			_, err = io.CopyN(writerOnly{r.upstream}, b, req.Length)
		case req.WebSocket && !first:
			return &refusal{policy.DeniedAmbiguous, "an upgrade to WebSocket has to be the first request of its connection"}
		case req.WebSocket:
			// Until the server agrees, it reads the following bytes as requests.
			if err = r.awaitAnswer(b); err == nil && r.first == answerUpgrade {
				return r.relayBuffered(b)
			}
		}
		if err != nil && err != io.EOF { // the server sees a truncated request as it is
			return err
		}
		if r.single {
			return r.awaitEnd(b)
		}
	}
}

// awaitEnd waits until the client ends its side after the only request of a connection. A server
// could take the end of that side for the end of the client, so it is not told before.
func (r *relay) awaitEnd(b *bufio.Reader) error {
	switch _, err := b.Peek(1); err {
	case nil:
		return &refusal{policy.DeniedAmbiguous, "a second request in a connection of the proxy, which is for one request"}
	case io.EOF:
		return nil
	default:
		return err
	}
}

// writerOnly hides all methods of a writer but Write.
type writerOnly struct{ io.Writer }

// readRequestHead waits for a complete head and leaves it in b. The error is io.EOF if the
// client has no more requests.
func readRequestHead(b *bufio.Reader) (head []byte, req front.Request, err error) {
	head, req, err = front.ReadHead(b, front.ParseHead)
	var unread *front.Ambiguous
	if errors.As(err, &unread) {
		err = &refusal{policy.DeniedAmbiguous, err.Error()}
	}
	return head, req, err
}

func copyChunks(w io.Writer, b *bufio.Reader) error {
	// Each chunk is a line with its size, its bytes, and an empty line. Size 0 ends the body.
	for size := int64(-1); size != 0; {
		line, err := readChunkLine(b)
		if err != nil {
			return err
		}
		if size, err = parseChunkSize(line); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		if size == 0 {
			break
		}
		if _, err := io.CopyN(writerOnly{w}, b, size); err != nil {
			return err
		}
		if line, err = readChunkLine(b); err != nil {
			return err
		}
		if len(line) != 2 {
			return &refusal{policy.DeniedAmbiguous, front.ErrNotStrict.Error()}
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	// The trailer ends with an empty line.
	for {
		line, err := readChunkLine(b)
		if err != nil {
			return err
		}
		name, _, ok := bytes.Cut(line, []byte(":"))
		if len(line) > 2 && (!ok || !front.IsToken(string(name))) {
			return &refusal{policy.DeniedAmbiguous, front.ErrNotStrict.Error()}
		}
		if why := front.CheckField(string(name), front.InTrailer); why != "" {
			return &refusal{policy.DeniedAmbiguous, why}
		}
		if _, err := w.Write(line); err != nil || len(line) == 2 {
			return err
		}
	}
}

func readChunkLine(b *bufio.Reader) ([]byte, error) {
	line, err := b.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			err = &refusal{policy.DeniedAmbiguous, front.ErrNotStrict.Error()}
		}
		return nil, err
	}
	if _, _, _, err := front.CutLine(line); err != nil {
		return nil, &refusal{policy.DeniedAmbiguous, err.Error()}
	}
	return line, nil
}

// parseChunkSize parses the size of a chunk. It rejects extensions, because servers differ
// about their end and clients do not need them.
func parseChunkSize(line []byte) (int64, error) {
	digits := strings.TrimSuffix(string(line), "\r\n")
	var size int64
	for _, c := range []byte(digits) {
		i := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || i < 0 {
			return 0, &refusal{policy.DeniedAmbiguous, front.ErrNotStrict.Error()}
		}
		size = size<<4 | int64(i)
	}
	if digits == "" || len(digits) > 15 {
		return 0, &refusal{policy.DeniedAmbiguous, front.ErrNotStrict.Error()}
	}
	return size, nil
}
