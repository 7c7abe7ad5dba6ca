package commands

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
)

// TestLongDetail: a detail that fits stays in its row, and another follows below it.
func TestLongDetail(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("all connections ", 9))
	got := featureTable([]confine.NamedFeature{{Name: "egress", Feature: confine.Feature{Detail: long}}, {Name: "overlay", Feature: confine.Feature{Detail: "no"}}}, 100)
	rows := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(rows) != 4 || !strings.HasPrefix(rows[0], "-  egress ") || strings.Join(strings.Fields(rows[1]+rows[2]), " ") != long || !strings.HasSuffix(rows[3], "  no") {
		t.Errorf("the table is\n%s", got)
	}
	for _, row := range rows {
		if len(row) > 100 {
			t.Errorf("too long: %s", row)
		}
	}
}
