package leak

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// guarded is a value that nothing can guess.
const guarded = `ghp_q7Zr41bc9Xw2/"&LrW4aZb8`

// echoes are the texts in which a host may send guarded back.
func echoes() map[string]string {
	all := map[string]string{
		"plain": guarded, "JSON": jsonText(guarded), "URL": url.QueryEscape(guarded), "path": url.PathEscape(guarded), "HTML": `ghp_q7Zr41bc9Xw2/&#34;&amp;LrW4aZb8`,
		"JSON without HTML": `ghp_q7Zr41bc9Xw2/\"&LrW4aZb8`, "JSON, slashes": `ghp_q7Zr41bc9Xw2\/\"&LrW4aZb8`,
		"hex": hex.EncodeToString([]byte(guarded)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(guarded))),
	}
	for phase := range 3 {
		all[fmt.Sprint("base64 ", phase)] = within(base64.RawStdEncoding, guarded, phase)
		all[fmt.Sprint("base64 for URLs ", phase)] = within(base64.RawURLEncoding, guarded, phase)
	}
	return all
}

// TestMaskEscapes: what programs make of a value with much punctuation is hidden as a whole. The texts
// are theirs.
func TestMaskEscapes(t *testing.T) {
	t.Parallel()
	const value = "aB3+dE6/gH9=kL2&mN5\"oP8'qR1<sT4!u~V7(x)*@:z"
	m := NewMask([]string{value})
	for form, text := range map[string]string{
		"encodeURIComponent":          `aB3%2BdE6%2FgH9%3DkL2%26mN5%22oP8'qR1%3CsT4!u~V7(x)*%40%3Az`,
		"encodeURI":                   `aB3+dE6/gH9=kL2&mN5%22oP8'qR1%3CsT4!u~V7(x)*@:z`,
		"quote of Python":             `aB3%2BdE6/gH9%3DkL2%26mN5%22oP8%27qR1%3CsT4%21u~V7%28x%29%2A%40%3Az`,
		"URLs with small digits":      `aB3%2bdE6%2fgH9%3dkL2%26mN5%22oP8%27qR1%3csT4%21u~V7%28x%29%2a%40%3az`,
		"JSON of .NET":                `aB3\u002BdE6/gH9=kL2\u0026mN5\u0022oP8\u0027qR1\u003CsT4!u~V7(x)*@:z`,
		"JSON of PHP with JSON_HEX":   `aB3+dE6\/gH9=kL2\u0026mN5\u0022oP8\u0027qR1\u003CsT4!u~V7(x)*@:z`,
		"JSON of JavaScript":          `aB3+dE6/gH9=kL2&mN5\"oP8'qR1<sT4!u~V7(x)*@:z`,
		"JSON of Go":                  `aB3+dE6/gH9=kL2\u0026mN5\"oP8'qR1\u003csT4!u~V7(x)*@:z`,
		"escape of Python's html":     `aB3+dE6/gH9=kL2&amp;mN5&quot;oP8&#x27;qR1&lt;sT4!u~V7(x)*@:z`,
		"htmlspecialchars of PHP":     `aB3+dE6/gH9=kL2&amp;mN5&quot;oP8&#039;qR1&lt;sT4!u~V7(x)*@:z`,
		"text of XML":                 `aB3+dE6/gH9=kL2&amp;mN5"oP8'qR1&lt;sT4!u~V7(x)*@:z`,
		"escape of Go's html package": `aB3+dE6/gH9=kL2&amp;mN5&#34;oP8&#39;qR1&lt;sT4!u~V7(x)*@:z`,
	} {
		if got := m.Hide(text); got != strings.Repeat("*", len(text)) {
			t.Errorf("%s: %s", form, got)
		}
	}
}

// TestMask tests that each form of a value is replaced and nothing else is, however the text is cut,
// and that the length stays.
func TestMask(t *testing.T) {
	t.Parallel()
	m := NewMask([]string{guarded, "short"})
	for form, text := range echoes() {
		whole := "you sent " + text + "! " + text[1:] + " and\n" + text + text
		stars := strings.Repeat("*", len(text))
		want := "you sent " + stars + "! " + text[1:] + " and\n" + stars + stars
		if got := m.Hide(whole); got != want {
			t.Errorf("%s: %s", form, got)
		}
		for cut := range whole {
			s := m.Stream(false)
			out, err := s.Next(nil, []byte(whole[:cut]))
			if strings.Contains(string(out), text) || err != nil {
				t.Fatalf("%s: %s, %v", form, out, err)
			}
			if out, err = s.Next(out, []byte(whole[cut:])); string(out)+string(s.Rest()) != want || err != nil {
				t.Fatalf("%s, cut at %d: %s, %v", form, cut, out, err)
			}
			live := m.Stream(true)
			out, err = live.Next(nil, []byte(whole[:cut]))
			if len(out) != cut || err != nil {
				t.Fatalf("%s: not all is passed on: %s, %v", form, out, err)
			}
			out, err = live.Next(out, []byte(whole[cut:]))
			if split := strings.Count(m.Hide(whole[:cut]), stars)+strings.Count(m.Hide(whole[cut:]), stars) < 3; split != errors.Is(err, ErrSplit) || !split && string(out) != want {
				t.Fatalf("%s, cut at %d: %s, %v", form, cut, out, err)
			}
		}
		s, out := m.Stream(false), []byte{}
		for _, c := range []byte(whole) {
			out, _ = s.Next(out, []byte{c})
		}
		if string(out)+string(s.Rest()) != want {
			t.Errorf("%s, byte by byte: %s", form, out)
		}
	}
	if got := (*Mask)(nil).Hide(guarded); got != guarded {
		t.Error(got)
	}
}

// TestMaskKeepsBack tests that what is kept back does not tell of a value: it is the same for any
// text of one length without line ends, and nothing is after a line end.
func TestMaskKeepsBack(t *testing.T) {
	t.Parallel()
	m := NewMask([]string{guarded})
	for n := 1; n <= len(guarded); n++ {
		kept := func(text string) int {
			out, _ := m.Stream(false).Next(nil, []byte(text))
			return len(text) - len(out)
		}
		before := strings.Repeat("x", 200)
		if right, wrong, line := kept(before+guarded[:n]), kept(before+strings.Repeat("z", n)), kept(before+guarded[:n]+"\n"); right != wrong || line != 0 {
			t.Errorf("%d bytes: %d and %d are kept back, %d of a line", n, right, wrong, line)
		}
	}
}

func TestIsGuessable(t *testing.T) {
	for value, want := range map[string]bool{
		"": true, "hunter2": true, "Summer2024!": true, "aaaaaaaaaaaaaaaaaaaaa1": true, "0123456789012345678": true, "correcthorsebatterystaple": true,
		guarded: false, "0c5d1a7e-52f1-4f0b-9d0e-6b1f2a3c4d5e": false, "0123456789abcdef": false,
	} {
		if got := IsGuessable(value); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
	if NewMask([]string{"hunter2", "correcthorsebatterystaple"}) != nil {
		t.Error("a value that can be guessed is replaced")
	}
}

// tells reports whether the time of a search tells a text with a part of guarded from one without.
// It compares the shortest times of many rounds. Other load only makes a round longer, so the
// shortest times come close to one another in the end, unless the search itself takes longer.
func tells(rounds int, search func([]byte)) bool {
	text := func(part string) []byte { return bytes.Repeat([]byte(part+"~~"), 16<<10/(len(part)+2)) }
	// The server knows "ghp_" and guesses the next character: in hexadecimal digits as in the attack.
	right, wrong := text(hex.EncodeToString([]byte("ghp_q7Zr"))), text(hex.EncodeToString([]byte("ghp_0011")))
	shortest := func(before time.Duration, text []byte) time.Duration {
		begin := time.Now()
		search(text)
		return min(before, time.Since(begin))
	}
	least, most := time.Hour, time.Hour
	for round := range rounds {
		most, least = shortest(most, right), shortest(least, wrong)
		if round > 30 && float64(most) < 1.05*float64(least) {
			return false
		}
	}
	return true
}

// TestMaskTellsNothing tests that the time of a mask does not tell whether a guess is right in part.
// The control is the search of a Finder, whose time does: it may look only for what the other side
// holds.
func TestMaskTellsNothing(t *testing.T) {
	m, f := NewMask([]string{guarded}), New([]Secret{{"T", guarded}}, false)
	if tells(20000, func(text []byte) { m.Stream(false).Next(nil, text) }) {
		t.Error("the time of a mask tells a right guess from a wrong one")
	}
	// Load that comes with one kind of round only can hide a difference, and cannot make one.
	for range 100 {
		if tells(200, func(text []byte) { f.Find(text) }) {
			return
		}
	}
	t.Error("the control: that of a search does not")
}
