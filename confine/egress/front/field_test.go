package front

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCheckField: a name that a lenient server reads as a field of the message's own is refused, and
// that field itself in a trailer.
func TestCheckField(t *testing.T) {
	for _, row := range testkit.Rows(t, "fields.txt", 3) {
		for i, in := range []Section{InHeader, InTrailer} {
			testkit.Equal(t, fmt.Sprintf("%s in a %s", row[0], in), fmt.Sprint(CheckField(row[0], in) == ""), row[1+i])
		}
	}
}
