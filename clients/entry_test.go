package clients

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestEntryReasons tests which entries are left, and why.
func TestEntryReasons(t *testing.T) {
	for _, row := range testkit.Rows(t, "entries.txt", 3) {
		name, text, want := row[0], row[1], Reason(row[2])
		client := testkit.Get(ByName(name))(t)
		var value any
		testkit.Must(t, json.Unmarshal([]byte(text), &value))
		e := client.Entry(Item{Path: []string{"x"}, Value: value})
		testkit.Equal(t, fmt.Sprintf("%s: %s: … %q", name, text, e.Detail), e.Left, want)
	}
}
