//go:build unix

package sessiontest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// failure is the part of an error frame of ours that tests look at.
type failure struct {
	ID    json.RawMessage
	Error struct {
		Code    int
		Message string
		Data    map[string]struct{ Stage, Tool string }
	}
}

func FailureOf(t testing.TB, line string) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	if f.Error.Data["dev.mcp-jail/failure"].Stage == "" {
		t.Errorf("%q is no error of ours", line)
	}
	return f
}

func (f failure) String() string {
	d := f.Error.Data["dev.mcp-jail/failure"]
	return strings.TrimSpace(fmt.Sprintf("%s %d %s %s", f.ID, f.Error.Code, d.Stage, d.Tool))
}

// IsFailure fails the test unless a line is an error of ours with an id, a code, a stage and a tool, of
// which want has all, or the last ones.
func IsFailure(t testing.TB, line, want string) {
	t.Helper()
	if got := FailureOf(t, line).String(); got != want && !strings.HasSuffix(got, " "+want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
