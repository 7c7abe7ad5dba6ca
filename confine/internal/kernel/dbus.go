package kernel

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"
)

// This file has the part of D-Bus that a request to systemd needs (D-Bus specification,
// "Marshaling" and "Message Protocol"): a method call with strings, numbers and lists of
// numbers, and its reply.

// dbusBody encodes values, little-endian, each aligned to its size.
type dbusBody struct{ b []byte }

func (d *dbusBody) align(n int) {
	for len(d.b)%n != 0 {
		d.b = append(d.b, 0)
	}
}

func (d *dbusBody) uint32(n uint32) {
	d.align(4)
	d.b = binary.LittleEndian.AppendUint32(d.b, n)
}

func (d *dbusBody) uint64(n uint64) {
	d.align(8)
	d.b = binary.LittleEndian.AppendUint64(d.b, n)
}

func (d *dbusBody) str(s string) {
	d.uint32(uint32(len(s)))
	d.b = append(append(d.b, s...), 0)
}

func (d *dbusBody) signature(s string) {
	d.b = append(append(append(d.b, byte(len(s))), s...), 0)
}

// array writes an array whose elements fill writes. Its length excludes the padding before the
// first element.
func (d *dbusBody) array(alignment int, fill func()) {
	d.uint32(0)
	at := len(d.b) - 4
	d.align(alignment)
	begin := len(d.b)
	fill()
	binary.LittleEndian.PutUint32(d.b[at:], uint32(len(d.b)-begin))
}

// dbusProperty is a name with a value of type string, uint64 or []uint32.
type dbusProperty struct {
	name  string
	value any
}

func (d *dbusBody) properties(ps []dbusProperty) {
	d.array(8, func() {
		for _, p := range ps {
			d.align(8)
			d.str(p.name)
			switch v := p.value.(type) {
			case string:
				d.signature("s")
				d.str(v)
			case uint64:
				d.signature("t")
				d.uint64(v)
			case []uint32:
				d.signature("au")
				d.array(4, func() {
					for _, n := range v {
						d.uint32(n)
					}
				})
			}
		}
	})
}

// Types of messages, and the fields of their headers.
const (
	dbusCall, dbusReturn, dbusError                            = 1, 2, 3
	fieldPath, fieldInterface, fieldMember, fieldBodySignature = 1, 2, 3, 8
)

func dbusMessage(object, iface, member, signature string, body []byte) []byte {
	d := &dbusBody{b: []byte{'l', dbusCall, 0, 1}}
	d.uint32(uint32(len(body)))
	d.uint32(1)
	d.array(8, func() {
		for _, f := range []struct {
			code        byte
			kind, value string
		}{
			{fieldPath, "o", object}, {fieldInterface, "s", iface}, {fieldMember, "s", member}, {fieldBodySignature, "g", signature},
		} {
			d.align(8)
			d.b = append(d.b, f.code)
			d.signature(f.kind)
			if f.kind == "g" {
				d.signature(f.value)
			} else {
				d.str(f.value)
			}
		}
	})
	d.align(8)
	return append(d.b, body...)
}

// dbusAuth returns the authentication by UID ("EXTERNAL" in the specification), which the
// socket's credentials prove.
func dbusAuth(uid int) []byte {
	return []byte("\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(strconv.Itoa(uid))) + "\r\nBEGIN\r\n")
}

var errDBus = errors.New("the reply is not D-Bus")

// dbusReply reads the reply to AUTH, and then messages up to the reply to the call.
func dbusReply(from io.Reader) error {
	r := bufio.NewReader(from)
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "OK") {
		return errors.New("systemd refuses the connection: " + strconv.Quote(line))
	}
	for {
		var head [16]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		body, fields := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[12:])
		fields = (fields + 7) &^ 7
		if head[0] != 'l' || fields > 1<<16 || body > 1<<16 {
			return errDBus
		}
		rest := make([]byte, fields+body)
		if _, err := io.ReadFull(r, rest); err != nil {
			return err
		}
		switch said := rest[fields:]; {
		case head[1] == dbusReturn:
			return nil
		case head[1] == dbusError && len(said) > 4: // by convention it has a text, after its length
			return errors.New(strings.TrimRight(string(said[4:]), "\x00"))
		case head[1] == dbusError:
			return errDBus
		}
	}
}
