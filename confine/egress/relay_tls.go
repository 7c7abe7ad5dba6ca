package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/mcp-jail/mcp-jail/policy"
)

// relayHello forwards a ClientHello whose name was checked, and what follows. A server can ask for a
// second ClientHello (RFC 8446 4.1.4), and OpenSSL then goes by the name in that one. A client may
// send it before it is asked. So nothing follows the first one before the server has answered.
func (r *relay) relayHello() error {
	if _, err := r.upstream.Write(r.head[:r.hello]); err != nil {
		return err
	}
	b := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(r.head[r.hello:]), r.client), maxHead)
	switch err := r.awaitAnswer(b); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	case r.first == answerHello:
		return r.relayBuffered(b)
	}
	return r.relaySecondHello(b)
}

func (r *relay) relaySecondHello(b *bufio.Reader) error {
	for {
		held, _ := b.Peek(b.Buffered())
		name, n, isHello, err := nextHello(held)
		if err != nil {
			return &refusal{policy.DeniedAmbiguous, err.Error()}
		}
		if isHello {
			if why, detail := r.g.rules.checkNames(r.d, protoTLS, []string{name}); why != "" {
				return &refusal{why, detail}
			}
		}
		// What was checked is sent, and nothing after it.
		if _, err := r.upstream.Write(held[:n]); err != nil {
			return err
		}
		b.Discard(n)
		if isHello {
			return r.relayBuffered(b)
		}
		if n > 0 {
			continue
		}
		switch _, err := b.Peek(b.Buffered() + 1); {
		case errors.Is(err, bufio.ErrBufferFull), err == io.EOF && len(held) > 0:
			return &refusal{policy.DeniedAmbiguous, errClientHello.Error()}
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// nextHello returns the length of the record at the beginning of b, or of a whole ClientHello with
// its name. n is 0 if b does not hold all of it. Before a second ClientHello servers skip other
// records: of a change of ciphers, an alert, or early data.
func nextHello(b []byte) (name string, n int, isHello bool, err error) {
	switch {
	case len(b) < tlsRecordHeader:
		return "", 0, false, nil
	case b[0] == recordHandshake:
		name, n, err = clientHello(b)
		return name, n, n > 0, err
	case b[0] < minRecordType || b[0] > recordData || b[1] != 3:
		return "", 0, false, errClientHello
	}
	if n = tlsRecordHeader + recordSize(b); n > len(b) {
		n = 0
	}
	return "", n, false, nil
}
