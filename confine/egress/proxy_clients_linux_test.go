package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/policy"
)

// goClient is a program of the tests that gets a URL by net/http.
const goClient = "go-client"

func getByGo() {
	r, err := http.Get(os.Args[1])
	if err == nil {
		if _, err = io.Copy(os.Stdout, r.Body); err == nil && r.StatusCode != http.StatusOK {
			err = errors.New(r.Status)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// proxyWorld are hosts with a web server, a git repository and a registry, and a session's proxy that
// grants one of them.
type proxyWorld struct {
	g         *Gateway
	dir, home string
	env       []string
}

func newProxyWorld(t *testing.T, program string) *proxyWorld {
	dir := t.TempDir()
	w := &proxyWorld{dir: dir, home: filepath.Join(dir, "home")}
	testkit.Must(t, os.Mkdir(w.home, 0o700), egresstest.Certify(dir, "api.test", "evil.test"))
	site := http.NewServeMux()
	site.HandleFunc("/hello", func(o http.ResponseWriter, _ *http.Request) { io.WriteString(o, "hello from the host\n") })
	site.Handle("/repo.git/", http.FileServer(http.Dir(dir)))
	site.Handle("/", registry.New(registry.Stock{
		Packages: []registry.Package{{Name: "plain", Version: "1.0.0", Files: map[string]string{"value.json": "1"}}},
		Wheels:   []registry.Wheel{{Name: "plain", Version: "1.0.0", Files: map[string]string{"plain/__init__.py": ""}}},
	}))
	server := &http.Server{Handler: site, ErrorLog: log.New(io.Discard, "", 0)}
	for port, serve := range map[string]func(net.Listener) error{
		"80": server.Serve,
		"443": func(l net.Listener) error {
			return server.ServeTLS(l, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
		},
	} {
		l := testkit.Get(net.Listen("tcp", "198.51.100.7:"+port))(t)
		go serve(l)
	}
	t.Cleanup(func() { server.Close() })

	// Both names lead to the server, so the proxy alone keeps one of them out.
	w.g, _ = testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}, "evil.test": {"198.51.100.7"}}, allow("api.test"))
	listeners, port, err := NewProxyListeners()
	testkit.Must(t, err)
	password := NewProxyPassword()
	w.g.ServeProxy(listeners, password)
	ca := filepath.Join(dir, "ca.pem")
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "SSL_CERT_FILE=" + ca, "NODE_EXTRA_CA_CERTS=" + ca, "GIT_SSL_CAINFO=" + ca, "CURL_CA_BUNDLE=" + ca,
		"PIP_CERT=" + ca, "REQUESTS_CA_BUNDLE=" + ca, "PIP_CONFIG_FILE=/dev/null", "PIP_RETRIES=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"npm_config_fetch_retries=0", "npm_config_cafile=" + ca, "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false", "npm_config_cache=" + filepath.Join(w.home, "npm"), "PYENV_ROOT=" + os.Getenv("PYENV_ROOT")}
	for _, v := range ProxyVariables(port, password, program) {
		w.env = append(w.env, v.Name+"="+v.Value)
	}
	return w
}

// run runs a client and returns what it prints. In its arguments, $SOCKS is the proxy as SOCKS.
func (w *proxyWorld) run(t *testing.T, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if argv[0] == goClient {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
	}
	cmd.Env, cmd.Dir = w.env, w.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	b, err := cmd.CombinedOutput()
	return string(b), err
}

// TestProxyClients: real clients reach a granted host by the variables alone, without a refusal on
// record. For another host they say what the proxy says, as far as they show it.
func TestProxyClients(t *testing.T) {
	python := func(code string) []string { return []string{"python3", "-c", code} }
	for _, c := range []struct {
		name, program string
		argv          []string // HOST stands for the host
		works         string   // is in what it prints
		refused       string   // the same, for a host that is not granted
		port          string
	}{
		{"curl", "curl", []string{"curl", "-sS", "https://HOST/hello"}, "hello from the host", "response 403", "443"},
		{"curl, SOCKS", "curl", []string{"sh", "-c", "exec curl -sS --proxy \"socks5h${HTTPS_PROXY#http}\" https://HOST/hello"}, "hello from the host", "evil.test", "443"},
		{"curl, POST", "curl", []string{"curl", "-sS", "--fail-with-body", "-H", "Expect: 100-continue", "-d", strings.Repeat("x", 100000), "http://HOST/hello"}, "hello from the host", "--net evil.test", "80"},
		{"git", "git", []string{"git", "clone", "https://HOST/repo.git", "from-HOST"}, "Cloning into", "403", "443"},
		{"npm", "npm", []string{"npm", "install", "plain", "--registry=https://HOST/"}, "added 1 package", "403", "443"},
		{"pip", "python3", []string{"python3", "-m", "pip", "download", "--no-deps", "--index-url=https://HOST/simple", "plain"}, "Successfully downloaded", "403 mcp-jail: evil.test:443 is not granted; to grant it: --net evil.test", "443"},
		{"Python, urllib", "python3", python("import urllib.request; print(urllib.request.urlopen('https://HOST/hello').read())"), "hello from the host", "403 mcp-jail: evil.test:443 is not granted; to grant it: --net evil.test", "443"},
		{"requests", "python3", python("try: import requests\nexcept ImportError: from pip._vendor import requests\nr = requests.get('https://HOST/hello'); r.raise_for_status(); print(r.text)"), "hello from the host", "403 mcp-jail: evil.test:443 is not granted; to grant it: --net evil.test", "443"},
		{"Go", "go", []string{goClient, "https://HOST/hello"}, "hello from the host", "mcp-jail: evil.test:443 is not granted; to grant it: --net evil.test", "443"},
		{"Java", "java", []string{"java", "-XX:-UsePerfData", "JAVA", "http://HOST/hello"}, "hello from the host", "403", "80"},
		{"node", "node", []string{"NODE", "-e", "fetch('https://HOST/hello').then(async r => console.log(r.status, await r.text())).catch(e => { console.error(e, e.cause); process.exit(1) })"}, "200 hello from the host", "403", "443"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, a := range c.argv {
				switch a {
				case "NODE":
					c.argv[i] = nodeWithProxy(t)
				case "JAVA":
					c.argv[i] = javaClient(t)
				}
			}
			if _, err := exec.LookPath(c.program); err != nil && c.program != "go" {
				testkit.Skip(t, c.program, "%v", err)
			}
			if strings.Contains(strings.Join(c.argv, " "), "pip") && exec.Command("python3", "-m", "pip", "--version").Run() != nil {
				testkit.Skip(t, "pip", "the python3 of this user has no pip; root's is the one version of Python with pip")
			}
			w := newProxyWorld(t, c.program)
			if c.program == "git" {
				w.makeRepository(t)
			}
			with := func(host string) (argv []string) {
				for _, a := range c.argv {
					argv = append(argv, strings.ReplaceAll(a, "HOST", host))
				}
				return argv
			}
			if out, err := w.run(t, with("api.test")); err != nil || !strings.Contains(out, c.works) || len(w.g.Denials()) > 0 {
				t.Errorf("a granted host: %v\n%s\n%+v", err, out, w.g.Denials())
			}
			out, err := w.run(t, with("evil.test"))
			if err == nil || !strings.Contains(out, c.refused) {
				t.Errorf("another host: %v\n%s", err, out)
			}
			if d := w.g.Denials(); !slices.ContainsFunc(d, func(d policy.Denial) bool {
				return d.Target == "evil.test:"+c.port && d.Reason == policy.DeniedNotGranted
			}) || len(d) > 1 {
				t.Errorf("another host: %+v", d)
			}
		})
	}
}

func (w *proxyWorld) makeRepository(t *testing.T) {
	for _, argv := range [][]string{
		{"git", "init", "-q", "source"},
		{"git", "-C", "source", "-c", "user.name=t", "-c", "user.email=t@t.test", "commit", "-q", "--allow-empty", "-m", "one"},
		{"git", "clone", "-q", "--bare", "source", filepath.Join(w.dir, "repo.git")},
		{"git", "-C", filepath.Join(w.dir, "repo.git"), "update-server-info"},
	} {
		if out, err := w.run(t, argv); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
}

// nodeWithProxy returns a node that reads NODE_USE_ENV_PROXY, which Debian's is too old for: node 24, or
// 22.21.
func nodeWithProxy(t *testing.T) string {
	found, _ := filepath.Glob(filepath.Join(os.Getenv("MCPJAIL_NODE"), "node_modules", "node-linux-*", "bin", "node"))
	if onPath, err := exec.LookPath("node"); err == nil {
		found = append(found, onPath)
	}
	for _, node := range found {
		if exec.Command(node, "--use-env-proxy", "-e", "").Run() == nil {
			return node
		}
	}
	testkit.NeedsLong(t)
	testkit.Skip(t, "clients", "MCPJAIL_NODE names no installed node, and no node here reads NODE_USE_ENV_PROXY")
	return ""
}

// javaClient returns a program in Java that gets a URL, as its source.
func javaClient(t *testing.T) string {
	if _, err := exec.LookPath("javac"); err != nil {
		testkit.Skip(t, "javac", "%v", err)
	}
	file := filepath.Join(t.TempDir(), "Get.java")
	testkit.Must(t, os.WriteFile(file, []byte(`
public class Get {
	public static void main(String[] args) throws Exception {
		java.net.Authenticator.setDefault(new java.net.Authenticator() {
			protected java.net.PasswordAuthentication getPasswordAuthentication() {
				var user = java.net.URI.create(System.getenv("HTTPS_PROXY")).getUserInfo().split(":");
				return new java.net.PasswordAuthentication(user[0], user[1].toCharArray());
			}
		});
		try (var in = new java.net.URL(args[0]).openStream()) {
			in.transferTo(System.out);
		}
	}
}
`), 0o644))
	return file
}
