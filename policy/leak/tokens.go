package leak

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"hash/crc32"
	"regexp"
	"strings"
	"sync"
)

// kind is a kind of token that many programs know by its form.
type kind struct {
	name     string
	begins   string         // what tokens of this kind begin with, one of these words
	rest     *regexp.Regexp // what follows: the group is the secret, and nothing else is of its characters
	checksum bool           // the secret ends with one
}

// kinds are looked for. A form is in the list if it has a beginning of its own and enough characters
// after it, so that it does not occur by chance. docs/policy.md, "Kinds of tokens", has them for users.
// Each is documented by its service, or by scanners where the service says less:
//
//   - GitHub: GitHub Docs, "About authentication to GitHub"; GitHub Blog, "Behind GitHub's new authentication
//     token formats" (the checksum); GitHub Changelog, "Authentication token format updates are generally
//     available" (2021: 40 to 255 in all) and "Notice about upcoming new format for GitHub App installation
//     tokens" (2026: ghs_ with a JWT). The end of github_pat_: Trivy, github-fine-grained-pat.
//   - GitLab: GitLab Docs, "GitLab token overview" and "Personal access tokens" (20 characters); GitLab
//     Handbook, "Cells: Routable Tokens" (of these, what is before the first dot is looked at).
//   - Slack: Slack Developer Docs, "Tokens"; Slack's changelog of 2018 for xoxa-; gitleaks, slack-….
//   - AWS: IAM User Guide, "IAM identifiers"; gitleaks, aws-access-token.
//   - Stripe: Stripe Docs, "API keys"; detect-secrets, stripe (24); TruffleHog, stripe (up to 247).
//   - OpenAI: no form is documented; gitleaks, openai-api-key; detect-secrets, openai.
//   - Anthropic: Claude Docs, "Authentication" and "Admin API"; gitleaks, anthropic-api-key and
//     anthropic-admin-api-key.
//   - Google: no form is documented; Google Cloud Docs, "Manage API keys", has an example; Microsoft Purview,
//     "Google API key"; gitleaks, gcp-api-key.
//   - npm: GitHub Blog, "Announcing npm's new access token format"; gitleaks, npm-access-token (the length).
//   - PyPI: PyPI Docs, "Secret reporting API"; detect-secrets, pypi_token (the macaroon's location, pypi.org).
//   - private keys: RFC 7468, RFC 5915, OpenSSL's PEM_read_bio_PrivateKey, OpenSSH's sshkey.c.
var kinds = sync.OnceValue(func() []kind {
	const (
		word = `(?:[^0-9A-Za-z]|$)`   // the end of letters and digits
		safe = `(?:[^0-9A-Za-z_-]|$)` // the end of the characters that need no escape in URLs
	)
	is := func(rest string) *regexp.Regexp { return regexp.MustCompile("^" + rest) }
	return []kind{
		{"GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", is(`([0-9A-Za-z]{36,251})` + word), true},
		{"GitHub token", "ghs_", is(`[0-9]+_eyJ[\w-]*\.eyJ[\w-]*\.([\w-]{43,})`), false}, // a JWT
		{"GitHub fine-grained token", "github_pat_", is(`([0-9A-Za-z]{22}_[0-9A-Za-z]{59})(?:\W|$)`), false},
		{"GitLab token", "glpat- gldt- glrt- glsoat-", is(`([\w-]{20,300})` + safe), false},
		{"Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xapp-", is(`[0-9A-Za-z-]{8,}-([0-9A-Za-z]{20,})` + safe), false},
		{"AWS access key", "AKIA ASIA", is(`([A-Z2-7]{16})` + word), false},
		{"Stripe key", "sk_live_ rk_live_", is(`([0-9A-Za-z]{24,247})` + word), false},
		{"OpenAI key", "sk-", is(`([\w-]{20,}T3BlbkFJ[\w-]{20,80})` + safe), false},
		{"Anthropic key", "sk-ant-", is(`[a-z]{3,6}[0-9]+-([\w-]{80,130})` + safe), false},
		{"Google API key", "AIza", is(`([\w-]{35})` + safe), false},
		{"npm token", "npm_", is(`([0-9A-Za-z]{36})` + word), true},
		{"PyPI token", "pypi-AgEIcHlwaS5vcmc", is(`([\w-]{70,})` + safe), false},
		{"private key", "-----BEGIN", is(` [A-Z0-9 ]*PRIVATE KEY-----(?:[ \t\r\n]|\\+[nr])*([0-9A-Za-z+/=]{40,})`), false},
	}
})

// beginnings returns the beginnings of all kinds of tokens. No program escapes their characters, so
// their forms of JSON and URLs are the same.
func beginnings() (all []pattern) {
	for i := range kinds() {
		k := &kinds()[i]
		for begin := range strings.FieldsSeq(k.begins) {
			for _, w := range encodings(begin) {
				all = append(all, pattern{written: w, name: k.name, kind: k, begin: begin})
			}
		}
	}
	return all
}

// maxToken is how many bytes of a token are looked at, and tokenReach how many with its beginning, in
// the longest encoding.
const (
	maxToken   = 1024
	tokenReach = 2*maxToken + tail
)

// tokenSearch looks at what follows the beginnings of tokens in one text. Of characters that tokens
// consist of it looks at each row once for each beginning, so that no text takes long: it has the
// ends of the rows.
type tokenSearch map[*pattern]int

// find reports whether there is a token where its beginning is.
func (t tokenSearch) find(p *pattern, text []byte, begin, end int) bool {
	if begin < t[p] || p.form == Plain && isLetterOrDigit(p.text[0]) && continuesWord(text[:begin]) {
		return false
	}
	characters := urlSafe
	if p.form == inBase64 {
		characters += "+/"
	}
	row := end
	for row < min(len(text), end+tokenReach) && strings.IndexByte(characters, text[row]) >= 0 {
		row++
	}
	t[p] = row
	var token []byte
	switch p.form {
	case inHex:
		token, _ = hex.AppendDecode(nil, text[begin:row])
	case inBase64:
		if begin -= digitsBefore(p.phase); begin < 0 {
			return false
		}
		digits := strings.NewReplacer("-", "+", "_", "/").Replace(string(text[begin:row]))
		token, _ = base64.RawStdEncoding.DecodeString(digits)
		token = token[min(p.phase, len(token)):]
	default:
		token = text[begin:min(len(text), begin+maxToken)]
	}
	rest, ok := bytes.CutPrefix(token, []byte(p.begin))
	return ok && p.kind.continues(rest)
}

// continuesWord reports whether a text ends with a part of a word, which no token continues. The last
// character of an escape is none.
func continuesWord(text []byte) bool {
	n := len(text)
	isEscape := n >= 2 && text[n-2] == '\\' || n >= 3 && text[n-3] == '%' || n >= 6 && text[n-6] == '\\' && text[n-5] == 'u'
	return n > 0 && isLetterOrDigit(text[n-1]) && !isEscape
}

// continues reports whether a text continues a beginning as tokens of this kind do.
func (k *kind) continues(rest []byte) bool {
	found := k.rest.FindSubmatch(rest)
	if found == nil {
		return false
	}
	if k.checksum {
		return hasChecksum(found[1])
	}
	return isRandom(found[1])
}

// hasChecksum reports whether a secret ends with its CRC-32 in six digits of base 62.
func hasChecksum(secret []byte) bool {
	body, sum := secret[:len(secret)-6], secret[len(secret)-6:]
	n := crc32.ChecksumIEEE(body)
	for at := len(sum) - 1; at >= 0; at-- {
		if sum[at] != urlSafe[n%62] {
			return false
		}
		n /= 62
	}
	return true
}

// isRandom reports whether people would not have written a text as an example. It has characters of
// two kinds (small letters, capitals, digits) and ten different ones. It has no character four times
// in a row, and not the word "example".
func isRandom(secret []byte) bool {
	row := 1
	for i := 1; i < len(secret); i++ {
		if row++; secret[i] != secret[i-1] {
			row = 1
		}
		if row == 4 {
			return false
		}
	}
	different, kinds := variety(string(secret))
	return different >= 10 && kinds >= 2 && !bytes.Contains(bytes.ToUpper(secret), []byte("EXAMPLE"))
}

// variety returns how many different bytes a text has, and of how many kinds: small letters, capitals,
// digits and others.
func variety(text string) (different, kinds int) {
	seen, kind := map[byte]bool{}, map[byte]bool{}
	for _, c := range []byte(text) {
		seen[c] = true
		switch {
		case c >= '0' && c <= '9':
			kind['0'] = true
		case isLetterOrDigit(c):
			kind[c&0x20] = true // small letters have this bit
		default:
			kind['.'] = true
		}
	}
	return len(seen), len(kind)
}

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
