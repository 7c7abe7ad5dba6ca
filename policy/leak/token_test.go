package leak

import (
	"encoding/base64"
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
// texts which only look like tokens are not.
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
	if got := f.Find([]byte("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")); len(got) != 1 { // an example from a publication about the checksum
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

// TestTokenLengths tests the kinds that have several forms, and the shortest and long ones.
func TestTokenLengths(t *testing.T) {
	const some = "b7Kq2ZxW9vLmT4rYc8NpHs3JdF6gUaE1oQiBtMzVwXkRyChPlDnS5jGfAu0e"
	encode := base64.RawURLEncoding.EncodeToString
	app := "ghs_12345_" + encode([]byte(`{"alg":"ES256"}`)) + "." + encode([]byte(`{"aid":12345,"iss":"some"}`)) + "."
	f := New(nil, true)
	for text, name := range map[string]string{
		app + some[:26] + "-_" + some[:58]:                   "GitHub token",
		"a token: " + app + some[:43] + ".":                  "GitHub token",
		app + strings.Repeat(some, 15):                       "GitHub token",
		app + some[:42]:                                      "",
		app + strings.Repeat("x", 86):                        "",
		strings.Replace(app, "ghs_12345", "ghs_a", 1) + some: "",
		strings.Replace(app, ".", "-", 1) + some:             "",
		"xx" + app + some:                                    "",
		"ghs_12345_" + some + some:                           "",
		withChecksum("ghs_", some[:30]):                      "GitHub token",
		withChecksum("ghr_", some+some[:10]):                 "GitHub token",
		"xoxb-12345678-" + some[:20]:                         "Slack token",
		"xoxb-1234567890-" + some[:24]:                       "Slack token",
		"xoxb-1234567890-" + some[:19]:                       "",
		"pypi-AgEIcHlwaS5vcmc" + some + some[:10]:            "PyPI token",
		"pypi-AgEIcHlwaS5vcmc" + some + some[:9]:             "",
		"pypi-AgEIcHlwaS5vcmc" + strings.Repeat(some, 15):    "PyPI token",
		"glpat-" + some + ".01.1a2b3c4d5":                    "GitLab token",
		"sk-ant-admin01-" + some + some[:33] + "AA":          "Anthropic key",
	} {
		got := f.Find([]byte(text))
		if name == "" && got != nil || name != "" && (len(got) != 1 || got[0].Name != name) {
			t.Errorf("%v in %s", got, text)
		}
	}
	s := f.Stream()
	long := []byte(strings.Repeat("a text ", 300) + app + some + some[:26] + " and more")
	var got []Found
	for at := 0; at < len(long); at += 100 {
		got = append(got, s.Find(long[at:min(at+100, len(long))])...)
	}
	if len(got) != 1 {
		t.Errorf("in pieces: %v", got)
	}
}
