package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

// answer is how the response of upstream begins.
type answer int

const (
	answerUnknown answer = iota // more bytes are needed
	answerOther
	answerUpgrade // HTTP/1.1 101
	answerHello   // a ServerHello that asks for no other ClientHello
)

// retryRandom is the random value of a ServerHello that asks for a second ClientHello
// (RFC 8446 4.1.3).
const retryRandom = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" +
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

func readAnswer(b []byte) answer {
	const upgrade = "HTTP/1.1 101"
	switch {
	case len(b) < len(upgrade):
		return answerUnknown
	case string(b[:len(upgrade)]) == upgrade:
		return answerUpgrade
	}
	var message []byte // records may split it
	for rest := b; len(rest) >= tlsRecordHeader; {
		n, body := recordSize(rest), rest[tlsRecordHeader:]
		switch {
		case rest[1] != 3 || rest[0] != recordHandshake && rest[0] != recordAlert:
			return answerOther
		case rest[0] == recordHandshake: // a warning may precede it
			message = append(message, body[:min(n, len(body))]...)
		}
		if random := tlsMessageHeader + 2; len(message) >= random+len(retryRandom) {
			if message[0] != typeServerHello || bytes.HasPrefix(message[random:], []byte(retryRandom)) {
				return answerOther
			}
			return answerHello
		}
		if n > len(body) {
			break
		}
		rest = body[n:]
	}
	if len(b) >= sniffBuffer {
		return answerOther
	}
	return answerUnknown
}

// awaitAnswer waits until the response of upstream shows how it begins. Meanwhile it reads from the
// client, to notice that the client has gone; the server may never respond.
func (r *relay) awaitAnswer(b *bufio.Reader) error {
	due := make(chan struct{})
	go func() {
		<-r.responded
		r.client.SetReadDeadline(time.Unix(1, 0))
		close(due)
	}()
	var err error
	for err == nil {
		_, err = b.Peek(b.Buffered() + 1)
	}
	held := errors.Is(err, bufio.ErrBufferFull) || err == io.EOF && b.Buffered() > 0
	if !held && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	<-due
	r.client.SetReadDeadline(time.Time{})
	return nil
}

func (r *relay) relayBuffered(b *bufio.Reader) error {
	if _, err := io.CopyN(writerOnly{r.upstream}, b, int64(b.Buffered())); err != nil {
		return err
	}
	return r.relayRest()
}
