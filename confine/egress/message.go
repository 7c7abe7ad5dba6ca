package egress

import (
	"encoding/binary"
	"errors"
	"strings"
)

// As much of DNS messages (RFC 1035 4.1) as a resolver needs that gives one address.
// The package dnsmessage knows all of it, and takes a tenth of a millisecond of every
// start of every process of ours to fill its tables; tests compare the two.

type recordType uint16

const (
	typeA    recordType = 1
	typePTR  recordType = 12
	typeAAAA recordType = 28
	typeOPT  recordType = 41

	classINET = 1
)

// rcode is how a question ended.
type rcode byte

const (
	rcodeSuccess rcode = iota
	rcodeFormat
	rcodeFailure
	rcodeName
	rcodeNotImplemented
	rcodeRefused
)

const (
	dnsHeader     = 12
	flagResponse  = 1 << 15
	flagRecursion = 1 << 8 // desired
	flagAvailable = 1 << 7 // recursion
	opcodeMask    = 0xf << 11
)

var errMessage = errors.New("not a DNS message that can be read")

// query is a message that asks.
type query struct {
	id, flags uint16
	name      string // of the question, without the last dot, as it was written
	kind      recordType
	class     uint16
	question  []byte // as it was written
	extended  bool   // it has an OPT record, which its answer then has too
}

// readQuery reads a message. Where the error is errMessage, its header is there.
func readQuery(b []byte) (q query, err error) {
	if len(b) < dnsHeader {
		return q, errors.New("not a DNS message")
	}
	count := func(i int) int { return int(binary.BigEndian.Uint16(b[4+2*i:])) }
	q.id, q.flags = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if count(0) != 1 {
		return q, errMessage
	}
	rest := b[dnsHeader:]
	name, n := questionName(rest)
	if n == 0 || len(rest) < n+4 {
		return q, errMessage
	}
	q.name = name
	q.kind, q.class = recordType(binary.BigEndian.Uint16(rest[n:])), binary.BigEndian.Uint16(rest[n+2:])
	q.question = rest[:n+4]
	rest = rest[n+4:]
	for range count(1) + count(2) {
		if _, rest, err = readRecord(rest); err != nil {
			return q, nil // what stands behind a question is none of it
		}
	}
	for range count(3) {
		var kind recordType
		if kind, rest, err = readRecord(rest); err != nil {
			return q, nil
		}
		q.extended = q.extended || kind == typeOPT
	}
	return q, nil
}

// questionName reads a name and its length in b, 0 where it is none. There is nothing
// before the only question that it could be a copy of, so it has to be spelled out.
func questionName(b []byte) (name string, n int) {
	var labels strings.Builder
	for n < len(b) && n < 255 {
		size := int(b[n])
		n++
		switch {
		case size == 0:
			return labels.String(), n
		case size > 63 || n+size > len(b) || strings.IndexByte(string(b[n:n+size]), '.') >= 0:
			return "", 0
		case labels.Len() > 0:
			labels.WriteByte('.')
		}
		labels.Write(b[n : n+size])
		n += size
	}
	return "", 0
}

// readRecord skips a record.
func readRecord(b []byte) (kind recordType, rest []byte, err error) {
	for len(b) > 0 && b[0] != 0 && b[0]>>6 == 0 && len(b) > int(b[0]) {
		b = b[1+int(b[0]):]
	}
	switch {
	case len(b) > 0 && b[0] == 0:
		b = b[1:]
	case len(b) > 1 && b[0]>>6 == 3: // a copy of a name before
		b = b[2:]
	default:
		return 0, nil, errMessage
	}
	if len(b) < 10 {
		return 0, nil, errMessage
	}
	kind = recordType(binary.BigEndian.Uint16(b))
	n := 10 + int(binary.BigEndian.Uint16(b[8:]))
	if len(b) < n {
		return 0, nil, errMessage
	}
	return kind, b[n:], nil
}

// answer writes the answer to q: data is that of the one record it has, of the type
// that was asked for, nil for none.
func (q query) answer(code rcode, data []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, q.id)
	b = binary.BigEndian.AppendUint16(b, flagResponse|flagAvailable|q.flags&(opcodeMask|flagRecursion)|uint16(code))
	for _, there := range []bool{q.question != nil, data != nil, false, q.extended} {
		n := uint16(0)
		if there {
			n = 1
		}
		b = binary.BigEndian.AppendUint16(b, n)
	}
	b = append(b, q.question...)
	if data != nil {
		b = append(b, 0xc0, dnsHeader) // the name of the question
		b = binary.BigEndian.AppendUint16(b, uint16(q.kind))
		b = binary.BigEndian.AppendUint16(b, classINET)
		b = binary.BigEndian.AppendUint32(b, answerTTL)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(data))), data...)
	}
	if q.extended {
		b = append(b, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(typeOPT))
		b = append(binary.BigEndian.AppendUint16(b, answerSize), 0, 0, 0, 0, 0, 0)
	}
	return b
}

// packName writes a name that is a host's.
func packName(host string) (b []byte) {
	for label := range strings.SplitSeq(host, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}
