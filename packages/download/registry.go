package download

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
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
}

// maxArchive bounds an archive in bytes. The jail has its own limit of a file.
const maxArchive = 512 << 20

func newRegistry(getenv func(string) string) (*registry, error) {
	setting := func(name string) string { return getenv("npm_config_" + name) }
	if setting("strict_ssl") == "false" || setting("ca") != "" || setting("before") != "" || setting("min_release_age") != "" || setting("cache") == "" || setting("prefer_offline") != "true" {
		return nil, errOther
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "npm_config_//") && (strings.HasSuffix(name, ":certfile") || strings.HasSuffix(name, ":keyfile")) {
			return nil, errOther
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	for _, file := range []string{setting("cafile"), getenv("NODE_EXTRA_CA_CERTS")} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		roots.AppendCertsFromPEM(text)
	}
	at := connections
	if n, err := strconv.Atoi(setting("maxsockets")); err == nil && n > 0 {
		at = min(at, n)
	}
	transport := &http.Transport{
		DialContext:     (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig: &tls.Config{RootCAs: roots}, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true, MaxConnsPerHost: at, MaxIdleConnsPerHost: at, ResponseHeaderTimeout: time.Minute,
	}
	return &registry{getenv: getenv, cache: filepath.Join(setting("cache"), "_cacache"), client: &http.Client{Transport: transport}}, nil
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
	address := npmcache.PackumentURL(base, name)
	if text, err := npmcache.Packument(r.cache, address); err == nil {
		return text, nil
	}
	request := map[string]string{"accept": "application/json"}
	text, header, err := r.get(ctx, address, base, request, npmcache.MaxPackument)
	if err != nil {
		return nil, err
	}
	response := map[string]string{}
	for _, name := range []string{"cache-control", "content-type", "date", "etag", "last-modified"} {
		if v := header.Get(name); v != "" {
			response[name] = v
		}
	}
	return text, npmcache.AddAnswer(r.cache, address, text, request, response)
}

// archive returns the archive of an integrity, from npm's cache or from its address.
func (r *registry) archive(ctx context.Context, name, address, integrity string) ([]byte, error) {
	if text, err := npmcache.Content(r.cache, integrity, maxArchive); err == nil {
		return text, nil
	}
	base, err := r.of(name)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	// The metadata of a mirror name the registry of npm, and npm asks the mirror: replace-registry-host.
	if replace := cmp.Or(r.getenv("npm_config_replace_registry_host"), "npmjs"); u.Host != base.Host && (replace == "always" || replace == "npmjs" && u.Host == "registry.npmjs.org") {
		u.Scheme, u.Host = base.Scheme, base.Host
	}
	if u.Host != base.Host {
		return nil, errOther
	}
	text, _, err := r.get(ctx, u.String(), base, nil, maxArchive)
	if err != nil {
		return nil, err
	}
	if npmcache.Integrity(text) != integrity {
		return nil, fmt.Errorf("%s is not what the metadata name", u.Redacted())
	}
	return text, npmcache.AddContent(r.cache, integrity, text)
}

func (r *registry) get(ctx context.Context, address string, base *url.URL, headers map[string]string, most int64) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	if login := r.login(base); login != "" && req.URL.Host == base.Host {
		req.Header.Set("Authorization", login)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s: %s", req.URL.Redacted(), resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(text)) > most {
		err = errOther
	}
	return text, resp.Header, err
}

// login returns the header of the credentials for a registry. npm looks for them under its address,
// and under the directories above.
func (r *registry) login(base *url.URL) string {
	at := "//" + base.Host + strings.TrimSuffix(base.Path, "/") + "/"
	for {
		value := func(name string) string { return r.getenv("npm_config_" + at + ":" + name) }
		password, _ := base64.StdEncoding.DecodeString(value("_password"))
		switch {
		case value("_authToken") != "":
			return "Bearer " + value("_authToken")
		case value("_auth") != "":
			return "Basic " + value("_auth")
		case value("username") != "" && len(password) > 0:
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(value("username")+":"+string(password)))
		}
		cut := strings.LastIndex(strings.TrimSuffix(at, "/"), "/")
		if cut < 2 {
			return ""
		}
		at = at[:cut+1]
	}
}
