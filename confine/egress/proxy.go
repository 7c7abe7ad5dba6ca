package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/mcp-jail/mcp-jail/confine/egress/upstream"
	"github.com/mcp-jail/mcp-jail/policy"
)

// ofProxy begins the errors of the host's proxy.
const ofProxy = "the host's proxy "

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
		return nil, &refusal{policy.DeniedUnsupported, "the host's proxy settings are invalid: HTTPS_PROXY or ALL_PROXY is not the URL of a proxy"}
	case u == nil || scheme != "https" && !upstream.IsSOCKS(u):
		return nil, nil
	}
	if err := upstream.Supported(u); err != nil {
		return nil, &refusal{policy.DeniedUnsupported, "the host's proxy has a URL that cannot be used: " + err.Error()}
	}
	return u, nil
}

// resolvesNames reports whether a proxy, nil for none, may resolve names that this host cannot.
func resolvesNames(proxy *url.URL) bool { return proxy != nil && !upstream.ByAddress(proxy) }

// dialProxy connects through a proxy. A proxy that is asked for an address gets the checked ones, one
// after the other.
func (v *dialer) dialProxy(ctx context.Context, proxy *url.URL, d *destination, addrs []netip.AddrPort) (c Conn, err error) {
	if !upstream.ByAddress(proxy) {
		addrs = []netip.AddrPort{d.to}
	}
	for _, addr := range addrs {
		if c, err = upstream.Dial(ctx, proxy, d.host, addr, v.startTLS); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf(ofProxy+"%s: %w", upstream.Name(proxy), err)
}
