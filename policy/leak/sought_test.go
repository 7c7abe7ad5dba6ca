package leak

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSought tests which values of secret variables are looked for.
func TestSought(t *testing.T) {
	const key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
	const pem = "key:\n-----BEGIN PRIVATE KEY-----\n" + key + "\nshort\n-----END PRIVATE KEY-----\n"
	for _, c := range []struct{ name, value, want string }{ // want: values, or "-" and the reason
		{"API_TOKEN", "q7Zr-41bc-9Xw2", "q7Zr-41bc-9Xw2"},
		{"API_TOKEN", " q7Zr-41bc-9Xw2\n", "q7Zr-41bc-9Xw2"},
		{"API_TOKEN", "short12", "-fewer than 8 bytes"},
		{"API_TOKEN", "true", "-fewer than 8 bytes"},
		{"API_TOKEN", "/home/me/token-file", "-path"},
		{"API_TOKEN", "https://api.example.com/v1", "-address"},
		{"API_TOKEN", "1234567890", "-number"},
		{"DB_PASSWORD", "postgres", "-words"},
		{"DB_PASSWORD", "sample-value", "-words"},
		{"DB_PASSWORD", "correct horse battery staple", "correct horse battery staple"},
		{"DATABASE_URL", "postgres://me:hunter2-of-mine@db/x", "postgres://me:hunter2-of-mine@db/x|hunter2-of-mine"},
		{"DATABASE_URL", "postgres://me:postgres@db/x", "-looks like a secret"},
		{"GIT_AUTHOR_EMAIL", "someone.else@example.com", "-looks like a secret"},
		{"XDG_SESSION_DESKTOP", "ubuntu:GNOME:wayland", "-looks like a secret"},
		{"SESSION", "9f86d081884c7d659a2feaa0c55ad015", "9f86d081884c7d659a2feaa0c55ad015"},
		{"AWS_REGION", "eu-central-1a-and-so-on", "-looks like a secret"},
		{"WHATEVER", "aB3dE5gH7jK9mN1p", "aB3dE5gH7jK9mN1p"},
		{"LONG_KEY", strings.Repeat("aB3dE5gH", 1000), strings.Repeat("aB3dE5gH", 512)},
		{"LONG_KEYS", "q7Zr-41bc-9Xw2-8uTa\n" + strings.Repeat("aB3dE5gH", 512), strings.Repeat("aB3dE5gH", 512) + "|" + strings.Repeat("aB3dE5gH", 512)},
		{"DEPLOY_KEY", pem, strings.TrimSpace(pem) + "|" + key},
		{"MY_KEY", policy.Placeholder("MY_KEY"), ""},
	} {
		got, others := Sought([]policy.Variable{{Name: c.name, Value: c.value, Secret: true}, {Name: "OPEN_TOKEN", Value: "q7Zr-41bc-9Xw2"}})
		var values []string
		for _, s := range got {
			if s.Name != c.name {
				t.Errorf("%s: %v", c.name, s)
			}
			values = append(values, s.Value)
		}
		text := strings.Join(values, "|")
		if reason, not := strings.CutPrefix(c.want, "-"); not {
			if text != "" || len(others) != 1 || !strings.Contains(others[0].Why, reason) {
				t.Errorf("%s=%s: %q %v", c.name, c.value, text, others)
			}
		} else if text != c.want || others != nil {
			t.Errorf("%s=%s: %q %v", c.name, c.value, text, others)
		}
	}
}
