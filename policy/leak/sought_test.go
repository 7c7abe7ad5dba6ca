package leak

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSought tests which values of secret variables are looked for.
func TestSought(t *testing.T) {
	const key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
	const pem = "key:\n-----BEGIN PRIVATE KEY-----\n" + key + "\nshort\n-----END PRIVATE KEY-----\n"
	fill := strings.NewReplacer("$PEM", strings.TrimSpace(pem), "$LINE", key, "$LONG", strings.Repeat("aB3dE5gH", 512))
	rows := append(testkit.Rows(t, "sought.txt", 3), []string{"MY_KEY", policy.Placeholder("MY_KEY"), ""})
	for _, row := range rows {
		name, value, want := row[0], fill.Replace(row[1]), fill.Replace(row[2])
		got, others := Sought([]policy.Variable{{Name: name, Value: value, Secret: true}, {Name: "OPEN_TOKEN", Value: "q7Zr-41bc-9Xw2"}})
		var values []string
		for _, s := range got {
			if s.Name != name {
				t.Errorf("%s: %v", name, s)
			}
			values = append(values, s.Value)
		}
		text := strings.Join(values, "|")
		if reason, not := strings.CutPrefix(want, "-"); not {
			if text != "" || len(others) != 1 || !strings.Contains(others[0].Why, reason) {
				t.Errorf("%s=%s: %q %v", name, value, text, others)
			}
		} else if text != want || others != nil {
			t.Errorf("%s=%s: %q %v", name, value, text, others)
		}
	}
}
