package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxProxyHead bounds the head of a proxy's response to CONNECT.
const maxProxyHead = 16 << 10

// ofProxy begins the errors of the host's proxy.
const ofProxy = "the host's proxy: "

// proxyFor returns the host's proxy for a destination, or nil if it has none. Only
// connections that are or may be HTTPS go through a proxy; proxies refuse other protocols.
func (v *dialer) proxyFor(d *destination) (*url.URL, error) {
	if d.verdict[protoTLS] == verdictDeny || d.to.Port() != 443 && d.rules[protoTLS].Scheme != "https" {
		return nil, nil
	}
	u, err := v.proxy(&url.URL{Scheme: "https", Host: net.JoinHostPort(d.host, strconv.Itoa(int(d.to.Port())))})
	switch {
	case err != nil:
		return nil, &refusal{policy.DeniedUnsupported, "the host's proxy settings are invalid: " + err.Error()}
	case u != nil && u.Scheme != "http":
		return nil, &refusal{policy.DeniedUnsupported, fmt.Sprintf("the host's proxy has a URL with %s://, and only http:// is supported", u.Scheme)}
	}
	return u, nil
}

// dialProxy connects through a proxy (RFC 9110 9.3.6). The address of the proxy needs no
// check because the host's user chose it.
func dialProxy(ctx context.Context, proxy *url.URL, host string, port uint16) (*net.TCPConn, error) {
	at := proxy.Host
	if proxy.Port() == "" {
		at = net.JoinHostPort(proxy.Hostname(), "80")
	}
	conn, err := (&net.Dialer{Resolver: &net.Resolver{PreferGo: true}}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf(ofProxy+"%w", err)
	}
	c := conn.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	err = sendConnect(c, proxy.User, net.JoinHostPort(host, strconv.Itoa(int(port))))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf(ofProxy+"%w", err)
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
	// It reads single bytes because those after the head belong to the connection.
	var head []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n"); head = append(head, b[0]) {
		if len(head) >= maxProxyHead {
			return errors.New("its response to CONNECT is too long")
		}
		if _, err := c.Read(b); err != nil {
			return err
		}
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	version, status, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(version, "HTTP/1.") || len(status) < 3 || status[0] != '2' {
		return fmt.Errorf("it refused CONNECT: %.100q", line)
	}
	return nil
}
