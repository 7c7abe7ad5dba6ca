package front

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress/http1"
	"github.com/mcp-jail/mcp-jail/policy"
)

const maxText = 1 << 10 // of a refusal

// greetHTTP reads the head of a request to the proxy.
func (f *Front) greetHTTP(b *bufio.Reader, c *Client) bool {
	head, r, err := http1.ReadHead(b, http1.ParseProxyHead)
	var unread *http1.Ambiguous
	if err != nil && !errors.As(err, &unread) {
		return false // the client has gone, or is too slow
	}
	name, password, given := basicCredentials(r.Authorization)
	// What is no request to a proxy comes from a program that means another port, such as a browser.
	if err != nil && !given {
		c.writeHTTP("400 Bad Request", "", err)
		return false
	}
	if !f.admits(name, password, given) {
		c.writeHTTP("407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"mcp-jail\"\r\n", errNoPassword)
		return false
	}
	if err != nil {
		f.deny(r.Host, r.Port, policy.DeniedAmbiguous, err.Error())
		c.writeHTTP("400 Bad Request", "", err)
		return false
	}
	b.Discard(len(head))
	c.Host, c.Port = r.Host, r.Port
	if !r.Connect {
		c.Request = &r
	}
	c.tell = func(err *Error) {
		switch {
		case err != nil:
			c.writeHTTP([]string{Refused: "403", Unreachable: "502", TimedOut: "504"}[err.Kind], "", err)
		case r.Connect:
			c.Conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
		}
	}
	return true
}

// basicCredentials returns the credentials in the value of a field (RFC 7617).
func basicCredentials(value string) (name, password string, given bool) {
	scheme, encoded, _ := strings.Cut(value, " ")
	b, err := base64.StdEncoding.DecodeString(strings.Trim(encoded, " "))
	if !strings.EqualFold(scheme, "Basic") || err != nil {
		return "", "", value != ""
	}
	name, password, _ = strings.Cut(string(b), ":")
	return name, password, true
}

// writeHTTP writes a response that says why a client gets nothing. Some programs show the text of the
// status line alone, so a status without text gets the reason there too.
func (c *Client) writeHTTP(status, fields string, why error) {
	text := "mcp-jail: " + printable(why.Error())
	if len(status) == len("403") {
		status += " " + text
	}
	fmt.Fprintf(c.Conn, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%sConnection: close\r\nProxy-Connection: close\r\n\r\n%s\n",
		status, len(text)+1, fields, text)
}

// printable returns a text as one line of ASCII. Parts of it can come from a program.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s[:min(len(s), maxText)])
}
