package leak

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// punctuated is a value that each program writes differently, slashed one whose base64 has both signs, and
// usual is one that none escapes.
const (
	slashed    = "Zq8x7?~~>vR2x~?Lk9"
	punctuated = "aB3+dE6/gH9=kL2&mN5\"oP8'qR1<sT4!u~V7(x)*@:z"
	usual      = "ghp_q7Zr41bc9Xw2aLrW4aZb8"
)

// writtenForms are values as programs write them. The texts are theirs.
var writtenForms = []struct {
	name, value, text string
	form              Form
}{
	{"as it is", punctuated, punctuated, Plain},
	{"as it is", usual, usual, Plain},
	{"JavaScript", punctuated, `aB3+dE6/gH9=kL2&mN5\"oP8'qR1<sT4!u~V7(x)*@:z`, Plain},
	{"Go", punctuated, `aB3+dE6/gH9=kL2\u0026mN5\"oP8'qR1\u003csT4!u~V7(x)*@:z`, Plain},
	{".NET", punctuated, `aB3\u002BdE6/gH9=kL2\u0026mN5\u0022oP8\u0027qR1\u003CsT4!u~V7(x)*@:z`, Plain},
	{"PHP", punctuated, `aB3+dE6\/gH9=kL2&mN5\"oP8'qR1<sT4!u~V7(x)*@:z`, Plain},
	{"PHP with JSON_HEX", punctuated, `aB3+dE6\/gH9=kL2\u0026mN5\u0022oP8\u0027qR1\u003CsT4!u~V7(x)*@:z`, Plain},
	{"Python", "passwört über", `passw\u00f6rt \u00fcber`, Plain},
	{"Python", "passwört 😀 \x7f Zq81", `passw\u00f6rt \ud83d\ude00 \u007f Zq81`, Plain},
	{"JavaScript", "a \"\x1b\u2028\x7f Zq81", "a \\\"\\u001b\u2028\x7f Zq81", Plain},
	{"encodeURIComponent", punctuated, `aB3%2BdE6%2FgH9%3DkL2%26mN5%22oP8'qR1%3CsT4!u~V7(x)*%40%3Az`, Plain},
	{"encodeURI", punctuated, `aB3+dE6/gH9=kL2&mN5%22oP8'qR1%3CsT4!u~V7(x)*@:z`, Plain},
	{"quote of Python", punctuated, `aB3%2BdE6/gH9%3DkL2%26mN5%22oP8%27qR1%3CsT4%21u~V7%28x%29%2A%40%3Az`, Plain},
	{"small digits", punctuated, `aB3%2bdE6%2fgH9%3dkL2%26mN5%22oP8%27qR1%3csT4%21u~V7%28x%29%2a%40%3az`, Plain},
	{"a form of HTML", "correct horse battery", "correct+horse+battery", Plain},
	{"a query", "correct horse battery", "correct%20horse%20battery", Plain},
	{"hex", punctuated, hex.EncodeToString([]byte(punctuated)), inHex},
	{"capital digits", punctuated, strings.ToUpper(hex.EncodeToString([]byte(punctuated))), inHex},
	{"basic authentication", punctuated, base64.StdEncoding.EncodeToString([]byte("user:" + punctuated)), inBase64},
	{"the second place of three", punctuated, base64.StdEncoding.EncodeToString([]byte("users:" + punctuated + "\n")), inBase64},
	{"PHP, base64", slashed, strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(slashed)), "/", `\/`), inBase64},
	{".NET, base64", slashed, strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(slashed)), "+", `\u002B`), inBase64},
	{"a query, base64", slashed, url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(slashed))), inBase64},
	{"the third place, the alphabet of URLs", punctuated, base64.RawURLEncoding.EncodeToString([]byte("me:x" + punctuated)), inBase64},
}

// TestForms tests that each form is found in a message, as that form. The control: the same form of a
// value with another character is not.
func TestForms(t *testing.T) {
	for _, tt := range writtenForms {
		t.Run(tt.name, func(t *testing.T) {
			message := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"it is ` + tt.text + `."}]}}`)
			if got := New([]Secret{{"S", tt.value}}, false).Find(message); !slices.Equal(got, []Found{{"S", tt.form}}) {
				t.Errorf("got %v, want %s", got, tt.form)
			}
			for _, at := range []int{0, len(tt.value) / 3, len(tt.value) - 1} { // before the tail, too
				other := tt.value[:at] + "#" + tt.value[at+1:]
				if got := New([]Secret{{"S", other}}, false).Find(message); got != nil {
					t.Errorf("%s: %v", other, got)
				}
			}
		})
	}
}

// TestLimits tests what is said not to be found (docs/policy.md "Leaks"). If one is, the page is wrong.
func TestLimits(t *testing.T) {
	s := New([]Secret{{"S", punctuated}}, false)
	digits := hex.EncodeToString([]byte(punctuated))
	for name, text := range map[string]string{
		"JSON in JSON":   `aB3+dE6/gH9=kL2&mN5\\\"oP8'qR1<sT4!u~V7(x)*@:z`,
		"HTML":           `aB3+dE6/gH9=kL2&amp;mN5&quot;oP8&#x27;qR1&lt;sT4!u~V7(x)*@:z`,
		"base64 of hex":  base64.StdEncoding.EncodeToString([]byte(digits)),
		"mixed digits":   digits[:20] + strings.ToUpper(digits[20:]),
		"a needless \\u": `\u0061` + punctuated[1:],
		"a needless %":   "%61" + punctuated[1:],
		"lines":          digits[:32] + "\n" + digits[32:],
		"a part":         punctuated[1:],
	} {
		if got := s.Find([]byte(text)); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPieces tests that each form is found in random pieces, once, and not before it is complete; and
// that a mask hides it, and nothing else.
func TestPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, tt := range writtenForms {
		searcher, mask := New([]Secret{{"S", tt.value}, {"OTHER", "another-Value-42"}}, false), NewMask([]string{tt.value})
		for range 50 {
			before, after := strings.Repeat("x ", random.IntN(60)), strings.Repeat(" y", random.IntN(60))
			stream, hidden := searcher.Stream(), mask.streamOrNil()
			var got []Found
			var shown []byte
			for text := before + tt.text + after; text != ""; {
				n := 1 + random.IntN(min(40, len(text)))
				if found := stream.Find([]byte(text[:n])); found != nil {
					got = append(got, found...)
					if len(text)-n > len(after)+4 { // base64 has digits behind the value
						t.Fatalf("%s: found %d bytes early", tt.name, len(text)-n-len(after))
					}
				}
				if hidden != nil {
					shown, _ = hidden.Next(shown, []byte(text[:n]))
				}
				text = text[n:]
			}
			if !slices.Equal(got, []Found{{"S", tt.form}}) {
				t.Errorf("%s: %v", tt.name, got)
			}
			if hidden == nil {
				continue
			}
			all := string(shown) + string(hidden.Rest())
			if whole := mask.Hide(before + tt.text + after); all != whole || len(all) != len(before+tt.text+after) || strings.Count(all, "*") < len(tt.text)-12 || !strings.HasPrefix(all, before) || !strings.HasSuffix(all, after) {
				t.Fatalf("%s: %s, and in one piece %s", tt.name, all, whole)
			}
		}
	}
}

func (m *Mask) streamOrNil() *MaskStream {
	if m == nil { // the value can be guessed
		return nil
	}
	return m.Stream(false)
}

// TestNames tests that a name may have several values, and that each name is told once.
func TestNames(t *testing.T) {
	s := New([]Secret{{"KEY", "first-value-1"}, {"KEY", "second-value-2"}, {"OTHER", "first-value-1"}}, false)
	got := s.Find([]byte("second-value-2, first-value-1, first-value-1"))
	if fmt.Sprint(got) != "[{KEY as it is} {OTHER as it is}]" {
		t.Error(got)
	}
	if s := New([]Secret{{"EMPTY", ""}}, false); s != nil || s.Find([]byte("text")) != nil || s.Stream().Find([]byte("text")) != nil {
		t.Errorf("nothing is to be looked for: %v", s)
	}
}

// TestReplace tests that of secrets that overlap the whole is replaced.
func TestReplace(t *testing.T) {
	s := New([]Secret{{"A", "abcdefgh"}, {"B", "fghijklm"}, {"C", "cdef"}}, false)
	by := func(name string, n int) string { return fmt.Sprint("[", name, n, "]") }
	for text, want := range map[string]string{
		"x abcdefghijklm y abcdefg cdefx": "x [A13] y ab[C4]g [C4]x",
		"fghijklmabcdefgh":                "[B8][A8]",
		"nothing":                         "nothing",
	} {
		if got := s.Replace(text, by); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if name, n := s.Begun("xx abcde"); name != "A" || n != 5 {
		t.Errorf("begun: %s, %d", name, n)
	}
}
