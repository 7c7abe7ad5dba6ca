//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
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
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress/handover"
	"github.com/mcp-jail/mcp-jail/confine/egress/terminate"
	"github.com/mcp-jail/mcp-jail/policy"
)

// An Internet of one host, for sessions that are to reach api.github.com: a network
// namespace around mcp-jail in which a resolver and a web server are at addresses that
// only a route makes the namespace's own, so that to mcp-jail they are elsewhere.

const (
	internetName = "mcp-jail-internet"        // argv[0]: makes it, and becomes the rest of argv
	hostName     = "mcp-jail-internet-host"   // argv[0]: what is in it, until its input ends
	tlsName      = handover.Name              // the test binary, copied
	internetHost = "api.github.com"           // its only name
	internetAddr = "198.51.100.10"            // of that
	internetDNS  = "198.51.100.53"            // its resolver
	internetFail = "mcp-jail-internet: error" // on stderr: there is no such world
)

// besides are what the test binary is under other names, besides mcp-jail.
var besides = map[string]func(){internetName: internetMain, hostName: internetHostMain, tlsName: tlsMain}

// tlsMain is mcp-jail-tls.
func tlsMain() {
	log.SetOutput(io.Discard)
	err := handover.Run(func(rules []policy.NetRule, roots []byte) (handover.Worker, error) {
		return terminate.New(terminate.Options{Rules: rules, MoreRoots: roots})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp-jail-tls:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// internet is what a test knows of it.
type internet struct{ dir string }

// newInternet prepares an Internet for the sessions of a world. The one at internetHost
// takes requests with the token alone.
func newInternet(t *testing.T, w *world, token string) *internet {
	t.Helper()
	need(t, "ip")
	n := &internet{filepath.Join(w.base, "internet")}
	must(t, os.Mkdir(n.dir, 0o755))
	n.certify(t)
	must(t, os.WriteFile(filepath.Join(n.dir, "token"), []byte(token), 0o600))
	must(t, os.WriteFile(filepath.Join(n.dir, "told"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(n.dir, "resolv.conf"), []byte("nameserver "+internetDNS+"\n"), 0o644))
	w.copied(t, tlsName)
	for i, v := range w.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			w.env[i] = "PATH=" + filepath.Join(w.base, "bin") + ":" + path
		}
	}
	w.env = append(w.env, "SSL_CERT_FILE="+n.authority()) // mcp-jail's own, and no server's
	w.around = n.around
	return n
}

// authority is the file with the certificate of whom the host's is from.
func (n *internet) authority() string { return filepath.Join(n.dir, "ca.pem") }

// told lists what the host was asked, a line each: method, path, authorization.
func (n *internet) told(t *testing.T) string { return read(t, filepath.Join(n.dir, "told")) }

func (n *internet) certify(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	own := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcp-jail's tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	leaf := *own
	leaf.SerialNumber, leaf.Subject, leaf.IsCA, leaf.DNSNames = big.NewInt(2), pkix.Name{CommonName: internetHost}, false, []string{internetHost}
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for file, c := range map[string]*x509.Certificate{"ca.pem": own, "host.pem": &leaf} {
		der, err := x509.CreateCertificate(rand.Reader, c, own, key.Public(), key)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(n.dir, file), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	}
	der, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(n.dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
}

// around has a command run in the Internet.
func (n *internet) around(cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append([]string{internetName, n.dir, cmd.Path}, cmd.Args[1:]...)
	if self, err := filepath.Abs(os.Args[0]); err == nil {
		cmd.Path = self
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

// internetMain makes the Internet that argv[1] describes, and executes the rest.
func internetMain() {
	runtime.LockOSThread()
	err := makeInternet(os.Args[1])
	if err == nil {
		err = syscall.Exec(os.Args[2], os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, internetFail, err)
	os.Exit(1)
}

func makeInternet(dir string) error {
	for _, args := range []string{"link set lo up", "route add local 198.51.100.0/24 dev lo"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	resolv, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""), unix.Mount(filepath.Join(dir, "resolv.conf"), resolv, "", unix.MS_BIND, "")); err != nil {
		return err
	}
	// Whatever this process becomes holds the other end: its end is the host's.
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	host := &exec.Cmd{Path: "/proc/self/exe", Args: []string{hostName, dir}, Stdin: r, Stderr: os.Stderr}
	ready, err := host.StdoutPipe()
	if err != nil {
		return err
	}
	if err := host.Start(); err != nil {
		return err
	}
	if _, err := io.ReadFull(ready, make([]byte, 2)); err != nil {
		return fmt.Errorf("the host did not come up: %w", err)
	}
	_, err = unix.FcntlInt(w.Fd(), unix.F_SETFD, 0)
	return err
}

// internetHostMain is the host.
func internetHostMain() {
	if err := serveInternet(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, internetFail, err)
		os.Exit(1)
	}
	fmt.Println("up")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func serveInternet(dir string) error {
	names, err := net.ListenPacket("udp", internetDNS+":53")
	if err != nil {
		return err
	}
	go serveNames(names)
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		return err
	}
	told, err := os.OpenFile(filepath.Join(dir, "told"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "host.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", internetAddr+":443", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(told, r.Method, r.URL.Path, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if r.Header.Get("Authorization") != "Bearer "+string(token) {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"message":"Bad credentials"}`)
			return
		}
		io.WriteString(w, `[{"sha":"c0ffee","commit":{"message":"a commit"}}]`)
	}))
	return nil
}

func serveNames(c net.PacketConn) {
	b := make([]byte, 4096)
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
		switch {
		case q.Name.String() != internetHost+".":
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(internetAddr).To4())},
			}}
		}
		if answer, err := m.Pack(); err == nil {
			c.WriteTo(answer, from)
		}
	}
}
