// Package upstream connects to a host through a proxy of this host: an HTTP proxy, which is asked
// with CONNECT, one that is itself reached by TLS, or a SOCKS proxy.
//
// A proxy is asked for a name, and resolves it. Only socks5:// is asked for an address, which the
// caller has resolved and checked, as curl(1) does.
package upstream

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// maxHead bounds the head of a proxy's response to CONNECT.
const maxHead = 16 << 10

// Conn is a connection like one of TCP: each direction ends for itself.
type Conn interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error // 0: Close resets the connection
}

// A TLSFunc carries out the TLS handshake of a client on a connection, which it closes if that fails.
// The result carries the bytes inside the TLS.
type TLSFunc func(ctx context.Context, conn Conn, serverName string) (Conn, error)

// IsSOCKS reports whether a proxy carries every protocol.
func IsSOCKS(proxy *url.URL) bool { return proxy.Scheme == "socks5" || proxy.Scheme == "socks5h" }

// ByAddress reports whether a proxy is asked for an address and not for a name.
func ByAddress(proxy *url.URL) bool { return proxy.Scheme == "socks5" }

// Supported returns an error if Dial does not know the proxy's scheme.
func Supported(proxy *url.URL) error {
	switch proxy.Scheme {
	case "http", "https", "socks5", "socks5h":
		return nil
	}
	return fmt.Errorf("%s:// is not supported: http://, https://, socks5:// and socks5h:// are", proxy.Scheme)
}

// Name returns the URL of a proxy without its credentials.
func Name(proxy *url.URL) string { return proxy.Scheme + "://" + proxy.Host }

// FromEnvironment returns the proxy that the environment of this process names for a URL, or nil. The
// scheme of the URL is https, http, or tcp for any other protocol. ALL_PROXY counts where the variable
// of the scheme is not set. For http and tcp only a SOCKS proxy counts: others refuse these.
func FromEnvironment() func(*url.URL) (*url.URL, error) {
	own := httpproxy.FromEnvironment()
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	of := func(proxy string) func(*url.URL) (*url.URL, error) {
		return (&httpproxy.Config{HTTPSProxy: cmp.Or(proxy, all), NoProxy: own.NoProxy}).ProxyFunc()
	}
	by := map[string]func(*url.URL) (*url.URL, error){"https": of(own.HTTPSProxy), "http": of(own.HTTPProxy), "tcp": of("")}
	return func(u *url.URL) (*url.URL, error) {
		asked := *u
		asked.Scheme = "https" // the configuration has each proxy in that place
		proxy, err := by[u.Scheme](&asked)
		if err != nil || proxy == nil || u.Scheme == "https" || IsSOCKS(proxy) {
			return proxy, err
		}
		return nil, nil
	}
}

// Dial connects to a host through a proxy. addr is what ByAddress is about. The address of the proxy
// itself needs no check, because the host's user chose it.
func Dial(ctx context.Context, proxy *url.URL, host string, addr netip.AddrPort, startTLS TLSFunc) (Conn, error) {
	if err := Supported(proxy); err != nil {
		return nil, err
	}
	c, err := dialProxy(ctx, proxy)
	if err != nil {
		return nil, err
	}
	if proxy.Scheme == "https" {
		if startTLS == nil {
			c.Close()
			return nil, errors.New("an https:// proxy needs mcp-jail-tls, which was not found beside mcp-jail and in PATH")
		}
		if c, err = startTLS(ctx, c, proxy.Hostname()); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	target := net.JoinHostPort(host, strconv.Itoa(int(addr.Port())))
	switch {
	case !IsSOCKS(proxy):
		err = sendConnect(c, proxy.User, target)
	case ByAddress(proxy):
		err = askSOCKS(ctx, c, proxy, addr.String())
	default:
		err = askSOCKS(ctx, c, proxy, target)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

var usualPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

func dialProxy(ctx context.Context, proxy *url.URL) (Conn, error) {
	port := proxy.Port()
	if port == "" {
		port = usualPorts[proxy.Scheme]
	}
	c, err := (&net.Dialer{Resolver: &net.Resolver{PreferGo: true}}).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// connected is a proxy.Dialer that returns a connection that is there already.
type connected struct{ Conn }

func (c connected) Dial(string, string) (net.Conn, error) { return c.Conn, nil }

func (c connected) DialContext(context.Context, string, string) (net.Conn, error) {
	return c.Conn, nil
}

// askSOCKS asks a SOCKS proxy (RFC 1928, RFC 1929) for a connection. It reads no byte that comes
// after the answer.
func askSOCKS(ctx context.Context, c Conn, at *url.URL, target string) error {
	var auth *proxy.Auth
	if at.User != nil {
		password, _ := at.User.Password()
		auth = &proxy.Auth{User: at.User.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", at.Host, auth, connected{c})
	if err != nil {
		return err
	}
	_, err = dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", target)
	var op *net.OpError // which names both addresses
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return err
}

func sendConnect(c Conn, user *url.Userinfo, target string) error {
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
		if len(head) >= maxHead {
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
