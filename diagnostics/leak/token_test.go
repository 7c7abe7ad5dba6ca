package leak

import (
	"hash/crc32"
	"strings"
	"testing"
)

// withChecksum adds the checksum that tokens of GitHub and npm have.
func withChecksum(begin, secret string) string {
	n := crc32.ChecksumIEEE([]byte(secret))
	var sum [6]byte
	for at := 5; at >= 0; at-- {
		sum[at] = (digits + letters)[n%62]
		n /= 62
	}
	return begin + secret + string(sum[:])
}

// kinds returns a token of each kind. None is a real one.
func kinds() map[string]string {
	const some = "b7Kq2ZxW9vLmT4rYc8NpHs3JdF6gUaE1oQiBtMzVwXkRyChPlDnS5jGfAu0e"
	all := map[string]string{
		"GitHub fine-grained token": "github_pat_" + "11" + some[:20] + "_" + some[:59],
		"GitLab token":              "glpat-" + some[:20],
		"Slack token":               "xoxb-" + "123456789012-1234567890123-" + some[:24],
		"AWS access key":            "AKIA" + "Z7Q2XW4MTRY3NPHS",
		"Stripe key":                "sk_live_" + some[:24],
		"OpenAI key":                "sk-proj-" + some[:58] + "-_x" + "T3BlbkFJ" + some[:58],
		"Anthropic key":             "sk-ant-api03-" + some[:58] + some[20:55] + "AA",
		"Google API key":            "AIza" + "Sy" + some[:33],
		"PyPI token":                "pypi-AgEIcHlwaS5vcmc" + some + some[:30],
		"GitHub token":              withChecksum("ghp_", some[:30]),
		"npm token":                 withChecksum("npm_", some[5:35]),
		"private key":               "-----BEGIN RSA PRIVATE KEY-----\n" + some + "\n",
	}
	return all
}

// TestTokens tests that each kind is found in a message, and in a string of JSON in it, and that
// what only looks alike is not.
func TestTokens(t *testing.T) {
	f := New(nil, true)
	for name, token := range kinds() {
		for _, text := range []string{token, "it is " + jsonText(token) + ".", jsonText("line\n" + token + "\nline"), jsonText(jsonText("a\n"+token) + "\"")} {
			if got := f.Find([]byte(text)); len(got) != 1 || got[0].Name != name || got[0].Form != Token {
				t.Errorf("%s: %v in %s", name, got, text)
			}
		}
		for what, text := range map[string]string{
			"a part": token[:len(token)/2], "the end of a word": "xx" + token, "an example": token[:12] + "EXAMPLE" + token[19:],
			"placeholder": token[:14] + strings.Repeat("x", len(token)-14),
		} {
			if name == "private key" && what == "the end of a word" || name == "OpenAI key" && what == "placeholder" || name == "Slack token" && what == "an example" {
				continue
			}
			if got := f.Find([]byte(text)); len(got) > 0 {
				t.Errorf("%s, %s: %v in %s", name, what, got, text)
			}
		}
	}
	if got := f.Find([]byte("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")); len(got) != 1 { // of a publication about the checksum
		t.Error(got)
	}
	if got := f.Find([]byte("ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18")); got != nil {
		t.Errorf("another checksum: %v", got)
	}
	for _, text := range []string{"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA", `"-----BEGIN PRIVATE KEY-----"`, "AKIAIOSFODNN7EXAMPLE", "sk_live_" + strings.Repeat("x", 24)} {
		if got := f.Find([]byte(text)); got != nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}
