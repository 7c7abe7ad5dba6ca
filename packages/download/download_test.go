package download

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
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
		"a directory":         {[]tar.Header{{Name: "package/", Typeflag: tar.TypeDir}, {Name: "package/e/f/", Typeflag: tar.TypeDir}, file("package/e/a")}, "e drwxr-xr-x; e/a -rw-r--r--; e/f drwxr-xr-x"},
		"a file at the top":   {[]tar.Header{file("top"), file("package/a")}, "a -rw-r--r--"},
		"links are left out":  {[]tar.Header{{Name: "package/l", Linkname: "/etc", Typeflag: tar.TypeSymlink}, {Name: "package/h", Linkname: "package/a", Typeflag: tar.TypeLink}, file("package/l/a")}, "l drwxr-xr-x; l/a -rw-r--r--"},
		"a name twice":        {[]tar.Header{file("package/a"), {Name: "package/a", Mode: 0o755}}, "a -rwxr-xr-x"},
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
		"both, npm first":     {[]tar.Header{file("package/.npmignore"), file("package/.gitignore")}, ".npmignore -rw-r--r--"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x", "to")
			os.Mkdir(filepath.Dir(dir), 0o700)
			if name == "files" {
				c.want = strings.ReplaceAll(c.want, "none -rw-rw-rw-", "none -rw-r--r--")
			}
			err := unpack(archiveOf(t, c.headers...), dir)
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
	if err := unpack([]byte("no archive"), filepath.Join(t.TempDir(), "to")); !errors.Is(err, errOther) {
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
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "; ")
}

// TestReadTree reads lock files of npm: what has a rule of its own is npm's.
func TestReadTree(t *testing.T) {
	const sum = `"integrity":"sha512-AAAA"`
	for text, want := range map[string]string{
		`"node_modules/a":{` + sum + `},"node_modules/@s/b":{` + sum + `},"node_modules/a/node_modules/@s/b":{` + sum + `}`: "node_modules/@s/b node_modules/a node_modules/a/node_modules/@s/b",
		`"node_modules/a":{` + sum + `,"name":"other"}`:                                                                     "node_modules/a",
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
		if err := os.WriteFile(file, []byte(`{"packages":{"":{},`+text+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		tree, err := readTree(file)
		var got []string
		for _, n := range tree {
			got = append(got, n.path)
		}
		if strings.Join(got, " ") != want || (want == "") != errors.Is(err, errOther) {
			t.Errorf("%s: %q, %v", text, got, err)
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
	if err := orphans(all, gone); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
