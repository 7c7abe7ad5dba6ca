package intercept

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// certify has the authority sign for a name, as somebody would who had its key.
func (a *authority) certify(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	c := testkit.Get(a.leaf(name))(t)
	return c
}

// TestConstraints: what the authority signs counts for the hosts of its rules only,
// also if its key were known.
func TestConstraints(t *testing.T) {
	t.Parallel()
	ruleFor := func(host string) policy.NetRule {
		return policy.NetRule{Host: host, Methods: []string{"GET"}, Allow: true}
	}
	for _, c := range []struct {
		hosts     []string
		good, bad []string
	}{
		{[]string{"api.example.com"}, []string{"api.example.com"}, []string{"example.com", "www.example.com", "xapi.example.com", "google.com", "127.0.0.1", "10.0.0.1", "::1"}},
		{[]string{"*.example.com", "other.org"}, []string{"a.example.com", "b.a.example.com", "other.org"}, []string{"example.org", "google.com", "127.0.0.1"}},
		{[]string{"10.0.0.1"}, []string{"10.0.0.1"}, []string{"10.0.0.2", "::1", "example.com"}},
		{[]string{"2001:db8::1", "a.b"}, []string{"2001:db8::1", "a.b"}, []string{"2001:db8::2", "10.0.0.1", "b"}},
	} {
		var rules []policy.NetRule
		for _, h := range c.hosts {
			rules = append(rules, ruleFor(h))
		}
		a := testkit.Get(newAuthority(rules))(t)
		verify := func(name string) error {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(a.pem)
			_, err := a.certify(t, name).Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name})
			if ip := net.ParseIP(name); ip != nil {
				_, err = a.certify(t, name).Leaf.Verify(x509.VerifyOptions{Roots: pool})
			}
			return err
		}
		for _, name := range c.good {
			testkit.Works(t, fmt.Sprintf("%v, %s", c.hosts, name), verify(name))
		}
		for _, name := range c.bad {
			testkit.Fails(t, fmt.Sprintf("%v, %s", c.hosts, name), verify(name), "not authorized to sign")
		}
	}
}

// TestClients: other libraries than Go's accept the certificates, and observe the
// constraints.
func TestClients(t *testing.T) {
	t.Parallel()
	s := serve(t, "h2", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.Proto) })
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	testkit.Must(t, os.WriteFile(bundle, w.CA(), 0o600))
	// A server with a certificate for another name, of the same authority.
	forged, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*w.ca.certify(t, "evil.org")}})
	testkit.Must(t, err)
	evil := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello evil") })}
	go evil.Serve(forged)
	t.Cleanup(func() { evil.Close() })

	for _, c := range []struct {
		name    string
		command func(url, host, addr string) *exec.Cmd
	}{
		{"curl", func(url, host, addr string) *exec.Cmd {
			return exec.Command("curl", "-sS", "--noproxy", "*", "--cacert", bundle, "--connect-to", host+":443:"+addr, url)
		}},
		{"curl, HTTP/1.1", func(url, host, addr string) *exec.Cmd {
			return exec.Command("curl", "-sS", "--http1.1", "--noproxy", "*", "--cacert", bundle, "--connect-to", host+":443:"+addr, url)
		}},
		{"node", func(url, host, addr string) *exec.Cmd {
			cmd := exec.Command("node", "-e", `
				const [h, p] = process.argv[1].split(":"), u = new URL(process.argv[2])
				require("https").get({host: h, port: p, servername: u.hostname, headers: {host: u.hostname}, path: "/"}, r => r.pipe(process.stdout))`, addr, url)
			cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+bundle)
			return cmd
		}},
		{"python", func(url, host, addr string) *exec.Cmd {
			cmd := exec.Command("python3", "-c", `
import http.client, socket, ssl, sys
c = http.client.HTTPSConnection(sys.argv[1])
c.sock = ssl.create_default_context(cafile=sys.argv[3]).wrap_socket(socket.create_connection(sys.argv[2].split(":")), server_hostname=sys.argv[1])
c.request("GET", "/")
print(c.getresponse().read().decode())`, host, addr, bundle)
			return cmd
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			right := c.command("https://"+host+"/", host, w.gate.Addr().String())
			if right.Err != nil {
				testkit.Skip(t, right.Path, "%v", right.Err)
			}
			if out, err := right.CombinedOutput(); err != nil || !strings.Contains(string(out), "hello HTTP/") {
				t.Errorf("%v %s", err, out)
			}
			if out, err := c.command("https://evil.org/", "evil.org", forged.Addr().String()).CombinedOutput(); err == nil || strings.Contains(string(out), "hello") {
				t.Errorf("a forged certificate: %s", out)
			}
		})
	}
	block, _ := pem.Decode(w.CA())
	if block == nil || block.Type != "CERTIFICATE" || strings.Contains(string(w.CA()), "PRIVATE") {
		t.Error("the authority's certificate is not alone")
	}
}
