package main

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

// TestAnswer finds the answer among other messages, with its id in any place.
func TestAnswer(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct{ name, before, frame string }{
		{"id first", "", `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{"id last", "", `{"result":{"text":"` + long + `"},"jsonrpc":"2.0","id":7}`},
		{"id first of a long one", "", `{"id":7,"result":{"text":"` + long + `"}}`},
		{"behind a notification", `{"method":"notifications/message","params":{"text":"` + long + `"}}` + "\n", `{"id":7,"result":1}`},
		{"behind other ids", `{"id":70,"result":1}` + "\n" + `{"id":6,"result":7}` + "\n", `{"id":7,"result":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &session{out: bufio.NewReaderSize(strings.NewReader(c.before+c.frame+"\n"), 4096), overdue: time.NewTimer(answerTimeout)}
			if n, err := s.answer(7); err != nil || n != len(c.frame)+1 {
				t.Errorf("got %d, %v; the frame has %d bytes", n, err, len(c.frame)+1)
			}
		})
	}
	s := &session{out: bufio.NewReader(strings.NewReader(`{"id":8,"result":1}` + "\n")), overdue: time.NewTimer(answerTimeout)}
	if _, err := s.answer(7); err == nil {
		t.Error("the answer to another request was taken")
	}
}
