package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
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

// clusterHost is the host and port of an imitated Kubernetes cluster, which is the web server.
const clusterHost = "cluster.example:6443"

// plantKubectl writes the program kubectl into a directory of its own, and returns that. The
// directory is the first in PATH. The jail keeps it there if it is granted, and a real kubectl of
// the machine comes after it.
func plantKubectl(t *testing.T, w *world) string {
	t.Helper()
	dir := filepath.Join(w.base, "kubectl")
	must(t, os.Mkdir(dir, 0o755))
	must(t, testkit.WriteProgram(filepath.Join(dir, "kubectl"), []byte(source(t, "kubectl"))))
	w.prependPath(dir)
	return dir
}

// encodedAuthority returns the certificate of the authority as a kubeconfig file has it.
func (n *internet) encodedAuthority(t *testing.T) string {
	t.Helper()
	return base64.StdEncoding.EncodeToString([]byte(testkit.ReadFile(t, n.authority())))
}

// kubernetesAnswer returns what the cluster answers to a request, and whether the request is for
// the cluster: it has one kind of resource, of which there is one.
func kubernetesAnswer(r *http.Request) (answer string, ok bool) {
	if r.Host != clusterHost {
		return "", false
	}
	switch strings.TrimRight(r.URL.Path, "/") {
	case "/version":
		return `{"major":"1","minor":"33","gitVersion":"v1.33.0"}`, true
	case "/api":
		return `{"kind":"APIVersions","versions":["v1"]}`, true
	case "/apis":
		return `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`, true
	case "/api/v1":
		return `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","singularName":"","namespaced":false,"kind":"Namespace","verbs":["get","list"]}]}`, true
	case "/api/v1/namespaces":
		return `{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"notes"}}]}`, true
	}
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, true
}
