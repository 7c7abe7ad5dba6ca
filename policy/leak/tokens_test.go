package leak

import (
	"encoding/base64"
	"encoding/hex"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// withChecksum adds the checksum that tokens of GitHub and npm have.
func withChecksum(begin, secret string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	n := crc32.ChecksumIEEE([]byte(secret))
	var sum [6]byte
	for at := 5; at >= 0; at-- {
		sum[at] = digits[n%62]
		n /= 62
	}
	return begin + secret + string(sum[:])
}

const some = "b7Kq2ZxW9vLmT4rYc8NpHs3JdF6gUaE1oQiBtMzVwXkRyChPlDnS5jGfAu0e"

// aToken is one of each kind. None is a real one.
var aToken = map[string]string{
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

// TestTokens tests that each kind is found in each form, and that texts which only look like tokens
// are not.
func TestTokens(t *testing.T) {
	s := New(nil, true)
	for name, token := range aToken {
		escaped := strings.ReplaceAll(token, "\n", `\n`)
		for _, text := range []string{
			token, "it is " + token + ".", `{"text":"line\n` + escaped + `\nline"}`, strings.ReplaceAll(`"a\n`+escaped+`"`, `\`, `\\`),
			"hex: " + hex.EncodeToString([]byte(token)) + ".", strings.ToUpper(hex.EncodeToString([]byte(token))),
			base64.StdEncoding.EncodeToString([]byte(token)), base64.URLEncoding.EncodeToString([]byte("a " + token)), base64.RawStdEncoding.EncodeToString([]byte("n "+token+" ")) + " and",
		} {
			if got := s.Find([]byte(text)); !slices.Equal(got, []Found{{name, Token}}) {
				t.Errorf("%s: %v in %s", name, got, text)
			}
		}
		for what, text := range map[string]string{
			"a part": token[:len(token)/2], "the end of a word": "xx" + token, "an example": token[:12] + "EXAMPLE" + token[19:],
			"a placeholder": token[:14] + strings.Repeat("x", len(token)-14),
		} {
			if name == "private key" && what == "the end of a word" || name == "Slack token" && what == "an example" {
				continue // they are found
			}
			if got := s.Find([]byte(text)); got != nil {
				t.Errorf("%s, %s: %v in %s", name, what, got, text)
			}
		}
	}
}

// TestTokenKinds tests the kinds that have several forms, the shortest and long ones, and texts that
// are like tokens.
func TestTokenKinds(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	app := "ghs_12345_" + encode([]byte(`{"alg":"ES256"}`)) + "." + encode([]byte(`{"aid":12345,"iss":"some"}`)) + "."
	s := New(nil, true)
	for text, name := range map[string]string{
		"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":                                 "GitHub token", // an example from a publication about the checksum
		"ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18":                                 "",
		"/npm_docs/" + aToken["npm token"]:                                         "npm token",
		app + some[:26] + "-_" + some[:58]:                                         "GitHub token",
		"a token: " + app + some[:43] + ".":                                        "GitHub token",
		app + some[:42]:                                                            "",
		app + strings.Repeat("x", 86):                                              "",
		strings.Replace(app, "ghs_12345", "ghs_a", 1) + some:                       "",
		"xx" + app + some:                                                          "",
		withChecksum("ghr_", some+some[:10]):                                       "GitHub token",
		"xoxb-12345678-" + some[:20]:                                               "Slack token",
		"xoxb-1234567890-" + some[:19]:                                             "",
		"pypi-AgEIcHlwaS5vcmc" + some + some[:9]:                                   "",
		"glpat-" + some + ".01.1a2b3c4d5":                                          "GitLab token",
		"sk-ant-admin01-" + some + some[:33] + "AA":                                "Anthropic key",
		"sk_live_" + strings.Repeat("x", 24):                                       "",
		"AKIAIOSFODNN7EXAMPLE":                                                     "",
		`"-----BEGIN PRIVATE KEY-----"`:                                            "",
		"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA": "",
	} {
		if got := s.Find([]byte(text)); name == "" && got != nil || name != "" && !slices.Equal(got, []Found{{name, Token}}) {
			t.Errorf("got %v in %s", got, text)
		}
	}
	stream, long := s.Stream(), []byte(strings.Repeat("a text ", 300)+app+some+some[:26]+" and more")
	var got []Found
	for piece := range slices.Chunk(long, 100) {
		got = append(got, stream.Find(piece)...)
	}
	if !slices.Equal(got, []Found{{"GitHub token", Token}}) {
		t.Errorf("in pieces: %v", got)
	}
}
