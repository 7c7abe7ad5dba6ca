package names

import (
	"bytes"
	"encoding/binary"
	"slices"
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
		q, err := ParseQuery([]byte("\x00\x4d\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + c.message))
		if (err != nil) != c.bad || q.ID != 77 || q.Name.String() != c.name || !c.bad && (q.Type != dnsmessage.TypeA || q.Class != dnsmessage.ClassINET) {
			t.Errorf("%s: %+v, %v", c.what, q, err)
		}
	}
}

// FuzzQuery compares ParseQuery with wireQuery, which reads messages without a library, and
// unpacks the answers.
func FuzzQuery(f *testing.F) {
	question := []byte("\x00\x4d\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03api\x04test\x00\x00\x01\x00\x01")
	f.Add(question)
	f.Add(append(slices.Clone(question), "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"...))
	f.Add([]byte("\x00\x4d\x01\x00\x00\x01\x00\x01\x00\x00\x00\x01\x01a\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x01x\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := ParseQuery(b)
		want, ok := wireQuery(b)
		if ok != (err == nil) {
			t.Fatalf("%+v, %v; by hand %+v, %v", q, err, want, ok)
		}
		if len(b) >= 12 && (q.ID != binary.BigEndian.Uint16(b) || q.Response != (b[2]&0x80 != 0)) {
			t.Errorf("the header: %+v", q.Header)
		}
		if !ok {
			return
		}
		if q.Name.String() != want.name || uint16(q.Type) != want.kind || uint16(q.Class) != want.class || q.edns && !want.edns {
			t.Errorf("%+v, by hand %+v", q, want)
		}
		for _, body := range []dnsmessage.ResourceBody{nil, &dnsmessage.AResource{A: [4]byte{1, 2, 3, 4}}} {
			out := q.Answer(dnsmessage.RCodeNameError, body)
			var m dnsmessage.Message
			if err := m.Unpack(out); err != nil || m.RCode != dnsmessage.RCodeNameError || !m.Response || (len(m.Answers) == 1) != (body != nil) || (len(m.Additionals) == 1) != q.edns {
				t.Errorf("the answer: %+v, %v", m, err)
			}
			if question := b[12 : 12+len(want.name)+5]; want.name != "." && !bytes.Equal(question, out[12:12+len(question)]) {
				t.Errorf("the answer %x has another question than %x", out, b)
			}
		}
	})
}

// wire is a query as wireQuery reads it.
type wire struct {
	name        string
	kind, class uint16
	edns        bool
}

// wireQuery reads a message with one question (RFC 1035 4.1), octet by octet.
func wireQuery(b []byte) (q wire, ok bool) {
	if len(b) < 12 || binary.BigEndian.Uint16(b[4:]) != 1 {
		return q, false
	}
	count := func(section int) int { return int(binary.BigEndian.Uint16(b[4+2*section:])) }
	var labels []string
	rest, length := b[12:], 0
	for {
		if len(rest) == 0 || rest[0] > 63 || len(rest) <= int(rest[0]) {
			return q, false
		}
		n := int(rest[0])
		if length += 1 + n; length > 255 {
			return q, false
		}
		label := string(rest[1 : 1+n])
		rest = rest[1+n:]
		if n == 0 {
			break
		}
		if strings.Contains(label, ".") {
			return q, false
		}
		labels = append(labels, label)
	}
	if len(rest) < 4 {
		return q, false
	}
	q.name = strings.Join(labels, ".") + "."
	q.kind, q.class = binary.BigEndian.Uint16(rest), binary.BigEndian.Uint16(rest[2:])
	rest = rest[4:]
	for range count(1) + count(2) {
		if _, rest, ok = wireRecord(rest); !ok {
			return q, true
		}
	}
	for range count(3) {
		var kind uint16
		if kind, rest, ok = wireRecord(rest); !ok {
			break
		}
		q.edns = q.edns || kind == 41
	}
	return q, true
}

// wireRecord skips a record.
func wireRecord(b []byte) (kind uint16, rest []byte, ok bool) {
	for len(b) > 0 && b[0] != 0 && b[0]>>6 == 0 && len(b) > int(b[0]) {
		b = b[1+int(b[0]):]
	}
	switch {
	case len(b) > 0 && b[0] == 0:
		b = b[1:]
	case len(b) > 1 && b[0]>>6 == 3:
		b = b[2:]
	default:
		return 0, nil, false
	}
	if len(b) < 10 {
		return 0, nil, false
	}
	kind = binary.BigEndian.Uint16(b)
	n := 10 + int(binary.BigEndian.Uint16(b[8:]))
	if len(b) < n {
		return 0, nil, false
	}
	return kind, b[n:], true
}
