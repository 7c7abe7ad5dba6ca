package egress

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestReadQuery(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 63)+".", 3) + strings.Repeat("y", 61)
	for _, c := range []struct {
		what, message string
		name          string
		bad           bool
	}{
		{"a question", "\x02ab\x01c\x00\x00\x01\x00\x01", "ab.c", false},
		{"the root", "\x00\x00\x01\x00\x01", "", false},
		{"the longest", string(packName(long)) + "\x00\x01\x00\x01", long, false},
		{"one longer", string(packName(long+"y")) + "\x00\x01\x00\x01", "", true},
		{"a dot in a part", "\x03a.b\x00\x00\x01\x00\x01", "", true},
		{"a copy of nothing", "\xc0\x0c\x00\x01\x00\x01", "", true},
		{"a part that is too long", "\x40" + strings.Repeat("x", 64) + "\x00\x00\x01\x00\x01", "", true},
		{"a name without an end", "\x01a", "", true},
		{"no type", "\x01a\x00\x00\x01\x00", "", true},
	} {
		q, err := readQuery([]byte("\x00\x4d\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + c.message))
		if (err != nil) != c.bad || q.name != c.name || q.id != 77 || !c.bad && (q.kind != typeA || q.class != classINET || string(q.question) != c.message) {
			t.Errorf("%s: %+v, %v", c.what, q, err)
		}
	}
}

// FuzzQuery compares with dnsmessage what is taken for a question.
func FuzzQuery(f *testing.F) {
	f.Add(question(f, "api.test.", dnsmessage.TypeA))
	f.Add(append(question(f, "api.test.", dnsmessage.TypeA), "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"...))
	f.Add([]byte("\x00\x4d\x01\x00\x00\x01\x00\x01\x00\x00\x00\x01\x01a\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x01x\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := readQuery(b)
		var p dnsmessage.Parser
		h, theirs := p.Start(b)
		var all []dnsmessage.Question
		if theirs == nil {
			all, theirs = p.AllQuestions()
		}
		if err != nil {
			if theirs == nil && len(all) == 1 && bytes.IndexByte(b[dnsHeader:], 0xc0) < 0 && len(all[0].Name.String()) < 254 {
				t.Errorf("%v, of %+v", err, all)
			}
			return
		}
		if theirs != nil || len(all) != 1 || all[0].Name.String() != q.name+"." || uint16(all[0].Type) != uint16(q.kind) || uint16(all[0].Class) != q.class || h.ID != q.id || h.Response != (q.flags&flagResponse != 0) {
			t.Fatalf("%+v here, %+v %+v %v there", q, h, all, theirs)
		}
		if p.SkipAllAnswers() == nil && p.SkipAllAuthorities() == nil {
			if rest, err := p.AllAdditionals(); err == nil {
				extended := false
				for _, r := range rest {
					extended = extended || r.Header.Type == dnsmessage.TypeOPT
				}
				if extended != q.extended {
					t.Errorf("EDNS %v here, %v there", q.extended, extended)
				}
			}
		}
		for _, data := range [][]byte{nil, {1, 2, 3, 4}} {
			var m dnsmessage.Message
			q.kind = typeA
			if data != nil && (len(q.question) < 4 || q.question[len(q.question)-3] != 1) {
				continue
			}
			if err := m.Unpack(q.answer(rcodeName, data)); err != nil || m.RCode != dnsmessage.RCodeNameError || !m.Response || len(m.Answers) != len(data)/4 {
				t.Errorf("the answer: %+v, %v", m, err)
			}
		}
	})
}
