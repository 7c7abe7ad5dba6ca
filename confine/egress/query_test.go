package egress

import (
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// wireName returns the wire format of a host name.
func wireName(host string) (b []byte) {
	for label := range strings.SplitSeq(host, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}

func TestParseQuery(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 63)+".", 3) + strings.Repeat("y", 61)
	for _, c := range []struct {
		what, message string
		name          string
		bad           bool
	}{
		{"a question", "\x02ab\x01c\x00\x00\x01\x00\x01", "ab.c.", false},
		{"the root", "\x00\x00\x01\x00\x01", ".", false},
		{"the longest name", string(wireName(long)) + "\x00\x01\x00\x01", long + ".", false},
		{"a name that is too long", string(wireName(long+"y")) + "\x00\x01\x00\x01", "", true},
		{"a dot in a label", "\x03a.b\x00\x00\x01\x00\x01", "", true},
		{"a compression pointer to itself", "\xc0\x0c\x00\x01\x00\x01", "", true},
		{"a compression pointer into the header", "\x01a\xc0\x03\x00\x01\x00\x01", "", true},
		{"a label that is too long", "\x40" + strings.Repeat("x", 64) + "\x00\x00\x01\x00\x01", "", true},
		{"a name without an end", "\x01a", "", true},
		{"no type", "\x01a\x00\x00\x01\x00", "", true},
	} {
		q, err := parseQuery([]byte("\x00\x4d\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + c.message))
		if (err != nil) != c.bad || q.ID != 77 || q.Name.String() != c.name || !c.bad && (q.Type != dnsmessage.TypeA || q.Class != dnsmessage.ClassINET) {
			t.Errorf("%s: %+v, %v", c.what, q, err)
		}
	}
}
