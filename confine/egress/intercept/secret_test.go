package intercept

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSecretValues: a value that could be more than the value of a field is refused,
// and not shown.
func TestSecretValues(t *testing.T) {
	t.Parallel()
	for value, good := range map[string]bool{
		"ghp_x": true, "with space": true, "ünï": true,
		"": false, "a\nb": false, "a\r\nX-Evil: 1": false, "a\x00b": false, "a\tb": false, "a\x7f": false, " a": false, "a\n": false,
	} {
		term, err := New(Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": value}, Roots: anAuthority()})
		if (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
		if err == nil {
			term.Close()
		} else if !strings.Contains(err.Error(), "the secret T ") || len(value) > 2 && strings.Contains(err.Error(), value) {
			t.Errorf("%q: %v", value, err)
		}
	}
}
