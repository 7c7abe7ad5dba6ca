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
