//go:build linux

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/policy"
)

// An Internet of one host, for sessions that are to reach api.github.com: a network
// namespace around mcp-jail in which a resolver and a web server are at addresses that
// only a route makes the namespace's own, so that to mcp-jail they are elsewhere.

const (
	internetName = "mcp-jail-internet"      // argv[0]: makes it, and becomes the rest of argv
	hostName     = "mcp-jail-internet-host" // argv[0]: what is in it, until its input ends
	tlsName      = tlsworker.Name           // the test binary, copied
	internetHost = "api.github.com"         // its only name
	internetAddr = "198.51.100.10"          // of that
)

// sideEntries are what the test binary is under other names, besides mcp-jail.
var sideEntries = map[string]func(){internetName: internetMain, hostName: internetHostMain, tlsName: tlsMain}

// tlsMain is mcp-jail-tls.
func tlsMain() {
	log.SetOutput(io.Discard)
	err := tlsworker.Run(func(rules []policy.NetRule, roots []byte) (tlsworker.Handler, error) {
		return intercept.New(intercept.Options{Rules: rules, MoreRoots: roots})
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
	must(t, egresstest.Certify(n.dir, internetHost))
	must(t, os.WriteFile(filepath.Join(n.dir, "token"), []byte(token), 0o600))
	must(t, os.WriteFile(filepath.Join(n.dir, "told"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(n.dir, "resolv.conf"), []byte("nameserver "+egresstest.Resolver+"\n"), 0o644))
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
	fmt.Fprintln(os.Stderr, "internet:", err)
	os.Exit(1)
}

func makeInternet(dir string) error {
	if err := egresstest.IP("link set lo up", "route add local 198.51.100.0/24 dev lo"); err != nil {
		return err
	}
	up, err := egresstest.Start(dir, &exec.Cmd{Path: "/proc/self/exe", Args: []string{hostName, dir}})
	if err != nil {
		return err
	}
	return up()
}

// internetHostMain is the host.
func internetHostMain() { egresstest.Run(func() error { return serveInternet(os.Args[1]) }) }

func serveInternet(dir string) error {
	names := map[string][]string{internetHost: {internetAddr}}
	if err := egresstest.ServeNames(func(name string) []string { return names[name] }); err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		return err
	}
	told, err := os.OpenFile(filepath.Join(dir, "told"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
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
