package leak

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// secrets returns secrets of different lengths, some with characters that are escaped.
func secrets(n int) (all []Secret) {
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	const odd = letters + `/+=-_.~"\<>&%$é `
	for i := range n {
		from := []rune(letters)
		if i%3 == 2 {
			from = []rune(odd)
		}
		value := make([]rune, 12+i*2)
		for k := range value {
			value[k] = from[random.IntN(len(from))]
		}
		all = append(all, Secret{fmt.Sprint("SECRET_", i), string(value)})
	}
	return all
}

func mustJSON(v any) []byte { b, _ := json.Marshal(v); return b }

func jsonText(s string) string { b := mustJSON(s); return string(b[1 : len(b)-1]) }

// escapeAll writes every byte, or every character, by a format.
func escapeAll(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
}

func unicodeEscapes(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	return b.String()
}

// lines cuts a text into lines.
func lines(s, end string, width int) string {
	var out []string
	for len(s) > width {
		out, s = append(out, s[:width]), s[width:]
	}
	return strings.Join(append(out, s), end)
}

func encodings() map[string]func(string) string {
	all := map[string]func(string) string{
		"plain":             func(s string) string { return s },
		"JSON":              jsonText,
		"JSON in JSON":      func(s string) string { return jsonText(jsonText(s)) },
		"JSON three times":  func(s string) string { return jsonText(jsonText(jsonText(s))) },
		"JSON, slashes":     func(s string) string { return strings.ReplaceAll(jsonText(s), "/", `\/`) },
		"JSON, all escaped": unicodeEscapes,
		"URL query":         func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
		"URL path":          url.PathEscape,
		"URL, all escaped":  escapeAll("%%%02X"),
		"URL, lower case":   escapeAll("%%%02x"),
		"URL twice":         func(s string) string { return url.PathEscape(url.PathEscape(s)) },
		"URL in JSON":       func(s string) string { return unicodeEscapes(url.PathEscape(s)) },
		"JSON in URL":       func(s string) string { return url.PathEscape(jsonText(s)) },
		"hex":               func(s string) string { return hex.EncodeToString([]byte(s)) },
		"hex, upper case":   func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"hex, pairs":        escapeAll("%02x "),
		"hex, lines":        func(s string) string { return lines(hex.EncodeToString([]byte(s)), "\n", 16) },
		"hex, JSON lines":   func(s string) string { return lines(hex.EncodeToString([]byte(s)), `\n`, 16) },
	}
	for name, e := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64 raw": base64.RawStdEncoding, "base64 for URLs": base64.URLEncoding, "base64 for URLs, raw": base64.RawURLEncoding} {
		for phase := range 3 {
			encode := func(s string) string {
				return e.EncodeToString([]byte(strings.Repeat("x", phase) + s + "more"))
			}
			all[fmt.Sprint(name, " ", phase)] = encode
			all[fmt.Sprint(name, " in JSON ", phase)] = func(s string) string { return strings.ReplaceAll(encode(s), "/", `\/`) }
			all[fmt.Sprint(name, " in lines ", phase)] = func(s string) string { return lines(encode(s), "\r\n", 19) }
			all[fmt.Sprint(name, " in a URL ", phase)] = func(s string) string { return url.QueryEscape(encode(s)) }
		}
	}
	return all
}

// TestForms tests that each secret is found in each form, alone and in a message, and that a value
// with one other character is not.
func TestForms(t *testing.T) {
	all := secrets(20)
	f := New(all, false)
	n := 0
	for form, encode := range encodings() {
		for _, s := range all {
			n++
			for _, message := range []string{"%s", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"it is %s."}]}}`} {
				text := fmt.Sprintf(message, encode(s.Value))
				if got := f.Find([]byte(text)); len(got) != 1 || got[0].Name != s.Name {
					t.Errorf("%s, %s: %v in %s", form, s.Name, got, text)
				}
				value := []rune(s.Value)
				value[len(value)/2] = '#'
				if got := f.Find(fmt.Appendf(nil, message, encode(string(value)))); got != nil {
					t.Errorf("%s, another value: %v", form, got)
				}
			}
		}
	}
	if n < 20*40 {
		t.Errorf("%d cases", n)
	}
}

// TestStream tests that a secret is found wherever the pieces of a text are cut, once, and not
// before it is complete.
func TestStream(t *testing.T) {
	all := secrets(20)
	f := New(all, false)
	for form, encode := range encodings() {
		s := all[len(form)%len(all)]
		text := []byte("some text before it " + encode(s.Value) + " and some after it")
		for cut := range text {
			stream := f.Stream()
			got := stream.Find(text[:cut])
			if got = append(got, stream.Find(text[cut:])...); len(got) != 1 || got[0].Name != s.Name {
				t.Fatalf("%s cut at %d: %v", form, cut, got)
			}
		}
		stream, n := f.Stream(), 0
		for _, c := range text {
			n += len(stream.Find([]byte{c}))
		}
		if n += len(stream.Find(text)); n != 1 {
			t.Errorf("%s byte by byte: found %d times", form, n)
		}
	}
	if got := New(nil, false).Stream().Find([]byte("text")); got != nil {
		t.Error(got)
	}
	if New([]Secret{{"SHORT", "1234567"}}, false) != nil {
		t.Error("a short one is looked for")
	}
}

// TestShortest tests that the shortest secret is found wherever it begins in a text.
func TestShortest(t *testing.T) {
	f := New([]Secret{{"SHORT", "q7Zr-41b"}}, false)
	for at := range 40 {
		text := strings.Repeat("x", at) + "q7Zr-41b" + strings.Repeat("y", 9)
		if got := f.Find([]byte(text)); len(got) != 1 || got[0].Form != Plain {
			t.Errorf("%s: %v", text, got)
		}
		for end := at; end < at+8; end++ {
			if got := f.Find([]byte(text[:end])); got != nil {
				t.Errorf("%s: %v", text[:end], got)
			}
		}
	}
}

// TestNames tests that a name may have several values, and that each is told once.
func TestNames(t *testing.T) {
	f := New([]Secret{{"KEY", "first-value-1"}, {"KEY", "second-value-2"}, {"OTHER", "first-value-1"}}, false)
	got := f.Find([]byte("second-value-2, first-value-1, first-value-1"))
	if len(got) != 2 || got[0].Name == got[1].Name {
		t.Error(got)
	}
}

// plant returns a text with a secret in it. Each byte of the recipe says how one byte of the secret
// is escaped.
func plant(before, recipe, after []byte, all []Secret) (text []byte, name string) {
	next := func() byte {
		if len(recipe) == 0 {
			return 0
		}
		c := recipe[0]
		recipe = append(recipe[1:len(recipe):len(recipe)], c*31+7)
		return c
	}
	s := all[int(next())%len(all)]
	forms := formsOf(s.Value)
	form := []byte(forms[int(next())%len(forms)].text)
	for range next() % (Depth + 1) {
		var out []byte
		for _, c := range form {
			switch k := next() % 8; {
			case k == 0 && c < 0x80:
				out = fmt.Appendf(out, `\u%04x`, c)
			case k == 1:
				out = fmt.Appendf(out, "%%%02X", c)
			case c == '\\' || c == '"' || c == '/' && k == 2:
				out = append(out, '\\', c)
			case c == '%':
				out = append(out, "%25"...)
			default:
				out = append(out, c)
			}
		}
		form = out
	}
	return append(append(append([]byte{}, before...), form...), after...), s.Name
}

// TestPlanted tests with many secrets and recipes that Find finds a planted secret, if a look at
// each byte does.
func TestPlanted(t *testing.T) {
	all := secrets(20)
	finder := New(all, false)
	random := rand.New(rand.NewPCG(3, 4))
	n, missed := 0, 0
	for range 20000 {
		recipe := make([]byte, 4+random.IntN(200))
		for i := range recipe {
			recipe[i] = byte(random.Uint32())
		}
		noise := []byte(strings.Repeat(`{\"text\":\"a b\",\n\\\"x\\\":\/ %20`, random.IntN(5)))
		text, name := plant(noise, recipe, noise, all)
		there := false
		finder.search.layers(text, func(p *pattern) bool { there = there || finder.names[p.secret] == name; return true })
		if !there { // the text before the secret made an escape with its first bytes
			missed++
			continue
		}
		n++
		found := false
		for _, f := range finder.Find(text) {
			found = found || f.Name == name
		}
		if !found {
			t.Fatalf("%s is not found in %q", name, text)
		}
	}
	if missed > n/10 {
		t.Errorf("%d of %d are not there", missed, n)
	}
}
