package cgroup

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
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

func dbusReply(r io.Reader) error {
	for line := []byte(nil); ; { // the reply to AUTH: OK and an identifier
		var b [1]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return err
		}
		if line = append(line, b[0]); len(line) > 1<<10 {
			return errDBus
		}
		if b[0] == '\n' {
			if string(line[:2]) != "OK" {
				return errors.New("systemd refuses the connection: " + strconv.Quote(string(line)))
			}
			break
		}
	}
	for {
		var head [16]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		if head[0] != 'l' {
			return errDBus
		}
		body, fields := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[12:])
		fields = (fields + 7) &^ 7
		if fields > 1<<16 || body > 1<<16 {
			return errDBus
		}
		rest := make([]byte, fields+body)
		if _, err := io.ReadFull(r, rest); err != nil {
			return err
		}
		switch head[1] {
		case dbusReturn:
			return nil
		case dbusError:
			said := rest[fields:] // by convention the first value is a text
			if len(said) > 4 {
				if n := binary.LittleEndian.Uint32(said); int(n) <= len(said)-4 {
					return errors.New(string(said[4 : 4+n]))
				}
			}
			return errDBus
		}
	}
}
