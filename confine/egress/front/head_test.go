package front

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestParseHead(t *testing.T) {
	for _, row := range testkit.Rows(t, "heads.txt", 2) {
		head, want := row[0], row[1]
		got := ""
		r, n, err := ParseHead([]byte(head))
		if err == nil {
			got = strings.Join(r.Hosts, ",") + " 0"
			if r.Chunked {
				got = strings.Join(r.Hosts, ",") + " chunked"
			} else if r.Length > 0 {
				got = strings.Join(r.Hosts, ",") + " 12"
			}
			testkit.Equal(t, fmt.Sprintf("%q: its head octets", head), n, len(head))
			for cut := range len(head) {
				if _, n, err := ParseHead([]byte(head[:cut])); n != 0 || err != nil {
					t.Errorf("%q: %d, %v", head[:cut], n, err)
				}
			}
		}
		testkit.Equal(t, head, got, want)
	}
}
