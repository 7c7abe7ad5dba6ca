package policy

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestListItems(t *testing.T) {
	for _, row := range testkit.Rows(t, "lists.txt", 2) {
		word, want := row[0], row[1]
		if got := strings.Join(ListItems("linux", word), " "); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
	if got := strings.Join(ListItems("windows", `C:\a\*;D:\b`), " "); got != `C:\a D:\b` {
		t.Error(got)
	}
}
