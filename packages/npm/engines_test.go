package npm

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestEngines(t *testing.T) {
	for _, c := range testkit.Table[struct{ name, file, want, err string }](t, "engines.txt") {
		got, err := Engines([]byte(c.file))
		if got != c.want || message(err) != c.err {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
