package names

import (
	"errors"

	"golang.org/x/net/dns/dnsmessage"
)

// AnswerSize is how many bytes answers may have over UDP (EDNS).
const AnswerSize = 1232

const answerTTL = 30 // seconds

// ErrQuestion rejects a DNS message that does not hold exactly one readable question.
var ErrQuestion = errors.New("not a DNS message with one question")

// Query is a DNS message that asks a question (RFC 1035 4.1).
type Query struct {
	dnsmessage.Header
	dnsmessage.Question
	edns bool // it has an OPT record, so its answer needs one too
}

// ParseQuery reads a message. With ErrQuestion, the header is set.
func ParseQuery(b []byte) (q Query, err error) {
	var p dnsmessage.Parser
	if q.Header, err = p.Start(b); err != nil {
		return q, err
	}
	if q.Question, err = p.Question(); err != nil || !isSpelledOut(b) {
		return Query{Header: q.Header}, ErrQuestion
	}
	if _, err := p.Question(); err != dnsmessage.ErrSectionDone {
		return Query{Header: q.Header}, ErrQuestion
	}
	q.edns = hasOPT(&p)
	return q, nil
}

// isSpelledOut reports whether the first question spells its name out, without a compression
// pointer. There is no earlier name to which a pointer could lead. b must hold a question.
func isSpelledOut(b []byte) bool {
	at := 12 // length of the header
	for b[at] != 0 && b[at] < 0xc0 {
		at += 1 + int(b[at])
	}
	return b[at] == 0
}

// hasOPT reports whether the message has an OPT record (RFC 6891). It ignores records that
// it cannot read, since they do not change the question.
func hasOPT(p *dnsmessage.Parser) bool {
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return false
	}
	for {
		h, err := p.AdditionalHeader()
		if err != nil {
			return false
		}
		if p.SkipAdditional() != nil {
			return false
		}
		if h.Type == dnsmessage.TypeOPT {
			return true
		}
	}
}

// Answer returns the packed answer to q. body is its only record, or nil for none.
func (q Query) Answer(code dnsmessage.RCode, body dnsmessage.ResourceBody) []byte {
	m := dnsmessage.Message{Header: dnsmessage.Header{
		ID: q.ID, Response: true, OpCode: q.OpCode, RecursionDesired: q.RecursionDesired, RecursionAvailable: true, RCode: code,
	}}
	if q.Name.Length > 0 {
		m.Questions = []dnsmessage.Question{q.Question}
	}
	if body != nil {
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL}
		m.Answers = []dnsmessage.Resource{{Header: h, Body: body}}
	}
	if q.edns {
		var h dnsmessage.ResourceHeader
		h.SetEDNS0(AnswerSize, dnsmessage.RCodeSuccess, false)
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}
	b, err := m.Pack()
	if err != nil {
		return nil // a name that cannot be packed cannot have been asked for
	}
	return b
}
