// Command internet is the host that a granted one is measured with (see bench), in a
// network namespace of its own. It is a program of its own so that the benchmark,
// which is what its jails' init is a copy of, stays as small as mcp-jail.
//
//	internet certify DIR    write a certificate for its names; standard output: who issued it
//	internet serve DIR      join the pair of interfaces, and serve
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// internetNames are the hosts of the namespace that stands for the Internet.
var internetNames = map[string][4]byte{"bench.test.": {198, 51, 100, 10}, "seen.test.": {198, 51, 100, 11}}

func main() {
	var err error
	switch os.Args[1] {
	case "certify":
		var ca string
		if ca, err = makeCertificates(os.Args[2]); err == nil {
			_, err = os.Stdout.WriteString(ca)
		}
	case "serve":
		err = serveInternet(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "internet:", err)
		os.Exit(1)
	}
}

// makeCertificates writes a certificate for those names with its key, and returns who
// issued it.
func makeCertificates(dir string) (ca string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "mcp-jail's benchmark"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{"bench.test", "seen.test"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o644); err != nil {
		return "", err
	}
	return string(cert), os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600)
}

// serveInternet is the other namespace. It ends with the one that started it.
func serveInternet(dir string) error {
	if err := awaitInterface("inside"); err != nil {
		return err
	}
	if err := ip("link set lo up", "addr add 192.0.2.2/24 dev inside", "link set inside up", "addr add 198.51.100.53/32 dev lo",
		"addr add 198.51.100.10/32 dev lo", "addr add 198.51.100.11/32 dev lo"); err != nil {
		return err
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		return err
	}
	for port, handle := range map[string]func(net.Conn){":7000": echo, ":7001": swallow} {
		l, err := net.Listen("tcp", port)
		if err != nil {
			return err
		}
		go serve(l, handle)
	}
	web, err := net.Listen("tcp", ":443")
	if err != nil {
		return err
	}
	names, err := net.ListenPacket("udp", "198.51.100.53:53")
	if err != nil {
		return err
	}
	go serveNames(names)
	server := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello\n") }),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
	}
	fmt.Println("up")
	return server.ServeTLS(web, "", "")
}

// serve has a function handle every connection, which ends with it.
func serve(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			handle(c)
		}()
	}
}

func echo(c net.Conn) { io.Copy(c, c) }

// swallow reads everything before it answers.
func swallow(c net.Conn) {
	buf := make([]byte, 1<<20)
	for {
		if _, err := c.Read(buf); err != nil {
			break
		}
	}
	c.Write([]byte{0})
}

func serveNames(c net.PacketConn) {
	b := make([]byte, 1500)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		addr, known := internetNames[q.Name.String()]
		switch {
		case !known:
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 60}, Body: &dnsmessage.AResource{A: addr},
			}}
		}
		if answer, err := m.Pack(); err == nil {
			c.WriteTo(answer, from)
		}
	}
}

// awaitInterface waits for the end of the pair that the other side makes.
func awaitInterface(name string) (err error) {
	for range 500 {
		if _, err = net.InterfaceByName(name); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func ip(commands ...string) error {
	for _, c := range commands {
		if out, err := exec.Command("ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, out)
		}
	}
	return nil
}
