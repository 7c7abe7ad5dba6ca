package download

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/npmcache"
)

// archiveOf packs headers; a file has its name as content.
func archiveOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(h.Name))
		}
		testkit.Must(t, w.WriteHeader(&h))
		if h.Size > 0 {
			fmt.Fprint(w, h.Name)
		}
	}
	w.Close()
	zip.Close()
	return out.Bytes()
}

// TestUnpack unpacks as npm does, and leaves to npm what is unusual: nothing gets out of the directory.
func TestUnpack(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Mode: 0o644} }
	for name, c := range map[string]struct {
		headers []tar.Header
		want    string // "" if npm unpacks it
	}{
		"files":               {[]tar.Header{file("package/a"), file("other/d/b"), {Name: "package/x", Mode: 0o700}, {Name: "package/none"}}, "a -rw-r--r--; d drwxr-xr-x; d/b -rw-r--r--; none -rw-rw-rw-; x -rwxr--r--"},
		"a directory":         {[]tar.Header{{Name: "package/", Typeflag: tar.TypeDir}, {Name: "package/e/f/", Typeflag: tar.TypeDir}, file("package/e/a")}, "e drwxr-xr-x; e/a -rw-r--r--"},
		"a file at the top":   {[]tar.Header{file("top"), file("package/a")}, "a -rw-r--r--"},
		"links are left out":  {[]tar.Header{{Name: "package/l", Linkname: "/etc", Typeflag: tar.TypeSymlink}, {Name: "package/h", Linkname: "package/a", Typeflag: tar.TypeLink}, file("package/l/a")}, "l drwxr-xr-x; l/a -rw-r--r--"},
		"a name twice":        {[]tar.Header{file("package/a"), {Name: "package/a", Mode: 0o755}}, "a -rw-r--r--"},
		"upwards":             {[]tar.Header{file("package/../../a")}, ""},
		"absolute":            {[]tar.Header{file("/package/a")}, ""},
		"a dot":               {[]tar.Header{file("./package/a")}, ""},
		"a backslash":         {[]tar.Header{file(`package/..\a`)}, ""},
		"setuid":              {[]tar.Header{{Name: "package/a", Mode: 0o4755}}, ""},
		"a device":            {[]tar.Header{{Name: "package/a", Typeflag: tar.TypeChar}}, ""},
		"a file as directory": {[]tar.Header{file("package/a"), file("package/a/b")}, ""},
		"a directory as file": {[]tar.Header{file("package/a/b"), file("package/a")}, ""},
		".gitignore":          {[]tar.Header{file("package/.gitignore")}, ".npmignore -rw-r--r--"},
		"both, git first":     {[]tar.Header{file("package/.gitignore"), file("package/.npmignore")}, ".npmignore -rw-r--r--"},
		"in two top folders":  {[]tar.Header{file("package/.npmignore"), file("other/.gitignore")}, ".npmignore -rw-r--r--"},
		"a drive":             {[]tar.Header{file("package/c:a")}, ""},
		"a line end":          {[]tar.Header{file("package/a\nb")}, ""},
		"not UTF-8":           {[]tar.Header{{Name: "package/\xff", Mode: 0o644, Format: tar.FormatGNU}}, ""},
		"very deep":           {[]tar.Header{file("package/" + strings.Repeat("a/", 1100) + "f")}, ""},
		"known records":       {[]tar.Header{{Name: "package/a", Mode: 0o644, PAXRecords: map[string]string{"comment": "x"}, Format: tar.FormatPAX}}, "a -rw-r--r--"},
		"another record":      {[]tar.Header{{Name: "package/a", Mode: 0o644, PAXRecords: map[string]string{"mode": "0777"}, Format: tar.FormatPAX}}, ""},
		"both, npm first":     {[]tar.Header{file("package/.npmignore"), file("package/.gitignore")}, ".npmignore -rw-r--r--"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x", "to")
			os.Mkdir(filepath.Dir(dir), 0o700)
			if name == "files" {
				c.want = strings.ReplaceAll(c.want, "none -rw-rw-rw-", "none -rw-r--r--")
			}
			err := unpack(bytes.NewReader(archiveOf(t, c.headers...)), dir)
			if (err != nil) != (c.want == "") || err != nil && !errors.Is(err, errOther) {
				t.Fatal(err)
			}
			if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
				t.Errorf("beside it: %v", left)
			}
			if got := list(t, dir); err == nil && got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	for _, end := range []string{"garbage", "\x00"} {
		text := append(archiveOf(t, file("package/a")), end...)
		if err := unpack(bytes.NewReader(text), filepath.Join(t.TempDir(), "to")); !errors.Is(err, errOther) {
			t.Errorf("%q after the archive: %v", end, err)
		}
	}
	if err := unpack(strings.NewReader("no archive"), filepath.Join(t.TempDir(), "to")); !errors.Is(err, errOther) {
		t.Error(err)
	}
}

func list(t *testing.T, dir string) string {
	var all []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, name)
		all = append(all, fmt.Sprint(rel, " ", info.Mode()))
		return err
	})
	testkit.Must(t, err)
	return strings.Join(all, "; ")
}

// TestReadTree reads lock files of npm: what has a rule of its own is npm's.
func TestReadTree(t *testing.T) {
	const sum = `"integrity":"sha512-AAAA"`
	for text, want := range map[string]string{
		`"node_modules/a":{` + sum + `},"node_modules/@s/b":{` + sum + `},"node_modules/a/node_modules/@s/b":{` + sum + `}`: "node_modules/@s/b node_modules/a node_modules/a/node_modules/@s/b",
		`"node_modules/a":{` + sum + `,"name":"other"}`:                                                                     "node_modules/a alias of other",
		`"node_modules/a":{}`:                                       "",
		`"node_modules/a":{"integrity":"sha1-AAAA"}`:                "",
		`"node_modules/a":{"integrity":"sha512-AAAA sha512-BBBB"}`:  "",
		`"node_modules/a":{` + sum + `,"link":true}`:                "",
		`"node_modules/a":{` + sum + `,"inBundle":true}`:            "",
		`"node_modules/a":{` + sum + `,"hasShrinkwrap":true}`:       "",
		`"node_modules/a":{` + sum + `,"bundleDependencies":["x"]}`: "",
		`"a":{` + sum + `}`:                                         "",
		`"node_modules/../a":{` + sum + `}`:                         "",
		`"node_modules/.bin":{` + sum + `}`:                         "",
		`"node_modules/@s":{` + sum + `}`:                           "",
		`"node_modules/@s/.x":{` + sum + `}`:                        "",
		`"node_modules/a/b":{` + sum + `}`:                          "",
		`"node_modules/a/node_modules/..":{` + sum + `}`:            "",
		`"node_modules/a\\b":{` + sum + `}`:                         "",
	} {
		file := filepath.Join(t.TempDir(), "package-lock.json")
		testkit.Must(t, os.WriteFile(file, []byte(`{"packages":{"":{},`+text+`}}`), 0o600))
		tree, err := readTree(file)
		var got []string
		for _, n := range tree {
			if got = append(got, n.path); n.name != n.path[strings.LastIndex(n.path, "node_modules/")+len("node_modules/"):] {
				got = append(got, "alias of "+n.name)
			}
		}
		if strings.Join(got, " ") != want || (want == "") != errors.Is(err, errOther) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// TestAddsToLock has in short what TestDownloadLikeNPM of packages/install shows with npm itself.
func TestAddsToLock(t *testing.T) {
	for _, c := range []struct {
		has    string
		script bool
		want   bool
	}{{"node_modules", true, true}, {"node_modules", false, true}, {"binding.gyp", false, true}, {"binding.gyp", true, false}, {"index.js", false, false}} {
		dir := t.TempDir()
		testkit.Must(t, os.Mkdir(filepath.Join(dir, c.has), 0o700))
		if addsToLock(dir, &node{HasInstallScript: c.script}) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// TestOrphans: what only unfit packages need goes with them, and what another one needs stays.
func TestOrphans(t *testing.T) {
	all := map[string]*node{
		"":                                  {Dependencies: map[string]string{"a": "1"}},
		"node_modules/a":                    {OptionalDeps: map[string]string{"there": "1"}, Dependencies: map[string]string{"both": "1"}},
		"node_modules/there":                {Optional: true, Dependencies: map[string]string{"both": "1", "lost": "1"}},
		"node_modules/both":                 {},
		"node_modules/lost":                 {Optional: true, Dependencies: map[string]string{"deep": "1"}},
		"node_modules/deep":                 {Optional: true},
		"node_modules/there/node_modules/x": {Optional: true},
	}
	gone := map[string]bool{"node_modules/there": true}
	testkit.Must(t, orphans(all, gone))
	var got []string
	for place := range gone {
		got = append(got, place)
	}
	slices.Sort(got)
	if want := []string{"node_modules/deep", "node_modules/lost", "node_modules/there", "node_modules/there/node_modules/x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	all["node_modules/a"].Dependencies["there"], all["node_modules/a"].OptionalDeps = "1", nil
	if err := orphans(all, map[string]bool{"node_modules/there": true}); !errors.Is(err, errOther) {
		t.Errorf("a package that is needed: %v", err)
	}
}

// TestLogin finds the credentials of a registry under its address and above, and of no other.
func TestLogin(t *testing.T) {
	for address, want := range map[string]string{
		"https://r.test/npm/":      "Bearer t",
		"https://r.test/npm/deep/": "Bearer t",
		"https://r.test/other/":    "",
		"https://basic.test/":      "Basic YTpi",
		"https://user.test:8/x/":   "Basic dTpw",
		"https://r.test.evil/npm/": "",
	} {
		r := &registry{getenv: func(name string) string {
			return map[string]string{"npm_config_//r.test/npm/:_authToken": "t", "npm_config_//basic.test/:_auth": "YTpi", "npm_config_//user.test:8/:username": "u", "npm_config_//user.test:8/:_password": "cA=="}[name]
		}}
		base, err := url.Parse(address)
		testkit.Must(t, err)
		if got := r.login(base); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// TestSplitSpec takes apart names and ranges. What is neither is npm's.
func TestSplitSpec(t *testing.T) {
	for spec, want := range map[string]string{"a": "a latest", "a@1": "a 1", "@s/a": "@s/a latest", "@s/a@^1": "@s/a ^1", "a@": "a latest", "x/y": " ", "git+ssh://h/x": " ", "@s": " ", "../a": " "} {
		if name, rng := splitSpec(spec); name+" "+rng != want {
			t.Errorf("%s: %s %s", spec, name, rng)
		}
	}
}

// newTestRegistry returns a registry with a cache, and variables beside those that it needs.
func newTestRegistry(t *testing.T, address string, variables map[string]string) (*registry, error) {
	t.Helper()
	all := map[string]string{"npm_config_registry": address, "npm_config_cache": t.TempDir(), "npm_config_prefer_offline": "true"}
	maps.Copy(all, variables)
	return newRegistry(func(name string) string { return all[name] })
}

// TestSettings: with what changes what npm believes or leaves out, npm installs.
func TestSettings(t *testing.T) {
	for _, setting := range []string{"", "ca=x", "before=2020-01-01", "min_release_age=3", "omit=optional", "include=dev", "strict_ssl=false", "prefer_offline=false"} {
		name, value, _ := strings.Cut(setting, "=")
		if _, err := newTestRegistry(t, "https://r.test/", map[string]string{"npm_config_" + name: value}); errors.Is(err, errOther) != (setting != "") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

// TestArchive fetches an archive from the registry alone, with the credentials of its path, and keeps
// and unpacks it only if it is the one that is asked for.
func TestArchive(t *testing.T) {
	good := archiveOf(t, tar.Header{Name: "package/a", Mode: 0o644})
	sum := sha512.Sum512(good)
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	var asked []string
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer other.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/good", http.StatusFound)
		case "/bad":
			w.Write(append(slices.Clone(good), 'x'))
		case "/stuck":
			w.Header().Set("Content-Length", "100")
			w.Write(good[:50])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.Write(good)
		}
	}))
	defer site.Close()
	at := strings.TrimPrefix(site.URL, "http:")
	for address, want := range map[string]string{
		site.URL + "/good": "/good Bearer all", site.URL + "/own/good": "/own/good Bearer own", site.URL + "/bad": "", site.URL + "/away": "", site.URL + "/here": "", site.URL + "/stuck": "",
		other.URL + "/good": "", "https:" + at + "/good": "", "http://registry.npmjs.org/good?x": "/good Bearer all",
	} {
		asked = nil
		r, err := newTestRegistry(t, site.URL, map[string]string{"npm_config_" + at + "/:_authToken": "all", "npm_config_" + at + "/own/:_authToken": "own"})
		testkit.Must(t, err)
		r.idle = 50 * time.Millisecond
		if want != "" {
			r.idle = time.Minute
		}
		dir := filepath.Join(t.TempDir(), "to")
		err = r.unpack(t.Context(), "a", address, integrity, dir)
		if got := strings.Join(asked, "; "); (err == nil) != (want != "") || want != "" && got != want {
			t.Errorf("%s: asked %q, %v", address, got, err)
		}
		if _, err := os.Lstat(dir); (err == nil) != (want != "") {
			t.Errorf("%s: %v", address, err)
		}
		file, err := npmcache.ContentFile(r.cache, integrity)
		if err != nil || want == "" {
			continue
		}
		// Content that was changed in the cache is fetched again, or not taken.
		testkit.Must(t, os.WriteFile(file, archiveOf(t, tar.Header{Name: "package/changed", Mode: 0o644}), 0o600))
		if err := r.unpackContent(integrity, dir+"2"); err == nil {
			t.Errorf("%s: changed content was taken", address)
		}
		if err := r.unpack(t.Context(), "a", address, integrity, dir+"3"); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestPlainAddress: metadata of a registry with TLS cannot have its credentials sent without.
func TestPlainAddress(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked for", r.URL) }))
	defer site.Close()
	r, err := newTestRegistry(t, strings.Replace(site.URL, "http:", "https:", 1), nil)
	testkit.Must(t, err)
	if err := r.archive(t.Context(), "a", site.URL+"/a.tgz", "sha512-AAAA"); !errors.Is(err, errOther) {
		t.Error(err)
	}
}

// TestAuthorities: with npm's cafile only its authorities are believed.
func TestAuthorities(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	site := httptest.NewTLSServer(http.NotFoundHandler())
	defer site.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})
	testkit.Must(t, os.WriteFile(file, text, 0o600))
	one, err := authorities(file, "")
	only := x509.NewCertPool()
	only.AddCert(site.Certificate())
	if err != nil || !one.Equal(only) {
		t.Errorf("with a cafile there are others, or none: %v", err)
	}
	system, err := x509.SystemCertPool()
	testkit.Must(t, err)
	system.AddCert(site.Certificate())
	if both, err := authorities("", file); err != nil || !both.Equal(system) {
		t.Errorf("with another file beside the system's: %v", err)
	}
}
