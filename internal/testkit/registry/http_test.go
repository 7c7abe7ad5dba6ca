package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// entryNames lists a tarball with an ordinary reader.
func entryNames(t testing.TB, p Package) (names []string) {
	t.Helper()
	var packed bytes.Buffer
	if err := p.WriteTarball(&packed); err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return names
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			t.Fatal(err)
		case h.Typeflag == tar.TypeSymlink:
			names = append(names, h.Name+" -> "+h.Linkname)
		case h.Typeflag == tar.TypeLink:
			names = append(names, h.Name+" = "+h.Linkname)
		default:
			names = append(names, h.Name)
		}
	}
}

type versionDoc struct {
	Scripts          map[string]string
	HasInstallScript bool
	Dist             struct{ Tarball, Integrity, Shasum string }
}

type packumentDoc struct {
	Name     string
	DistTags map[string]string `json:"dist-tags"`
	Versions map[string]versionDoc
	Time     map[string]string
}

func packumentOf(t testing.TB, body string) (doc packumentDoc) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return doc
}

func TestPackumentForms(t *testing.T) {
	site := Start(t, Stock{MaxAge: 300, Packages: []Package{{Name: "@s/x", Version: "1.0.0", Scripts: map[string]string{"install": "true"}, Tags: []string{"old"}}, {Name: "@s/x", Version: "2.0.0"}}})
	r, body := get(t, site.URL+"/@s%2fx")
	full := packumentOf(t, body)
	if r.Header.Get("Content-Type") != "application/json" || full.Versions["1.0.0"].Scripts["install"] != "true" || full.Time["1.0.0"] == "" || full.DistTags["latest"] != "2.0.0" || full.DistTags["old"] != "1.0.0" {
		t.Errorf("the full form: %v %s", r.Header, body)
	}
	if r.Header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("headers: %v", r.Header)
	}
	s, body := get(t, site.URL+"/@s/x", "Accept", shortForm+"; q=1.0, application/json; q=0.8")
	short := packumentOf(t, body)
	if s.Header.Get("Content-Type") != shortForm || short.Versions["1.0.0"].Scripts != nil || !short.Versions["1.0.0"].HasInstallScript || short.Time != nil {
		t.Errorf("the short form: %v %s", s.Header, body)
	}
	if r.Header.Get("ETag") == s.Header.Get("ETag") || r.Header.Get("Vary") != "Accept" {
		t.Errorf("the forms cannot be told apart: %v", r.Header)
	}
	if again, body := get(t, site.URL+"/@s%2fx", "If-None-Match", "W/"+r.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("with the same ETag: %s %q", again.Status, body)
	}
	site.Publish(Package{Name: "@s/x", Version: "3.0.0"})
	if again, _ := get(t, site.URL+"/@s%2fx", "If-None-Match", r.Header.Get("ETag")); again.StatusCode != http.StatusOK {
		t.Errorf("with an old ETag: %s", again.Status)
	}
	for path, want := range map[string]int{"/@s/x/1.0.0": 200, "/@s/x/old": 200, "/@s/x/9.0.0": 404, "/nothing": 404, "/-/ping": 200, "/-/package/@s%2fx/dist-tags": 200} {
		if r, body := get(t, site.URL+path); r.StatusCode != want {
			t.Errorf("%s: %s %s", path, r.Status, body)
		}
	}
}

// TestLargeTarball: nothing of the size of the tarball is ever allocated.
func TestLargeTarball(t *testing.T) {
	size := int64(64 << 20)
	if testkit.Long() {
		size = 256 << 20
	}
	untold := map[string]any{"integrity": nil, "shasum": nil}
	site := Start(t, Stock{Packages: []Package{
		{Name: "large", Version: "1.0.0", Filler: 64 << 20}, {Name: "untold", Version: "1.0.0", Filler: size, Dist: untold}, {Name: "bomb", Version: "1.0.0", Filler: 64 << 20, Squeezed: true},
	}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, within := range map[string][2]int64{"large": {64 << 20, 65 << 20}, "untold": {size, size + size/100}, "bomb": {1 << 10, 64 << 20 / 100}} {
		_, body := get(t, site.URL+"/"+name)
		dist := packumentOf(t, body).Versions["1.0.0"].Dist
		resp, err := http.Get(dist.Tarball)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha512.New()
		n, err := io.Copy(sum, resp.Body)
		resp.Body.Close()
		if err != nil || n < within[0] || n > within[1] || (resp.ContentLength < 0) != (name == "untold") {
			t.Errorf("%s: %d bytes of %d, %v", name, n, resp.ContentLength, err)
		}
		if got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != dist.Integrity && name != "untold" {
			t.Errorf("%s has %s, the packument says %s", name, got, dist.Integrity)
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 32<<20 {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
}

func TestFaultBytes(t *testing.T) {
	site := Start(t, Stock{Packages: []Package{{Name: "x", Version: "1.0.0", Dist: map[string]any{"integrity": nil, "shasum": nil}}}})
	_, whole := get(t, site.URL+"/x")
	flipped := []byte(whole)
	flipped[7] ^= 1
	for name, c := range map[string]struct {
		fault Fault
		want  string
		fails bool
	}{
		"control": {Fault{}, whole, false}, "cut": {Fault{Cut: true, After: 7}, whole[:7], true}, "shorten": {Fault{Shorten: true, After: 7}, whole[:7], false},
		"corrupt": {Fault{Corrupt: true, After: 7}, string(flipped), false}, "slow and cut": {Fault{Cut: true, After: 7, Rate: 100}, whole[:7], true},
		"other path": {Fault{Path: "/y", Cut: true}, whole, false}, "skipped": {Fault{Skip: 1, Cut: true}, whole, false}, "body": {Fault{Body: "odd"}, "odd", false},
	} {
		site.Fail(c.fault)
		resp, err := http.Get(site.URL + "/x")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); string(body) != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %q, %v", name, body, err)
		}
		log := site.Requests()
		if last := log[len(log)-1]; last.Sent != int64(len(c.want)) || last.Aborted != c.fails {
			t.Errorf("%s: the log has %+v", name, last)
		}
	}
	site.Fail(Fault{Cut: true})
	if resp, err := http.Post(site.URL+"/x", "", nil); err == nil {
		t.Errorf("without a header: %s", resp.Status)
	}
	site.Fail(Fault{Headers: map[string]string{"X-Odd": "1", "ETag": ""}})
	if resp, _ := get(t, site.URL+"/x"); resp.Header.Get("X-Odd") != "1" || resp.Header.Get("ETag") != "" {
		t.Errorf("headers: %v", resp.Header)
	}
}

// TestSlow: a body at a rate cannot arrive sooner.
func TestSlow(t *testing.T) {
	site := Start(t, Stock{Faults: []Fault{{Rate: 1000, Body: strings.Repeat("x", 300)}, {Delay: time.Hour}}})
	begin := time.Now()
	if _, body := get(t, site.URL+"/x"); len(body) != 300 || time.Since(begin) < 200*time.Millisecond {
		t.Errorf("%d bytes in %v", len(body), time.Since(begin))
	}
}

// TestStall: what comes before the stall arrives, and then nothing.
func TestStall(t *testing.T) {
	site := Start(t, Stock{Packages: []Package{{Name: "x", Version: "1.0.0"}}, Faults: []Fault{{Stall: true, After: 5}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, site.URL+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	testkit.Eventually(t, "the log has the stall", func() bool { return site.Requests()[0].Stalled })
	cancel()
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the stall: %v", err)
	}
	testkit.Eventually(t, "the request has ended", func() bool { r := site.Requests()[0]; return r.Aborted && !r.Open && r.Sent == 5 })
}

// TestClose: stalled requests end, and no goroutine stays.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	site := Start(t, Stock{Faults: []Fault{{Path: "/silent", Stall: true}, {Path: "/late", Delay: time.Hour}}})
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			if resp, err := c.Get(site.URL + []string{"/silent", "/late"}[i%2]); err == nil {
				resp.Body.Close()
				t.Errorf("an answer: %s", resp.Status)
			}
		})
	}
	testkit.Eventually(t, "all have asked", func() bool { return len(site.snapshot()) == 8 })
	site.Close()
	site.Close()
	clients.Wait()
	testkit.Eventually(t, "their goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
	if resp, err := http.Get(site.URL); err == nil {
		t.Errorf("it still answers: %s", resp.Status)
	}
}

func TestParallel(t *testing.T) {
	site := Start(t, Stock{Packages: []Package{{Name: "x", Version: "1.0.0"}}})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				site.Publish(Package{Name: fmt.Sprintf("p%d", i), Version: fmt.Sprintf("1.0.%d", j)})
				if _, body := get(t, fmt.Sprintf("%s/p%d", site.URL, i)); !strings.Contains(body, fmt.Sprintf("-1.0.%d.tgz", j)) {
					t.Errorf("p%d has not version %d: %s", i, j, body)
				}
				get(t, site.URL+"/x/-/x-1.0.0.tgz")
				if j%5 == 0 {
					site.Requests()
				}
			}
		})
	}
	all.Wait()
	if n := len(site.Requests()); n != 8*20*2 {
		t.Errorf("the log has %d requests", n)
	}
}

// TestHandler: the handler works behind TLS, and for addresses that it is told.
func TestHandler(t *testing.T) {
	r := New(Stock{Packages: []Package{{Name: "x", Version: "1.0.0"}}})
	s := httptest.NewTLSServer(r)
	defer s.Close()
	ask := func() string {
		resp, err := s.Client().Get(s.URL + "/x")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return packumentOf(t, string(body)).Versions["1.0.0"].Dist.Tarball
	}
	if got := ask(); got != s.URL+"/x/-/x-1.0.0.tgz" {
		t.Errorf("behind TLS: %s", got)
	}
	r.Load(Stock{Base: "https://registry.example/npm/", Packages: []Package{{Name: "x", Version: "1.0.0"}}})
	if got := ask(); got != "https://registry.example/npm/x/-/x-1.0.0.tgz" {
		t.Errorf("with a base: %s", got)
	}
	r.Fail(Fault{Stall: true})
	go func() {
		testkit.Eventually(t, "the request stalls", func() bool { log := r.Requests(); return log[len(log)-1].Stalled })
		r.Close() // s.Close would wait for it
	}()
	if resp, err := s.Client().Get(s.URL + "/x"); err == nil {
		t.Errorf("after Close: %s", resp.Status)
	}
}

func TestTokens(t *testing.T) {
	site := Start(t, Stock{Token: "all", Packages: []Package{{Name: "x", Version: "1.0.0"}, {Name: "y", Version: "1.0.0", Token: "Basic eDp5"}}})
	for _, c := range []struct {
		path, header string
		want         int
	}{
		{"/x", "", 401}, {"/x", "Bearer all", 200}, {"/x", "Bearer other", 401}, {"/x/-/x-1.0.0.tgz", "", 401}, {"/x/-/x-1.0.0.tgz", "Bearer all", 200}, {"/-/loot", "", 200},
	} {
		if r, _ := get(t, site.URL+c.path, "Authorization", c.header); r.StatusCode != c.want {
			t.Errorf("%s with %q: %s", c.path, c.header, r.Status)
		}
	}
	site.Load(Stock{Packages: []Package{{Name: "y", Version: "1.0.0", Token: "Basic eDp5"}}})
	for header, want := range map[string]int{"Basic eDp5": 200, "Bearer x": 401} {
		if r, _ := get(t, site.URL+"/y", "Authorization", header); r.StatusCode != want {
			t.Errorf("/y with %q: %s", header, r.Status)
		}
	}
}

func FuzzServe(f *testing.F) {
	for _, path := range []string{"/", "/@s%2fx", "/@s/x/1.0.0", "/x/-/x-1.0.0.tgz", "/-/package/x/dist-tags", "/simple/x/", "/simple", "/files/x-1.0.0-py3-none-any.whl", "/@", "//", "/%00"} {
		f.Add(path, "{}")
	}
	r := New(Stock{Packages: []Package{{Name: "@s/x", Version: "1.0.0"}, {Name: "x", Version: "1.0.0", Attested: true}}, Wheels: []Wheel{{Name: "x", Version: "1.0.0"}}})
	f.Fuzz(func(t *testing.T, path, body string) {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			q, err := http.NewRequest(method, "http://registry.example"+path, strings.NewReader(body))
			if err != nil {
				return
			}
			w := httptest.NewRecorder()
			if r.ServeHTTP(w, q); w.Code < 200 || w.Code > 499 {
				t.Errorf("%s %q: %d", method, path, w.Code)
			}
		}
		r.Forget()
	})
}
