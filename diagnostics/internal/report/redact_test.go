package report

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func redactorOf(values ...string) *Redactor {
	var env []policy.Variable
	for i, v := range values {
		env = append(env, policy.Variable{Name: fmt.Sprintf("V%d", i), Value: v, Secret: true})
	}
	return NewRedactor(env)
}

// TestRedact tests what of a text is replaced. TestForms of package leak has the forms.
func TestRedact(t *testing.T) {
	r := tokenRedactor()
	for in, want := range testkit.Named[string](t, "redacted.txt", "<query>", url.QueryEscape(token), "<path>", url.PathEscape(token), "<hex>", hex.EncodeToString([]byte(token))) {
		if got := r.Redact(in); got != want {
			t.Errorf("Redact(%q)\n got %q\nwant %q", in, got, want)
		}
	}
	// Basic authentication: the value in the middle of a base64 text, at every offset.
	for _, user := range []string{"", "u:", "us:", "usr:", "user:"} {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			in := e.EncodeToString([]byte(user + token + ":tail"))
			if got := r.Redact(in); !strings.Contains(got, "[redacted TOKEN]") {
				t.Errorf("user %q: %s stays %s", user, in, got)
			}
		}
	}
	if got := (*Redactor)(nil).Redact(token); got != token {
		t.Errorf("a nil Redactor changes %q", got)
	}
}

const token = "s3cr3t/+ token=\"q\""

func tokenRedactor() *Redactor {
	return NewRedactor([]policy.Variable{
		{Name: "TOKEN", Value: token, Secret: true},
		{Name: "SHORT", Value: "true", Secret: true},
		{Name: "OPEN", Value: "not a secret"},
		{Name: "DATABASE_URL", Value: "postgres://u:hunter2222@db/x", Secret: true},
		{Name: "KEY", Value: "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----\n", Secret: true},
	})
}

// TestIsPlainValue lists values that are shown, and values that may hold a secret and are
// not.
func TestIsPlainValue(t *testing.T) {
	for value, want := range testkit.Named[bool](t, "plain-values.txt") {
		text := "open '" + value + "/x' failed"
		if got := redactorOf(value).Redact(text) == text; got != want {
			t.Errorf("%s is named: %v", value, got)
		}
	}
}
