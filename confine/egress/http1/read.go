package http1

import (
	"bufio"
	"errors"
	"io"
)

// Ambiguous is the error of bytes that are no head, or that two readers could take for different ones.
type Ambiguous struct{ why string }

func (e *Ambiguous) Error() string { return e.why }

// ReadHead waits for a complete head that parse accepts, and leaves it in b. The error is an
// *Ambiguous, the error of the connection, or io.EOF if b has nothing more. With an *Ambiguous, r is
// what parse returned with it.
func ReadHead[R any](b *bufio.Reader, parse func([]byte) (R, int, error)) (head []byte, r R, err error) {
	for seen := 0; ; {
		head, _ = b.Peek(b.Buffered())
		for ; seen < len(head); seen++ {
			if head[seen] != '\n' {
				continue
			}
			// Some servers take a bare LF for the end of a line.
			if seen == 0 || head[seen-1] != '\r' {
				return nil, r, &Ambiguous{ErrNotStrict.Error()}
			}
			if seen >= 3 && head[seen-2] == '\n' {
				r, n, err := parse(head[:seen+1])
				if err != nil {
					return nil, r, &Ambiguous{err.Error()}
				}
				if n > 0 {
					return head[:n], r, nil
				}
			}
		}
		switch _, err = b.Peek(b.Buffered() + 1); {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, r, &Ambiguous{"the head of a request is too long"}
		case err == io.EOF && len(head) > 0:
			return nil, r, &Ambiguous{"a request ends in the middle of its head"}
		case err != nil:
			return nil, r, err
		}
	}
}
