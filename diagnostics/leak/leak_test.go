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

func jsonText(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) }

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
	f := New(all)
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
	f := New(all)
	for form, encode := range encodings() {
		s := all[len(form)%len(all)]
		text := []byte("some text before it " + encode(s.Value) + " and some after it")
		for cut := range text {
			stream := f.Stream()
			got := stream.Write(text[:cut])
			if got = append(got, stream.Write(text[cut:])...); len(got) != 1 || got[0].Name != s.Name {
				t.Fatalf("%s cut at %d: %v", form, cut, got)
			}
		}
		stream, n := f.Stream(), 0
		for _, c := range text {
			n += len(stream.Write([]byte{c}))
		}
		if n += len(stream.Write(text)); n != 1 {
			t.Errorf("%s byte by byte: found %d times", form, n)
		}
	}
	if got := New(nil).Stream().Write([]byte("text")); got != nil {
		t.Error(got)
	}
	if New([]Secret{{"SHORT", "12345"}}) != nil {
		t.Error("a short one is looked for")
	}
}

// FuzzFind tests that no text makes the search fail, and that what is appended is found.
func FuzzFind(f *testing.F) {
	all := secrets(3)
	finder := New(all)
	for _, seed := range []string{"", `\`, `\u`, `\ud83d`, `\ud83d\ude00`, "%", "%4", "%41%", `\\\\"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		finder.Find(text)
		if len(text) > 0 && (text[len(text)-1] == '\\' || text[len(text)-1] == '%') {
			text = append(text, ' ')
		}
		found := false
		for _, got := range finder.Find(append(append(text, " |"...), all[0].Value...)) {
			found = found || got.Name == all[0].Name
		}
		if !found {
			t.Errorf("not found behind %q", text)
		}
	})
}

// BenchmarkFind measures the search for twenty secrets in messages of different kinds.
func BenchmarkFind(b *testing.B) {
	f := New(secrets(20))
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody minds. ", 1<<14)
	source := jsonText(strings.Repeat("func main() {\n\tfmt.Println(\"hello, world\")\n}\n", 1<<14))
	binary := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\x17binary\xff", 1<<17)))
	for name, text := range map[string]string{"prose": prose, "source": source, "base64": binary, "200 B": prose[:200]} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			bytes := []byte(text)
			for b.Loop() {
				if f.Find(bytes) != nil {
					b.Fatal("found")
				}
			}
		})
	}
}
