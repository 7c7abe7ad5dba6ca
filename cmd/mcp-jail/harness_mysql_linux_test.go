//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
)

// serveMySQL asks for a password in clear text, and finishes every query without a row. A
// message is its length in three bytes, its number, and its content.
func serveMySQL(c *bufio.ReadWriter, tell func([]byte)) error {
	answer := func(number byte, content string) error {
		var head [4]byte
		binary.LittleEndian.PutUint32(head[:], uint32(len(content)))
		head[3] = number
		c.Write(head[:])
		c.WriteString(content)
		return c.Flush()
	}
	const (
		done     = "\x00\x00\x00\x02\x00\x00\x00" // no row was changed, no warning
		greeting = "\x0a8.0.0\x00" + "\x01\x00\x00\x00" + "saltsalt\x00" +
			"\x09\xa2\x2d\x02\x00" + // long passwords, databases, 4.1, transactions; utf8mb4
			"\x08\x00" + "\x15" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "saltsaltsalt\x00" + // plug-ins to log in
			"mysql_native_password\x00"
		password   = "\xfemysql_clear_password\x00" // the password, please
		quit       = 0x01
		query      = 0x03
		ping       = 0x0e
		badCommand = "\xff\x17\x04#08S01no such command" // error 1047
	)
	if err := answer(0, greeting); err != nil {
		return err
	}
	number, _, err := mysqlMessage(c)
	if err != nil {
		return err
	}
	if err := answer(number+1, password); err != nil {
		return err
	}
	number, content, err := mysqlMessage(c)
	if err != nil {
		return err
	}
	tell(content)
	err = answer(number+1, done)
	for err == nil {
		if number, content, err = mysqlMessage(c); err != nil || len(content) == 0 || content[0] == quit {
			break
		}
		switch content[0] {
		case query:
			tell(bytes.TrimSpace(content[1:]))
			err = answer(number+1, done)
		case ping:
			err = answer(number+1, done)
		default:
			err = answer(number+1, badCommand)
		}
	}
	return err
}

func mysqlMessage(c *bufio.ReadWriter) (number byte, content []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	number, head[3] = head[3], 0
	content = make([]byte, binary.LittleEndian.Uint32(head[:]))
	_, err = io.ReadFull(c, content)
	return number, content, err
}
