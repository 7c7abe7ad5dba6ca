package toolpin

import (
	"strings"
	"testing"
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
