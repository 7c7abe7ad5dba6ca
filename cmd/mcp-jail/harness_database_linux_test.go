//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
)

// databaseHost is the host of the imitated databases, at the address of the web server. They are
// empty. They answer each command as if it were done, and write it down as the web server does
// with requests: command, address, " token" if the connection had the token before it.
const databaseHost = "db.example"

// serveDatabases serves Redis, PostgreSQL and MySQL at their usual ports.
func serveDatabases(told io.Writer, token []byte) error {
	for _, database := range []struct {
		scheme, port string
		serve        func(c *bufio.ReadWriter, tell func(command []byte)) error
	}{{"redis", "6379", serveRedis}, {"postgres", "5432", servePostgres}, {"mysql", "3306", serveMySQL}} {
		l, err := net.Listen("tcp", net.JoinHostPort(internetAddr, database.port))
		if err != nil {
			return err
		}
		go egresstest.Serve(l, func(c net.Conn) {
			seen := ""
			database.serve(bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), func(command []byte) {
				if bytes.Contains(command, token) {
					seen = " token"
					return
				}
				fmt.Fprintf(told, "%s %s://%s%s\n", bytes.Join(bytes.Fields(command), []byte(" ")), database.scheme, databaseHost, seen)
			})
		})
	}
	return nil
}

// serveRedis reads commands, each a list of texts, until the connection ends. It answers KEYS
// with an empty list, and everything else with OK.
func serveRedis(c *bufio.ReadWriter, tell func([]byte)) error {
	for {
		n, err := redisNumber(c, '*')
		if err != nil {
			return err
		}
		var words []string
		for range n {
			length, err := redisNumber(c, '$')
			if err != nil {
				return err
			}
			word := make([]byte, length+len("\r\n"))
			if _, err := io.ReadFull(c, word); err != nil {
				return err
			}
			words = append(words, string(word[:length]))
		}
		command := strings.Join(words, " ")
		tell([]byte(command))
		answer := "+OK\r\n"
		if strings.HasPrefix(command, "KEYS ") {
			answer = "*0\r\n"
		}
		c.WriteString(answer)
		if err := c.Flush(); err != nil {
			return err
		}
	}
}

// redisNumber reads a line that is a number after a sign.
func redisNumber(c *bufio.ReadWriter, sign byte) (int, error) {
	line, err := c.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(line[1:]), 10, 16)
	if err != nil || line[0] != sign {
		return 0, fmt.Errorf("%q is not %c and a number", line, sign)
	}
	return int(n), nil
}

// servePostgres asks for a password in clear text, and finishes every query without a row. A
// message is a letter, its length, which counts itself, and its content. The first message has
// no letter.
func servePostgres(c *bufio.ReadWriter, tell func([]byte)) error {
	answer := func(kind byte, content string) {
		c.WriteByte(kind)
		binary.Write(c, binary.BigEndian, uint32(4+len(content)))
		c.WriteString(content)
	}
	const ready, done = "I", "SELECT 0\x00"
	if _, err := postgresMessage(c); err != nil {
		return err
	}
	answer('R', "\x00\x00\x00\x03") // the password, please
	for {
		if err := c.Flush(); err != nil {
			return err
		}
		kind, err := c.ReadByte()
		if err != nil {
			return err
		}
		content, err := postgresMessage(c)
		if err != nil {
			return err
		}
		switch kind {
		case 'p': // a password
			tell(content)
			answer('R', "\x00\x00\x00\x00")
			answer('Z', ready)
		case 'Q': // a query
			tell(bytes.TrimRight(content, "\x00"))
			answer('C', done)
			answer('Z', ready)
		case 'P': // a query that is prepared: its name, its text, its types
			text := bytes.SplitN(content, []byte{0}, 3)
			tell(text[1])
			answer('1', "")
		case 'B': // its values
			answer('2', "")
		case 'D': // what are its columns
			answer('n', "")
		case 'E': // execute it
			answer('C', done)
		case 'S': // the end of a query that is prepared
			answer('Z', ready)
		case 'X':
			return nil
		}
	}
}

func postgresMessage(c *bufio.ReadWriter) ([]byte, error) {
	var length uint32
	if err := binary.Read(c, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	if length < 4 || length > 1<<20 {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	content := make([]byte, length-4)
	_, err := io.ReadFull(c, content)
	return content, err
}
