package download

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/npmcache"
)

// registry is where packages come from, as the variables of npm in the jail say.
type registry struct {
	getenv func(name string) string
	cache  string // npm's
	client *http.Client
	idle   time.Duration // after which an answer that does not go on is given up
	asking chan struct{} // for metadata at once, which are in memory
}

// others are the settings with which npm installs: it knows other authorities, versions or a tree
// that is not all of the lock file.
var others = []string{"ca", "before", "min_release_age", "omit", "include"}

// maxArchive bounds an archive in bytes. The jail has its own limit of a file.
const maxArchive = 512 << 20

func newRegistry(getenv func(string) string) (*registry, error) {
	setting := func(name string) string { return getenv("npm_config_" + name) }
	for _, name := range others {
		if setting(name) != "" {
			return nil, errOther
		}
	}
	if setting("strict_ssl") == "false" || setting("cache") == "" || setting("prefer_offline") != "true" {
		return nil, errOther
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "npm_config_//") && (strings.HasSuffix(name, ":certfile") || strings.HasSuffix(name, ":keyfile")) {
			return nil, errOther
		}
	}
	roots, err := authorities(setting("cafile"), getenv("NODE_EXTRA_CA_CERTS"))
	if err != nil {
		return nil, err
	}
	at := connections
	if n, err := strconv.Atoi(setting("maxsockets")); err == nil && n > 0 {
		at = min(at, n)
	}
	transport := &http.Transport{
		Proxy:           jailProxy(getenv),
		DialContext:     (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig: &tls.Config{RootCAs: roots}, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true, MaxConnsPerHost: at, MaxIdleConnsPerHost: at, ResponseHeaderTimeout: time.Minute,
	}
	// A redirection is npm's: it decides who gets the credentials.
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &registry{getenv: getenv, cache: filepath.Join(setting("cache"), "_cacache"), client: client, idle: time.Minute, asking: make(chan struct{}, connections)}, nil
}

// jailProxy returns the proxy of the jail, where it has one (macOS): the only way to a registry, also to
// one on this host. Other jails have no such variables.
func jailProxy(getenv func(string) string) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		name := strings.ToUpper(r.URL.Scheme) + "_PROXY"
		address := cmp.Or(getenv(name), getenv(strings.ToLower(name)))
		if address == "" {
			return nil, nil
		}
		return url.Parse(address)
	}
}

// authorities returns those of the system and of a file, as node does, or only those of npm's cafile.
func authorities(cafile, extra string) (roots *x509.CertPool, err error) {
	file := cafile
	if roots = x509.NewCertPool(); file == "" {
		if roots, err = x509.SystemCertPool(); err != nil || extra == "" {
			return roots, err
		}
		file = extra
	}
	text, err := os.ReadFile(file)
	roots.AppendCertsFromPEM(text)
	return roots, err
}

// of returns the registry of a package.
func (r *registry) of(name string) (*url.URL, error) {
	if scope, _, ok := strings.Cut(name, "/"); ok {
		if v := r.getenv("npm_config_" + scope + ":registry"); v != "" {
			return url.Parse(v)
		}
	}
	return url.Parse(r.getenv("npm_config_registry"))
}

// packument returns the metadata of a package in the whole form, from npm's cache or from the registry.
func (r *registry) packument(ctx context.Context, name string) ([]byte, error) {
	base, err := r.of(name)
	if err != nil {
		return nil, err
	}
	r.asking <- struct{}{}
	defer func() { <-r.asking }()
	address := npmcache.PackumentURL(base, name)
	if text, err := npmcache.Packument(r.cache, address); err == nil {
		return text, nil
	}
	request := map[string]string{"accept": "application/json"}
	body, header, err := r.get(ctx, address, base, request)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, npmcache.MaxPackument+1))
	if err != nil || len(text) > npmcache.MaxPackument {
		return nil, errors.Join(errOther, err)
	}
	response := map[string]string{}
	for _, name := range []string{"cache-control", "content-type", "date", "etag", "last-modified"} {
		if v := header.Get(name); v != "" {
			response[name] = v
		}
	}
	return text, npmcache.AddAnswer(r.cache, address, text, request, response)
}

// unpack unpacks the archive of an integrity, from npm's cache or from its address. It is never in
// memory as a whole.
func (r *registry) unpack(ctx context.Context, name, address, integrity, dir string) error {
	if content, err := npmcache.Open(r.cache, integrity); err == nil {
		err = npmcache.Check(content, integrity, maxArchive)
		content.Close()
		if err == nil {
			return r.unpackContent(integrity, dir)
		}
	}
	if err := r.archive(ctx, name, address, integrity); err != nil {
		return err
	}
	return r.unpackContent(integrity, dir)
}

// unpackContent checks a content again while it is unpacked: a server may write the user's cache,
// where content of npm's cache may lie.
func (r *registry) unpackContent(integrity, dir string) error {
	content, err := npmcache.Open(r.cache, integrity)
	if err != nil {
		return err
	}
	defer content.Close()
	read, write := io.Pipe()
	checked := make(chan error, 1)
	go func() { checked <- npmcache.Check(read, integrity, maxArchive) }()
	all := io.TeeReader(content, write)
	err = unpack(all, dir)
	_, rest := io.Copy(io.Discard, all)
	write.Close()
	return errors.Join(err, rest, <-checked)
}

// archive fetches the archive of an integrity into npm's cache.
func (r *registry) archive(ctx context.Context, name, address, integrity string) error {
	base, err := r.of(name)
	if err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	// The metadata of a mirror name the registry of npm, and npm asks the mirror: replace-registry-host.
	if replace := cmp.Or(r.getenv("npm_config_replace_registry_host"), "npmjs"); replace == "always" || replace == "npmjs" && u.Host == "registry.npmjs.org" {
		u = &url.URL{Scheme: base.Scheme, User: base.User, Host: base.Host, Path: u.Path, RawPath: u.RawPath}
	}
	if u.Scheme != base.Scheme || u.Host != base.Host {
		return errOther
	}
	body, _, err := r.get(ctx, u.String(), base, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	return npmcache.Keep(r.cache, integrity, body, maxArchive)
}

// get asks the registry. The caller closes the body.
func (r *registry) get(ctx context.Context, address string, base *url.URL, headers map[string]string) (io.ReadCloser, http.Header, error) {
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	if req.URL.Host == base.Host {
		if login := cmp.Or(r.login(req.URL), r.login(base)); login != "" {
			req.Header.Set("Authorization", login)
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	body := &answer{resp.Body, r.idle, time.AfterFunc(r.idle, cancel), cancel}
	if resp.StatusCode != http.StatusOK {
		body.Close()
		return nil, nil, fmt.Errorf("%s: %s", req.URL.Redacted(), resp.Status)
	}
	return body, resp.Header, nil
}

// answer is the body of one.
type answer struct {
	io.ReadCloser
	idle  time.Duration
	timer *time.Timer
	end   context.CancelFunc
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.timer.Reset(a.idle)
	return n, err
}

func (a *answer) Close() error {
	a.timer.Stop()
	a.end()
	return a.ReadCloser.Close()
}

// login returns the header of the credentials for an address. npm looks for them under it, and under
// the directories above.
func (r *registry) login(address *url.URL) string {
	at := "//" + address.Host + strings.TrimSuffix(address.EscapedPath(), "/") + "/"
	for {
		value := func(name string) string { return r.getenv("npm_config_" + at + ":" + name) }
		password, err := base64.StdEncoding.DecodeString(value("_password"))
		switch {
		case value("_authToken") != "":
			return "Bearer " + value("_authToken")
		case value("_auth") != "":
			return "Basic " + value("_auth")
		case value("username") != "" && len(password) > 0 && err == nil:
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(value("username")+":"+string(password)))
		}
		cut := strings.LastIndex(strings.TrimSuffix(at, "/"), "/")
		if cut < 2 {
			return ""
		}
		at = at[:cut+1]
	}
}
