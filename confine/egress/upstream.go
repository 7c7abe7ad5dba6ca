package egress

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

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxProxyHead bounds the head of a proxy's response to CONNECT.
const maxProxyHead = 16 << 10

// Conn is a connection of the jail, or to a host: like one of TCP: each direction ends for itself.
type Conn interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error // 0: Close resets the connection
}

// A tlsFunc carries out the TLS handshake of a client on a connection, which it closes if that fails.
// The result carries the bytes inside the TLS.
type tlsFunc func(ctx context.Context, conn Conn, serverName string) (Conn, error)

// isSOCKS reports whether a proxy carries every protocol.
func isSOCKS(proxy *url.URL) bool { return proxy.Scheme == "socks5" || proxy.Scheme == "socks5h" }

// proxyByAddress reports whether a proxy is asked for an address and not for a name.
func proxyByAddress(proxy *url.URL) bool { return proxy.Scheme == "socks5" }

// supportedProxy returns an error if DialProxy does not know the proxy's scheme.
func supportedProxy(proxy *url.URL) error {
	switch proxy.Scheme {
	case "http", "https", "socks5", "socks5h":
		return nil
	}
	return fmt.Errorf("%s:// is not supported: http://, https://, socks5:// and socks5h:// are", proxy.Scheme)
}

// proxyName returns the URL of a proxy without its credentials.
func proxyName(proxy *url.URL) string { return proxy.Scheme + "://" + proxy.Host }

// proxyFromEnvironment returns the proxy that the environment of this process names for a URL, or nil. The
// scheme of the URL is https, http, or tcp for any other protocol. ALL_PROXY counts where the variable
// of the scheme is not set. For http and tcp only a SOCKS proxy counts: others refuse these.
func proxyFromEnvironment() func(*url.URL) (*url.URL, error) {
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
		if err != nil || proxy == nil || u.Scheme == "https" || isSOCKS(proxy) {
			return proxy, err
		}
		return nil, nil
	}
}

// DialProxy connects to a host through a proxy. addr is what proxyByAddress is about. The address of the proxy
// itself needs no check, because the host's user chose it.
func DialProxy(ctx context.Context, proxy *url.URL, host string, addr netip.AddrPort, startTLS tlsFunc) (Conn, error) {
	if err := supportedProxy(proxy); err != nil {
		return nil, err
	}
	c, err := dialTCP(ctx, proxy)
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
	case !isSOCKS(proxy):
		err = sendConnect(c, proxy.User, target)
	case proxyByAddress(proxy):
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

func dialTCP(ctx context.Context, proxy *url.URL) (Conn, error) {
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

// ofProxy begins the errors of the host's proxy.
const ofProxy = "this machine's proxy "

// proxyFor returns the host's proxy for a destination, or nil if it has none. Of the connections
// that are not and cannot be HTTPS, only a SOCKS proxy gets any; others refuse them.
func (v *dialer) proxyFor(d *destination) (*url.URL, error) {
	scheme := "https"
	switch {
	case d.verdict[protoTLS] != verdictDeny && (d.to.Port() == 443 || d.rules[protoTLS].Scheme == "https"):
	case d.to.Port() == 80:
		scheme = "http"
	default:
		scheme = "tcp"
	}
	u, err := v.proxy(&url.URL{Scheme: scheme, Host: net.JoinHostPort(d.host, strconv.Itoa(int(d.to.Port())))})
	switch {
	case err != nil: // the error may contain a password
		return nil, &refusal{policy.DeniedUnsupported, "this machine's proxy settings are invalid: HTTPS_PROXY or ALL_PROXY is not the URL of a proxy"}
	case u == nil || scheme != "https" && !isSOCKS(u):
		return nil, nil
	}
	if err := supportedProxy(u); err != nil {
		return nil, &refusal{policy.DeniedUnsupported, "this machine's proxy has a URL that cannot be used: " + err.Error()}
	}
	return u, nil
}

// resolvesNames reports whether a proxy, nil for none, may resolve names that this host cannot.
func resolvesNames(proxy *url.URL) bool { return proxy != nil && !proxyByAddress(proxy) }

// dialProxy connects through a proxy. A proxy that is asked for an address gets the checked ones, one
// after the other.
func (v *dialer) dialProxy(ctx context.Context, proxy *url.URL, d *destination, addrs []netip.AddrPort) (c Conn, err error) {
	if !proxyByAddress(proxy) {
		addrs = []netip.AddrPort{d.to}
	}
	for _, addr := range addrs {
		if c, err = DialProxy(ctx, proxy, d.host, addr, v.startTLS); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf(ofProxy+"%s: %w", proxyName(proxy), err)
}
