package intercept

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// slowBody is a body whose Read waits for the deadline that a responder gets.
type slowBody struct {
	http.ResponseWriter
	in, deadline chan struct{}
	left         bool // Read has returned
}

func (b *slowBody) Read([]byte) (int, error) {
	close(b.in)
	<-b.deadline
	b.left = true
	return 0, io.ErrNoProgress
}

func (b *slowBody) Close() error { return nil }

func (b *slowBody) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		close(b.deadline)
	}
	return nil
}

// TestBodyStopped tests that no one reads a body any more when its handler returns: net/http would
// wait for him, and now and then forever.
func TestBodyStopped(t *testing.T) {
	b := &slowBody{in: make(chan struct{}), deadline: make(chan struct{})}
	u := &requestBody{ReadCloser: b, length: 10, done: make(chan struct{})}
	got := make(chan error, 1)
	go func() {
		_, err := u.Read(make([]byte, 1))
		got <- err
	}()
	<-b.in
	u.stop(http.NewResponseController(b))
	if !b.left {
		t.Error("it is still being read")
	}
	testkit.Equal(t, "", <-got, io.ErrNoProgress)
	if n, err := u.Read(make([]byte, 1)); n != 0 || err != http.ErrBodyReadAfterClose {
		t.Errorf("then %d, %v", n, err)
	}
}
