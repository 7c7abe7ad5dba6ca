package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// minSecret is the length of the shortest value that is redacted. Shorter values ("true",
// "8080", "debug") occur in many lines, and a secret of five bytes protects nothing.
const minSecret = 6

// Redactor replaces the values of secret variables by "[redacted NAME]". A nil Redactor
// changes nothing. It is safe for concurrent use.
//
// A Redactor finds a value unchanged, escaped as in a URL or a JSON string, in base64
// (both alphabets, also inside a longer encoding such as an Authorization header), and
// in hex, also as hex dumps show it. Of a URL it also finds the password alone. The lines
// of a value of several lines are found one by one. Values under 6 bytes are not redacted,
// nor values that are clearly not secret: see leak.IsPlainValue. Other transformations (hashes,
// a value split by a log's line breaks) are not found. Redaction keeps accidents out of
// logs and does not stop a server that wants to disclose a value.
type Redactor struct {
	*needleSet // nil in the zero Redactor, which must not pass a text on as redacted: it panics
}

type needleSet struct {
	all []needle // longest first
	// first holds the indexes of the needles that begin with each byte, longest first.
	first [256][]int
	// pairs is a bit set of the first two bytes of the needles. It rules out most
	// positions of a text.
	pairs [1 << 16 / 64]uint64
}

func (r *Redactor) mayBegin(buf []byte) bool {
	if len(buf) < 2 {
		return true
	}
	pair := uint(buf[0])<<8 | uint(buf[1])
	return r.pairs[pair/64]&(1<<(pair%64)) != 0
}

// needle is one form of a secret and its replacement.
type needle struct {
	text []byte
	mask []byte
}

// NewRedactor returns a Redactor of the variables of env that are marked Secret.
func NewRedactor(env []policy.Variable) *Redactor {
	r := &Redactor{&needleSet{}}
	seen := map[string]bool{}
	for _, v := range env {
		if !v.Secret || leak.IsPlainHost(v.Name, v.Value) {
			continue
		}
		for _, form := range secretForms(v.Value) {
			if len(form) < minSecret || seen[form] {
				continue
			}
			seen[form] = true
			r.all = append(r.all, needle{[]byte(form), []byte("[redacted " + v.Name + "]")})
		}
	}
	// The longest first: a value may contain another.
	sort.SliceStable(r.all, func(i, j int) bool { return len(r.all[i].text) > len(r.all[j].text) })
	for i, n := range r.all {
		r.first[n.text[0]] = append(r.first[n.text[0]], i)
		pair := uint(n.text[0])<<8 | uint(n.text[1])
		r.pairs[pair/64] |= 1 << (pair % 64)
	}
	return r
}

func (r *Redactor) isActive() bool { return r != nil && len(r.all) > 0 }

func secretForms(value string) []string {
	if len(value) < minSecret || leak.IsPlainValue(value) {
		return nil
	}
	// A program may print the value without its line end, or a part of it alone.
	values := []string{value, strings.TrimSpace(value)}
	if u, err := url.Parse(value); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			values = append(values, password)
		}
	}
	if strings.ContainsAny(value, "\r\n") {
		for _, line := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
			// The frame of a PEM block is not secret, and short lines are too common.
			if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
				values = append(values, line)
			}
		}
	}
	var all []string
	for _, v := range values {
		if len(v) < minSecret {
			continue
		}
		all = append(all, v, url.QueryEscape(v), url.PathEscape(v))
		if escaped, err := json.Marshal(v); err == nil {
			all = append(all, string(escaped[1:len(escaped)-1]))
		}
		all = append(all, base64Forms(v)...)
		all = append(all, hexForms(v)...)
	}
	return all
}

// base64Forms returns the characters that every base64 text with v inside contains. They
// depend on the offset of v modulo three. Characters that share bits with neighbours are
// left out.
func base64Forms(v string) []string {
	var all []string
	for offset := 0; offset < 3; offset++ {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), v...))
		from := (offset*8 + 5) / 6
		to := (offset + len(v)) * 8 / 6
		if to-from < 8 { // too short to exclude coincidence
			continue
		}
		core := text[from:to]
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	return all
}

// Redact returns s without the secret values.
func (r *Redactor) Redact(s string) string {
	if !r.isActive() {
		return s
	}
	out, rest := r.scan(nil, []byte(s), true)
	return string(append(out, rest...))
}

// scan appends to out the decided part of buf with secrets replaced, and returns the rest
// of buf: an end that may become a secret with the bytes that follow. With last set
// nothing follows, and there is no rest.
func (r *Redactor) scan(out, buf []byte, last bool) (redacted, rest []byte) {
	start := 0
	for i := 0; i < len(buf); {
		if !r.mayBegin(buf[i:]) {
			i++
			continue
		}
		hit := -1
		for _, n := range r.first[buf[i]] {
			text := r.all[n].text
			if bytes.HasPrefix(buf[i:], text) {
				hit = n // needles are tried longest first
				break
			}
			if !last && len(text) > len(buf)-i && bytes.HasPrefix(text, buf[i:]) {
				return append(out, buf[start:i]...), buf[i:]
			}
		}
		if hit < 0 {
			i++
			continue
		}
		out = append(out, buf[start:i]...)
		out = append(out, r.all[hit].mask...)
		i += len(r.all[hit].text)
		start = i
	}
	return append(out, buf[start:]...), nil
}

// partial returns the rest that scan held back in the form to show. The beginning of a
// secret is replaced too, if it is long enough to reveal something.
func (r *Redactor) partial(rest []byte) string {
	if len(rest) >= minSecret {
		for _, n := range r.first[rest[0]] {
			if bytes.HasPrefix(r.all[n].text, rest) {
				return string(r.all[n].mask)
			}
		}
	}
	return string(rest)
}

// Lines returns lines without secret values.
func (r *Redactor) Lines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = r.Redact(l)
	}
	return out
}

// RedactDenials returns denials without secret values. A server can put them into the
// names that it uses.
func (r *Redactor) RedactDenials(denials []policy.Denial) []policy.Denial {
	out := make([]policy.Denial, len(denials))
	for i, d := range denials {
		d.Target, d.Program, d.Detail = r.Redact(d.Target), r.Redact(d.Program), r.Redact(d.Detail)
		d.Arguments = slices.Clone(d.Arguments)
		for k, arg := range d.Arguments {
			d.Arguments[k] = r.Redact(arg)
		}
		out[i] = d
	}
	return out
}

const (
	dumpRow   = 16  // bytes in a row of what hexdump, xxd and od print
	maxDumped = 256 // bytes of the longest value that is searched in such rows; tokens are shorter
)

// hexForms returns v in hex, with and without separators between the bytes. For a value
// that is dumped by itself it also returns the rows of a dump and the text beside each.
func hexForms(v string) (all []string) {
	add := func(forms ...string) {
		for _, f := range forms {
			all = append(all, f, strings.ToUpper(f))
		}
	}
	digits := hex.EncodeToString([]byte(v))
	add(digits, spaced(digits, 2, " "), spaced(digits, 2, ":"), strings.ReplaceAll(spaced(digits, 2, `\x`), " ", ""))
	for at := 0; at < len(v) && len(v) <= maxDumped; at += dumpRow {
		row := v[at:min(at+dumpRow, len(v))]
		if len(row) < minSecret {
			break
		}
		digits := hex.EncodeToString([]byte(row))
		half := digits[:min(dumpRow, len(digits))]
		add(spaced(digits, 2, " "), spaced(digits, 4, " "), strings.TrimSpace(spaced(half, 2, " ")+"  "+spaced(digits[len(half):], 2, " ")))
		if show.IsPlain(row) {
			all = append(all, "|"+row+"|", "  "+row, ">"+row+"<") // hexdump, xxd, od
		}
	}
	return all
}

func spaced(digits string, n int, between string) string {
	var b strings.Builder
	for at := 0; at < len(digits); at += n {
		if at > 0 {
			b.WriteString(between)
		}
		b.WriteString(digits[at:min(at+n, len(digits))])
	}
	return b.String()
}
