package registry

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Site is a registry that listens.
type Site struct {
	*Registry
	URL string // http://HOST:PORT, without a slash at its end

	server *http.Server
	served sync.WaitGroup
	busy   sync.RWMutex // requests in progress hold it for reading, Close for ever
	close  sync.Once
}

// Start serves a stock on a free loopback port until the test ends.
func Start(t testing.TB, stock Stock) *Site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, New(stock))
	t.Cleanup(s.Close)
	return s
}

// Serve serves a registry on a listener until Close.
func Serve(l net.Listener, r *Registry) *Site {
	s := &Site{Registry: r, URL: "http://" + l.Addr().String()}
	s.server = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	s.served.Go(func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	})
	return s
}

// ServeHTTP lets Close wait for the requests in progress.
func (s *Site) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !s.busy.TryRLock() {
		panic(http.ErrAbortHandler) // it is being closed
	}
	defer s.busy.RUnlock()
	s.Registry.ServeHTTP(w, q)
}

// Close ends all connections and requests, and waits until nothing of them is left.
func (s *Site) Close() {
	s.close.Do(func() {
		s.Registry.Close()
		s.server.Close()
		s.served.Wait()
		s.busy.Lock()
	})
}

// Environ returns an environment for npm, pip and what they start: a home directory, a
// registry, no configuration of the user, no wait for what fails. PATH stays. More
// variables may be appended, and win. Several registries have the same form for npm and
// for Python: URL alone.
func Environ(url, home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LANG=C.UTF-8",
		"HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" + os.TempDir(),
		"npm_config_registry=" + url + "/", "npm_config_cache=" + filepath.Join(home, ".npm"), "npm_config_prefix=" + filepath.Join(home, ".local"),
		"npm_config_userconfig=" + filepath.Join(home, ".npmrc"), "npm_config_globalconfig=" + filepath.Join(home, "no-npmrc"),
		"npm_config_fetch_retries=0", "npm_config_update_notifier=false", "npm_config_fund=false",
		"PIP_CONFIG_FILE=" + os.DevNull, "PIP_INDEX_URL=" + url + "/simple/", "PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1",
		"PIP_CACHE_DIR=" + filepath.Join(home, ".cache", "pip"), "UV_DEFAULT_INDEX=" + url + "/simple/", "UV_NO_CONFIG=1",
	}
}
