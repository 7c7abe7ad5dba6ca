package integration

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
)

// An Internet of a few hosts: a resolver, web servers for every name that it knows,
// and services that speak first.

// internetHosts maps names to addresses. A name with "*" stands for all names below it.
var internetHosts = map[string][]string{
	"good.test":     {"198.51.100.10"},
	"other.test":    {"198.51.100.20"},
	"twin.test":     {"198.51.100.10"}, // a name of the same address
	"both.test":     {"198.51.100.11", "2001:db8::11"},
	"six.test":      {"2001:db8::12"},
	"*.wild.test":   {"198.51.100.13"},
	"private.test":  {"10.9.9.9"},
	"loopback.test": {"127.0.0.1"},
	"closed.test":   {"198.51.100.99"}, // nothing listens there
	"bytes.test":    {"198.51.100.14"}, // answers any line
}

func runInternet(dir string) { egresstest.Run(func() error { return serveInternet(dir) }) }

func serveInternet(dir string) error {
	// Everything but what is the host's is an address of this namespace.
	if err := errors.Join(egresstest.Join(), egresstest.IP("addr add 2001:db8:1::2/64 dev inside nodad", "addr add 2001:db8::53/128 dev lo",
		"route add local 10.9.9.0/24 dev lo", "-6 route add local 2001:db8::/64 dev lo")); err != nil {
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
	web.HandleFunc("/echo/endless", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "begun")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	web.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://other.test/", http.StatusFound)
	})
	web.Handle("/repo.git/", http.StripPrefix("/repo.git", http.FileServer(http.Dir(repository))))
	quiet := log.New(io.Discard, "", 0)
	// Not on the address where nothing listens.
	for _, host := range []string{"198.51.100.10", "198.51.100.11", "198.51.100.13", "198.51.100.20", "10.9.9.9", "2001:db8::11", "2001:db8::12"} {
		for _, port := range []string{"80", "443", "7000"} {
			l, err := freebind(net.JoinHostPort(host, port))
			if err != nil {
				return err
			}
			switch port {
			case "80":
				go (&http.Server{Handler: web, ErrorLog: quiet}).Serve(l)
			case "443":
				go (&http.Server{Handler: web, ErrorLog: quiet}).ServeTLS(l, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
			default:
				go serveGreeting(l, "hello from "+host)
			}
		}
	}
	l, err := freebind("198.51.100.14:443")
	if err != nil {
		return err
	}
	go egresstest.Serve(l, func(c net.Conn) {
		line, _ := bufio.NewReader(c).ReadString('\n')
		fmt.Fprintf(c, "got %q\n", line)
	})
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
		if err := egresstest.IP("addr add " + host + bits + " dev lo nodad"); err != nil {
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

// serveNames reports over HTTP which names the resolver was asked for.
func serveNames() error {
	var asked names
	told, err := net.Listen("tcp", egresstest.Resolver+":80")
	if err != nil {
		return err
	}
	go http.Serve(told, &asked)
	return egresstest.ServeNames(asked.lookup)
}

// names records the names that the resolver was asked for.
type names struct {
	mu  sync.Mutex
	all []string
}

func (n *names) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	io.WriteString(w, strings.Join(n.all, "\n"))
}

func (n *names) lookup(name string) []string {
	n.mu.Lock()
	n.all = append(n.all, name)
	n.mu.Unlock()
	if addrs, ok := internetHosts[name]; ok {
		return addrs
	}
	_, below, _ := strings.Cut(name, ".")
	return internetHosts["*."+below]
}
