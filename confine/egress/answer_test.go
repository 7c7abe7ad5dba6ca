package egress

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestReadAnswer(t *testing.T) {
	server := func(kind byte, random string) string {
		return string([]byte{kind, 0, 0, 0x58, 3, 3}) + random + strings.Repeat("x", 20)
	}
	plain := string(oneRecord([]byte(server(typeServerHello, strings.Repeat("r", 32)))))
	retry := string(oneRecord([]byte(server(typeServerHello, retryRandom))))
	const warning = "\x15\x03\x03\x00\x02\x01\x70" // "unrecognized name"
	for b, want := range map[string]answer{
		"":                                answerUnknown,
		"HTTP/1.1 10":                     answerUnknown,
		"HTTP/1.1 101 Yes\r\n":            answerUpgrade,
		"HTTP/1.1 200 OK\r\n":             answerOther,
		"220 ready for mail":              answerOther,
		plain:                             answerHello,
		warning + plain:                   answerHello,
		string(records([]byte(plain), 3)): answerHello,
		plain[:40]:                        answerUnknown,
		warning + plain[:40]:              answerUnknown,
		retry:                             answerOther,
		warning + retry:                   answerOther,
		string(records([]byte(retry), 3)): answerOther,
		string(oneRecord([]byte(server(typeClientHello, strings.Repeat("r", 32))))): answerOther,
		"\x16\x02" + plain[2:]:                              answerOther,
		strings.Repeat(warning, sniffBuffer/len(warning)+1): answerOther,
	} {
		testkit.Equal(t, b, readAnswer([]byte(b)), want)
	}
}

func TestNextHello(t *testing.T) {
	whole := string(hello(t, "api.test"))
	for b, want := range map[string]struct {
		name string
		n    int
		bad  bool
	}{
		"":                                     {"", 0, false},
		"\x14\x03\x03\x00":                     {"", 0, false},
		"\x14\x03\x03\x00\x01":                 {"", 0, false},
		"\x14\x03\x03\x00\x01\x01":             {"", 6, false},
		"\x17\x03\x03\x00\x02ab" + whole:       {"", 7, false},
		whole:                                  {"api.test", len(whole), false},
		whole + "x":                            {"api.test", len(whole), false},
		whole[:50]:                             {"", 0, false},
		"\x16\x03\x03\x00\x04\x10\x00\x00\x00": {"", 0, true},
		"\x18\x03\x03\x00\x00":                 {"", 0, true},
		"\x17\x02\x03\x00\x00":                 {"", 0, true},
		oldTLS:                                 {"", 0, true},
	} {
		name, n, isHello, err := nextHello([]byte(b))
		if name != want.name || n != want.n || isHello != (name != "") || (err != nil) != want.bad {
			t.Errorf("%.60q: %q, %d, %v, %v", b, name, n, isHello, err)
		}
	}
}
