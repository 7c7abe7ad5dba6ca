//go:build linux

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
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
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/container"
)

// This file has an imitation of the Internet with one host, which has two names. It is a network
// namespace around mcp-jail with a resolver, a web server and databases. Their addresses belong to
// the namespace only by a route, so mcp-jail does not take them for addresses of its own host.

const (
	internetName = "mcp-jail-internet"      // argv[0] of internetMain
	hostName     = "mcp-jail-internet-host" // argv[0] of internetHostMain, which ends with its input
	tlsName      = tlsworker.Name           // the test binary copied under this name is mcp-jail-tls
	internetHost = "api.github.com"         // the name that most tests use
	readOnlyHost = "api.figma.com"          // of which the preset figma only reads
	internetAddr = "198.51.100.10"          // the address of both
	privateHost  = "intranet.example"       // which has the address 10.0.0.7
)

// extraPrograms are the programs besides mcp-jail that the test binary is, by argv[0].
var extraPrograms = map[string]func(){internetName: internetMain, hostName: internetHostMain, tlsName: tlsMain, "flood": floodMain, container.Name: container.Main}

// tlsMain is mcp-jail-tls.
func tlsMain() {
	log.SetOutput(io.Discard)
	err := tlsworker.Run(func(s tlsworker.Setup) (tlsworker.Handler, error) { return intercept.New(intercept.Options(s)) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp-jail-tls:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// internet is the network namespace of a test.
type internet struct{ dir string }

// newInternet prepares a network namespace for the sessions of a world. The web server in
// it accepts only requests with the token.
func newInternet(t *testing.T, w *world, token string) *internet {
	t.Helper()
	return prepareInternet(t, w, token, []string{internetHost, readOnlyHost})
}

// newHosts is newInternet with other names. Its web server accepts everything, and writes down
// the request with its host, and whether it had the token in any of its parts.
func newHosts(t *testing.T, w *world, token string, names []string) *internet {
	t.Helper()
	n := prepareInternet(t, w, token, append(names, "nobody.example"))
	must(t, os.WriteFile(filepath.Join(n.dir, "names"), []byte(strings.Join(names, " ")), 0o600))
	return n
}

func prepareInternet(t *testing.T, w *world, token string, names []string) *internet {
	t.Helper()
	need(t, "ip")
	n := &internet{filepath.Join(w.base, "internet")}
	must(t, os.Mkdir(n.dir, 0o755))
	must(t, egresstest.Certify(n.dir, names...))
	must(t, os.WriteFile(filepath.Join(n.dir, "token"), []byte(token), 0o600))
	must(t, os.WriteFile(filepath.Join(n.dir, "told"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(n.dir, "resolv.conf"), []byte("nameserver "+egresstest.Resolver+"\n"), 0o644))
	w.copySelf(t, tlsName)
	w.prependPath(filepath.Join(w.base, "bin"))
	w.env = append(w.env, "SSL_CERT_FILE="+n.authority()) // for mcp-jail itself, not for a server
	w.around = n.around
	return n
}

// prependPath makes a directory the first in PATH.
func (w *world) prependPath(dir string) {
	for i, v := range w.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			w.env[i] = "PATH=" + dir + ":" + path
		}
	}
}

// authority returns the file of the CA certificate that signed the certificate of the web
// server.
func (n *internet) authority() string { return filepath.Join(n.dir, "ca.pem") }

// requests returns the requests of the web server, a line each: method, path, authorization; of
// newHosts: method, address, " token" if the request had it. It has those of the databases too.
func (n *internet) requests(t *testing.T) string {
	return testkit.ReadFile(t, filepath.Join(n.dir, "told"))
}

// around makes a command run in the network namespace.
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

// internetMain makes the network namespace that argv[1] describes, and executes the
// command in the other arguments.
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
	away := &exec.Cmd{Path: "/proc/self/exe", Args: []string{hostName, dir}, SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}}
	up, err := egresstest.Start(dir, away)
	if err != nil {
		return err
	}
	if err := egresstest.IP("link set lo up", fmt.Sprint("link add outside type veth peer name inside netns ", away.Process.Pid),
		"addr add 192.0.2.1/24 dev outside", "link set outside up", "route add default via 192.0.2.2"); err != nil {
		return err
	}
	return up()
}

// internetHostMain is the resolver and the web server.
func internetHostMain() { egresstest.Run(func() error { return serveInternet(os.Args[1]) }) }

// remoteServer is an MCP server behind HTTP, with the tool remote. A server of a library would make
// each start of the test binary take 10 ms longer.
func remoteServer(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion string }
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed) // it has no stream of its own
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	results := map[string]any{
		"initialize": map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": struct{}{}}, "serverInfo": map[string]string{"name": "remote", "version": "1"}},
		"tools/list": map[string]any{"tools": []any{map[string]any{"name": "remote", "inputSchema": map[string]string{"type": "object"}}}},
		"tools/call": map[string]any{"content": []any{map[string]string{"type": "text", "text": "from afar"}}},
		"ping":       struct{}{},
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": results[m.Method]}
	if results[m.Method] == nil {
		delete(answer, "result")
		answer["error"] = map[string]any{"code": -32601, "message": "Method not found"}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

// serveFlood answers the requests of TestOwnMemoryNetwork: not at all, or without end.
func serveFlood(w http.ResponseWriter, r *http.Request) {
	for piece := make([]byte, 64<<10); r.URL.Path == "/repos/endless"; {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
	<-r.Context().Done()
}

func serveInternet(dir string) error {
	if err := egresstest.Join(); err != nil {
		return err
	}
	names := map[string][]string{internetHost: {internetAddr}, readOnlyHost: {internetAddr}, privateHost: {"10.0.0.7"}}
	others, err := os.ReadFile(filepath.Join(dir, "names"))
	for _, name := range strings.Fields(string(others)) {
		names[name] = []string{internetAddr}
	}
	anything := err == nil
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
	if err := serveDatabases(told, token); err != nil {
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
	cluster, err := tls.Listen("tcp", internetAddr+":6443", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		return err
	}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if anything {
			all, _ := httputil.DumpRequest(r, true)
			line := r.Method + " https://" + r.Host + r.URL.Path
			if bytes.Contains(all, token) {
				line += " token"
			}
			fmt.Fprintln(told, line)
			if bytes.Contains(all, []byte(`"jsonrpc"`)) {
				remoteServer(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if answer, ok := kubernetesAnswer(r); ok {
				io.WriteString(w, answer)
				return
			}
			io.WriteString(w, `{"ok":true,"url":"https://team.slack.com/","members":[{"id":"U1","name":"me"}],"channels":[{"id":"C1","name":"all"}],"data":{"schema":"type Query"},"results":[]}`)
			return
		}
		fmt.Fprintln(told, r.Method, r.URL.Path, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if r.Header.Get("Authorization") != "Bearer "+string(token) {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"message":"Bad credentials"}`)
			return
		}
		io.WriteString(w, `[{"sha":"c0ffee","commit":{"message":"a commit"}}]`)
	})
	many, err := tls.Listen("tcp", internetAddr+":8443", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	if err != nil {
		return err
	}
	go http.Serve(many, http.HandlerFunc(serveFlood))
	go http.Serve(l, serve)
	go http.Serve(cluster, serve)
	return nil
}
