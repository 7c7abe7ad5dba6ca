package intercept

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// authority signs certificates for the hosts of one session.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

// newAuthority returns an authority limited to the hosts of the rules whose TLS is intercepted
// (name constraints, RFC 5280, 4.2.1.10). A constraint to a name includes the names below it.
func newAuthority(rules []policy.NetRule) (*authority, error) {
	var names []string
	var addrs []*net.IPNet
	for _, r := range rules {
		if !r.NeedsInterception() || r.Scheme == "http" {
			continue
		}
		if a, err := netip.ParseAddr(r.Host); err == nil {
			addrs = append(addrs, &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())})
			continue
		}
		if r.Host == "*" {
			return nil, fmt.Errorf("%s: TLS cannot be intercepted for every host", r.Where)
		}
		names = append(names, strings.TrimPrefix(r.Host, "*."))
	}
	slices.Sort(names)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: newSerial(),
		// The random part tells sessions apart in error messages of clients.
		Subject:                     pkix.Name{CommonName: "mcp-jail session " + newSerial().Text(36)[:8]},
		NotBefore:                   now.Add(-clockTolerance),
		NotAfter:                    now.Add(authorityLife),
		IsCA:                        true,
		BasicConstraintsValid:       true,
		MaxPathLenZero:              true,
		KeyUsage:                    x509.KeyUsageCertSign,
		ExtKeyUsage:                 []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         slices.Compact(names),
		PermittedIPRanges:           addrs,
	}
	// A certificate may contain any name of a kind without constraints. So constrain both kinds.
	if len(addrs) == 0 {
		template.ExcludedIPRanges = []*net.IPNet{
			{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
		}
	}
	if len(names) == 0 {
		template.PermittedDNSDomains = []string{"invalid"} // a name that no host has (RFC 6761)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{
		key: key, cert: cert, leaves: map[string]*tls.Certificate{},
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

func newSerial() *big.Int {
	n := make([]byte, 16)
	rand.Read(n)
	n[0] = n[0]&0x7f | 0x40 // positive and always of the same length
	return new(big.Int).SetBytes(n)
}

// leaf returns the certificate of a host. It makes one at the first call and again after half
// of leafLife. There are at most as many certificates as hosts that were connected to.
func (a *authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if c := a.leaves[host]; c != nil && now.Before(c.Leaf.NotAfter.Add(-leafLife/2)) {
		return c, nil
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(),
		NotBefore:    now.Add(-clockTolerance),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	// They can be made again, and there is no need to know which are in use.
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: parsed}
	a.leaves[host] = c
	return c, nil
}

// maxLeaves bounds the certificates of names below a wildcard.
const maxLeaves = 1024
