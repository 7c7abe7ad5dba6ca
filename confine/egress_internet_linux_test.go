package confine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// An Internet of a few hosts: a resolver, web servers for every name that it knows,
// and services that speak first.

// internetHosts are the names and what they resolve to. A name with "*" stands for
// all below.
var internetHosts = map[string][]string{
	"good.test":          {"198.51.100.10"},
	"other.test":         {"198.51.100.20"},
	"twin.test":          {"198.51.100.10"}, // a name of the same address
	"both.test":          {"198.51.100.11", "2001:db8::11"},
	"six.test":           {"2001:db8::12"},
	"alias.test":         {"198.51.100.10"}, // by way of a CNAME
	"*.wild.test":        {"198.51.100.13"},
	"xn--bcher-kva.test": {"198.51.100.14"},
	"private.test":       {"10.9.9.9"},
	"metadata.test":      {"169.254.169.254"},
	"loopback.test":      {"127.0.0.1"},
	"mapped.test":        {"::ffff:10.9.9.9"},
	"nat64.test":         {"64:ff9b::a09:909"},
	"mixed.test":         {"10.9.9.9", "198.51.100.15"},
	"closed.test":        {"198.51.100.99"}, // nothing listens there
}

// authority issues certificates for those names.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcp-jail's tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, &x509.Certificate{Subject: pkix.Name{CommonName: "mcp-jail's tests"}}, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

func (a *authority) encode() (string, error) {
	key, err := x509.MarshalECPrivateKey(a.key)
	return base64.StdEncoding.EncodeToString(a.cert.Raw) + " " + base64.StdEncoding.EncodeToString(key), err
}

func decodeAuthority(s string) (*authority, error) {
	a, b, _ := strings.Cut(s, " ")
	der, err := base64.StdEncoding.DecodeString(a)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(b)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(raw)
	return &authority{cert, key}, err
}

func (a *authority) issue(names ...string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, key.Public(), a.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func runInternet(dir string) {
	if err := serveInternet(dir); err != nil {
		fmt.Fprintln(os.Stderr, "internet:", err)
		os.Exit(1)
	}
	fmt.Println("up")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func serveInternet(dir string) error {
	a, err := decodeAuthority(os.Getenv("MCPJAIL_TEST_AUTHORITY"))
	if err != nil {
		return err
	}
	for range 500 { // the other side makes the interface
		if _, err = net.InterfaceByName("inside"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Everything but what is the host's is an address of this namespace.
	if err = errors.Join(err, ip("link set lo up", "addr add 192.0.2.2/24 dev inside", "addr add 2001:db8:1::2/64 dev inside nodad", "link set inside up",
		"addr add 198.51.100.53/32 dev lo", "addr add 2001:db8::53/128 dev lo",
		"route add local 198.51.100.0/25 dev lo", "route add local 10.9.9.0/24 dev lo", "route add local 169.254.169.254/32 dev lo",
		"-6 route add local 2001:db8::/64 dev lo", "-6 route add local 64:ff9b::/96 dev lo")); err != nil {
		return err
	}
	var names []string
	for name := range internetHosts {
		names = append(names, name)
	}
	cert, err := a.issue(names...)
	if err != nil {
		return err
	}
	repository := filepath.Join(dir, "repo.git")
	if err := makeRepository(repository); err != nil {
		return err
	}
	web := http.NewServeMux()
	web.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		local := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		fmt.Fprintf(w, "this is %s at %s\n", r.Host, local)
	})
	web.HandleFunc("/told", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s was told %s\n", r.Host, r.Header.Get("Authorization"))
	})
	web.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	web.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://other.test/", http.StatusFound)
	})
	web.Handle("/repo.git/", http.StripPrefix("/repo.git", http.FileServer(http.Dir(repository))))
	quiet := log.New(io.Discard, "", 0)
	// Not on the address where nothing listens.
	for _, host := range []string{"198.51.100.10", "198.51.100.11", "198.51.100.13", "198.51.100.14", "198.51.100.15", "198.51.100.20", "10.9.9.9", "169.254.169.254", "2001:db8::11", "2001:db8::12", "64:ff9b::a09:909"} {
		for _, port := range []string{"80", "443", "7000"} {
			l, err := freebind(net.JoinHostPort(host, port))
			if err != nil {
				return err
			}
			switch port {
			case "80":
				go (&http.Server{Handler: web, ErrorLog: quiet}).Serve(l)
			case "443":
				s := &http.Server{Handler: web, ErrorLog: quiet, TLSConfig: &tls.Config{Certificates: []tls.Certificate{*cert}}}
				go s.ServeTLS(l, "", "")
			default:
				go serveGreeting(l, "hello from "+host)
			}
		}
	}
	return serveNames()
}

// freebind listens on an address that only a route makes this namespace's.
func freebind(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		host, _, _ := net.SplitHostPort(addr)
		bits := "/32"
		if strings.Contains(host, ":") {
			bits = "/128"
		}
		if err := ip("addr add " + host + bits + " dev lo nodad"); err != nil {
			return nil, err
		}
		return net.Listen("tcp", addr)
	}
	return l, nil
}

func makeRepository(dir string) error {
	work := dir + ".work"
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", work}, {"-C", work, "commit", "-q", "--allow-empty", "-m", "first"},
		{"clone", "-q", "--bare", work, dir}, {"-C", dir, "update-server-info"},
	} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "safe.directory=*"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %v: %s", args, err, out)
		}
	}
	return nil
}

// serveNames answers on every address, over UDP and TCP. What it was asked it tells
// over HTTP, since what leaves the jail is what matters.
func serveNames() error {
	var asked names
	c, err := net.ListenPacket("udp", "198.51.100.53:53")
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "198.51.100.53:53")
	if err != nil {
		return err
	}
	told, err := net.Listen("tcp", "198.51.100.53:80")
	if err != nil {
		return err
	}
	go http.Serve(told, &asked)
	go func() {
		b := make([]byte, 4096)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			c.WriteTo(asked.answer(b[:n]), from)
		}
	}()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var size [2]byte
				for {
					if _, err := io.ReadFull(c, size[:]); err != nil {
						return
					}
					b := make([]byte, binary.BigEndian.Uint16(size[:]))
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
					a := asked.answer(b)
					c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...))
				}
			}()
		}
	}()
	return nil
}

// names remembers what was asked.
type names struct {
	mu  sync.Mutex
	all []string
}

func (n *names) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	io.WriteString(w, strings.Join(n.all, "\n"))
}

func (n *names) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	n.mu.Lock()
	n.all = append(n.all, name)
	n.mu.Unlock()
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	addrs, ok := internetHosts[name]
	if _, below, found := strings.Cut(name, "."); !ok && found {
		addrs, ok = internetHosts["*."+below]
	}
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	owner := q.Name
	if name == "alias.test" {
		good := dnsmessage.MustNewName("good.test.")
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: 60}, Body: &dnsmessage.CNAMEResource{CNAME: good},
		})
		owner = good
	}
	for _, a := range addrs {
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: 60}}
		addr := net.ParseIP(a)
		four := !strings.Contains(a, ":")
		switch {
		case four && q.Type == dnsmessage.TypeA:
			r.Body = &dnsmessage.AResource{A: [4]byte(addr.To4())}
		case !four && q.Type == dnsmessage.TypeAAAA:
			r.Body = &dnsmessage.AAAAResource{AAAA: [16]byte(addr.To16())}
		default:
			continue
		}
		m.Answers = append(m.Answers, r)
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}
