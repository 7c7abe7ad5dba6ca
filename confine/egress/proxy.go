package egress

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxProxyHead bounds what a proxy answers to CONNECT.
const maxProxyHead = 16 << 10

// proxyFor returns the proxy that the host would use for a destination, nil for
// none. It is used for what is, or may be, HTTPS; other protocols are what such a
// proxy refuses.
func (g *Gateway) proxyFor(d *destination) (*url.URL, error) {
	if d.verdict[protoTLS] == verdictDeny || d.to.Port() != 443 && d.rules[protoTLS].Scheme != "https" {
		return nil, nil
	}
	u, err := g.o.Proxy(&url.URL{Scheme: "https", Host: net.JoinHostPort(d.host, strconv.Itoa(int(d.to.Port())))})
	switch {
	case err != nil:
		return nil, &refusal{ReasonUnsupported, "the host's proxy is not set up well: " + err.Error()}
	case u != nil && u.Scheme != "http":
		return nil, &refusal{ReasonUnsupported, fmt.Sprintf("the host's proxy is one of %s://, and only http:// is spoken", u.Scheme)}
	}
	return u, nil
}

// dialProxy asks a proxy for a tunnel (RFC 9110 9.3.6). The proxy is the host's, so
// where it is needs no check.
func dialProxy(ctx context.Context, proxy *url.URL, host string, port uint16) (*net.TCPConn, error) {
	at := proxy.Host
	if proxy.Port() == "" {
		at = net.JoinHostPort(proxy.Hostname(), "80")
	}
	conn, err := (&net.Dialer{Resolver: &net.Resolver{PreferGo: true}}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("the host's proxy: %w", err)
	}
	c := conn.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	err = sendConnect(c, proxy.User, net.JoinHostPort(host, strconv.Itoa(int(port))))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("the host's proxy: %w", err)
	}
	return c, nil
}

func sendConnect(c *net.TCPConn, user *url.Userinfo, target string) error {
	ask := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n"
	if user != nil {
		password, _ := user.Password()
		ask += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := c.Write([]byte(ask + "\r\n")); err != nil {
		return err
	}
	// One octet at a time: what comes behind the head is the other side's.
	var head []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n"); head = append(head, b[0]) {
		if len(head) >= maxProxyHead {
			return fmt.Errorf("it answered CONNECT at too great a length")
		}
		if _, err := c.Read(b); err != nil {
			return err
		}
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	version, status, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(version, "HTTP/1.") || len(status) < 3 || status[0] != '2' {
		return fmt.Errorf("it answered CONNECT with %.100q", line)
	}
	return nil
}
