package toolpin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestCanonical: RFC 8785, and what it leaves open.
func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1 , "a" : [ true , null ] } `: `{"a":[true,null],"b":1}`,
		`{}`:                                    `{}`,
		`[ ]`:                                   `[]`,
		`{"b":{"d":1,"c":2},"a":0}`:             `{"a":0,"b":{"c":2,"d":1}}`,
		`{"a":1,"":2,"aa":3,"A":4}`:             `{"":2,"A":4,"a":1,"aa":3}`,
		"{\"\uffee\":1,\"😀\":2,\"\u00f6\":3}":   "{\"\u00f6\":3,\"😀\":2,\"\uffee\":1}", // surrogates come first
		`{"\u0062":1,"a":2}`:                    `{"a":2,"b":1}`,
		`{"b":1,"\n":2,"\\":3,"Z":4}`:           `{"\n":2,"Z":4,"\\":3,"b":1}`, // by what they say, not by their escapes
		`"\u20ac\/\u0000\u001F\"\b\f\r\t"`:      "\"\u20ac/\\u0000\\u001f\\\"\\b\\f\\r\\t\"",
		"\"\u007f\u2028\"":                      "\"\u007f\u2028\"",
		`"\ud83d\uDE00"`:                        `"😀"`,
		`-0`:                                    `0`,
		`-0.0e5`:                                `0`,
		`1.0`:                                   `1`,
		`1E2`:                                   `100`,
		`0.1`:                                   `0.1`,
		`1e21`:                                  `1e+21`,
		`999999999999999999999`:                 `1e+21`,
		`123456789012345678901`:                 `123456789012345680000`,
		`9007199254740993`:                      `9007199254740992`,
		`18446744073709551615`:                  `18446744073709552000`,
		`0.000001`:                              `0.000001`,
		`0.0000001`:                             `1e-7`,
		`1e-400`:                                `0`,
		`5e-324`:                                `5e-324`,
		`1.7976931348623157e308`:                `1.7976931348623157e+308`,
		`333333333.33333329`:                    `333333333.3333333`,
		`-1e-10`:                                `-1e-10`,
	} {
		if got, err := Canonical([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

// TestCanonicalRefuses: text that is not JSON, or that programs read differently.
func TestCanonicalRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``: "ends early", `{`: "ends early", `{"a":1,}`: "invalid character", `[1,]`: "invalid character", `[1 2]`: "after array element",
		`{"a" 1}`: "after object name", `{a:1}`: "byte 1: invalid character 'a'", `nul`: "ends early", `1 2`: "after top-level value",
		"\ufeff1": "invalid character", `01`: "invalid character '1'", `-`: "ends early", `1.`: "ends early", `.5`: "invalid character",
		`1e`: "ends early", `+1`: "invalid character", `NaN`: "invalid character", `1e400`: "the number 1e400 is beyond the range",
		`{"a":[-1e999]}`: "beyond the range", `"a`: "ends early", `"\`: "ends early", `"\x"`: "escape", `"\u12"`: "escape", `"\u12g4"`: "escape",
		"\"\n\"": "invalid character", "\"\xff\"": "UTF-8", "\"\xed\xa0\x80\"": "UTF-8", "\"\\\xc3\xa9\"": "escape",
		`{"a":1,"a":2}`: "the member a is there twice", `{"a":1,"\u0061":1}`: "twice", `{"x":{"b":1,"a":1,"b":1}}`: "the member b",
		`{"\ud800":1}`: "surrogate", `"\uD83D x"`: "surrogate", `"\ude00\ud83d"`: "surrogate", `"\ud83d\ud83d\ude00"`: "surrogate", `"\ud83d\\ude00"`: "surrogate",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "nested more than 64 deep", strings.Repeat(`{"a":`, 1_000_000): "nested",
	} {
		got, err := Canonical([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := Canonical([]byte(strings.Repeat("[", 64) + strings.Repeat("]", 64))); err != nil {
		t.Error(err)
	}
}

// TestNumbers compares with the numbers that ECMAScript prints, by the rules of its
// Number::toString.
func TestNumbers(t *testing.T) {
	for bits := uint64(1); bits < 0x7ff0_0000_0000_0000; bits += 0x0001_2345_6789_abcd * 7 {
		f := math.Float64frombits(bits)
		digits, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		digits = strings.Replace(digits, ".", "", 1)
		n, _ := strconv.Atoi(exp)
		n++
		k := len(digits)
		var want string
		switch {
		case k <= n && n <= 21:
			want = digits + strings.Repeat("0", n-k)
		case 0 < n && n <= 21:
			want = digits[:n] + "." + digits[n:]
		case -6 < n && n <= 0:
			want = "0." + strings.Repeat("0", -n) + digits
		default:
			if want = digits[:1]; k > 1 {
				want += "." + digits[1:]
			}
			want += fmt.Sprintf("e%+d", n-1)
		}
		if got, err := Canonical([]byte(digits[:1] + "." + digits[1:] + "0e" + exp)); err != nil || string(got) != want {
			t.Fatalf("%x: %s, %v; want %s", bits, got, err, want)
		}
	}
}

// reference is a second, slow way to the canonical form. ok is false for what it does not
// handle.
func reference(v any) string {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
		for i, name := range names {
			names[i] = referenceText(name) + ":" + reference(v[name])
		}
		return "{" + strings.Join(names, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = reference(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return referenceText(v)
	case float64:
		out, _ := json.Marshal(v)
		if string(out) == "-0" {
			return "0"
		}
		return string(out)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func referenceText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029", `\\`, `\\`).Replace(strings.TrimSuffix(b.String(), "\n"))
}

// FuzzCanonical: the canonical form is a fixed point, and what encoding/json reads in it is
// what it reads in the text.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":[1,-0,1e21,"\ud83d\ude00"],"a":{"\u2028":null}}`, `{"a":1,"a":2}`, `"\ud800"`, `[1.5e-7,18446744073709551615]`, "{\"\uffee\":1,\"😀\":2}", `"\\u2028"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := Canonical(in)
		if err != nil {
			return
		}
		if again, err := Canonical([]byte(got)); err != nil || again != got {
			t.Fatalf("%q: then %q, %v", got, again, err)
		}
		if !json.Valid(in) || !json.Valid([]byte(got)) {
			t.Fatalf("%q: %q is not JSON", in, got)
		}
		var v any
		if err := json.Unmarshal(in, &v); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if want := reference(v); string(got) != want {
			t.Fatalf("%q: %q, want %q", in, got, want)
		}
	})
}
