package registry

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// shortForm is the media type of a packument that has what an installation needs.
const shortForm = "application/vnd.npm.install-v1+json"

// npm answers for /NAME, /NAME/VERSION and /NAME/TAG.
func (a answer) npm(name string) {
	rest := ""
	parts := strings.SplitN(name, "/", 3)
	switch {
	case strings.HasPrefix(name, "@") && len(parts) == 3:
		name, rest = parts[0]+"/"+parts[1], parts[2]
	case !strings.HasPrefix(name, "@") && len(parts) >= 2:
		name, rest = parts[0], strings.Join(parts[1:], "/")
	}
	offers := a.shelf.packages[name]
	if offers == nil {
		a.json(http.StatusNotFound, map[string]any{"error": "Not found"})
		return
	}
	for _, o := range offers {
		if !a.allowed(o.Token) {
			return
		}
	}
	if rest == "" {
		a.packument(name, offers)
		return
	}
	version := firstOf(tags(offers)[rest], rest)
	for _, o := range offers {
		if o.Version == version {
			a.json(http.StatusOK, a.manifest(o, false))
			return
		}
	}
	a.json(http.StatusNotFound, map[string]any{"error": "version not found: " + rest})
}

// packument answers with all versions of a package, in the form that the client wants.
func (a answer) packument(name string, offers []offer) {
	short := strings.Contains(a.q.Header.Get("Accept"), shortForm)
	versions, times := map[string]any{}, map[string]any{}
	modified := time.Time{}
	for _, o := range offers {
		at := o.Published
		if at.IsZero() {
			at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if at.After(modified) {
			modified = at
		}
		times[o.Version] = at.Format(time.RFC3339)
		versions[o.Version] = a.manifest(o, short)
	}
	doc := map[string]any{"name": name, "dist-tags": tags(offers), "versions": versions}
	kind := "application/json"
	if short {
		kind = shortForm
		doc["modified"] = modified.Format(time.RFC3339)
	} else {
		times["modified"] = modified.Format(time.RFC3339)
		times["created"] = times[offers[0].Version]
		doc["_id"], doc["time"], doc["readme"] = name, times, "# "+name
		doc["maintainers"] = []any{map[string]string{"name": "tester", "email": "tester@example.com"}}
	}
	a.Header().Set("Vary", "Accept")
	a.encode(http.StatusOK, kind, doc)
}

// shortFields are the fields of a version that the short form has.
func shortFields() []string {
	return []string{
		"name", "version", "deprecated", "dependencies", "optionalDependencies", "devDependencies", "bundleDependencies", "peerDependencies",
		"peerDependenciesMeta", "acceptDependencies", "bin", "directories", "dist", "engines", "funding", "os", "cpu", "libc", "hasInstallScript", "_hasShrinkwrap",
	}
}

// manifest returns what a packument says about a version.
func (a answer) manifest(o offer, short bool) map[string]any {
	m := o.packageJSON()
	m["_id"] = o.ID()
	m["dist"] = a.dist(o)
	if short {
		if o.runsScripts() {
			m["hasInstallScript"] = true
		}
		maps.DeleteFunc(m, func(field string, _ any) bool { return !slices.Contains(shortFields(), field) })
	}
	return m
}

func (a answer) dist(o offer) map[string]any {
	address := a.base() + "/" + o.Name + "/-/" + url.PathEscape(o.tarballName())
	dist := map[string]any{"tarball": address}
	if o.needsFacts() {
		facts := o.tarball.facts()
		dist["integrity"], dist["shasum"] = facts.integrity, facts.sha1
	}
	maps.Copy(dist, o.Dist)
	maps.DeleteFunc(dist, func(_ string, value any) bool { return value == nil })
	return dist
}

// tags returns the dist-tags.
func tags(offers []offer) map[string]string {
	out := map[string]string{}
	for _, o := range offers {
		out["latest"] = o.Version
	}
	return out
}

// service answers for what is below /-/.
func (a answer) service(name string) {
	of, isTags := strings.CutPrefix(name, "package/")
	of, rest := strings.TrimSuffix(of, "/dist-tags"), strings.HasSuffix(of, "/dist-tags")
	switch {
	case name == "ping":
		a.json(http.StatusOK, map[string]any{})
	case name == "whoami":
		a.json(http.StatusOK, map[string]any{"username": "tester"})
	case name == "npm/v1/keys":
		a.json(http.StatusOK, map[string]any{"keys": []any{}})
	case isTags && rest && a.shelf.packages[of] != nil:
		if a.allowed(a.shelf.packages[of][0].Token) {
			a.json(http.StatusOK, tags(a.shelf.packages[of]))
		}
	default:
		a.json(http.StatusNotFound, map[string]any{"error": "Not found"})
	}
}

// artifact is a file that the registry serves. It is written anew for each request.
type artifact struct {
	kind  string // the media type
	token string
	write func(io.Writer) error
	facts func() facts // computed once, at the first use

	unmeasured bool // it is served without a look at the facts
}

func newArtifact(kind, token string, write func(io.Writer) error) artifact {
	return artifact{kind: kind, token: token, write: write, facts: sync.OnceValue(func() facts { return measure(write) })}
}

// facts are what an index says about an artifact.
type facts struct {
	size                    int64
	integrity, sha1, sha256 string
}

// measure writes an artifact to nowhere and returns what came.
func measure(write func(io.Writer) error) facts {
	sums, sum1, sum256, n := sha512.New(), sha1.New(), sha256.New(), new(counter)
	if err := write(io.MultiWriter(sums, sum1, sum256, n)); err != nil {
		panic("a tarball cannot be written: " + err.Error()) // nothing but its own writers can fail
	}
	return facts{
		size: int64(*n), integrity: "sha512-" + base64.StdEncoding.EncodeToString(sums.Sum(nil)),
		sha1: hex.EncodeToString(sum1.Sum(nil)), sha256: hex.EncodeToString(sum256.Sum(nil)),
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// packedAt is the time of every file, so that the same package makes the same bytes.
func packedAt() time.Time { return time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC) }

// WriteTarball writes the package as `npm pack` would.
func (p Package) WriteTarball(w io.Writer) error {
	level := gzip.BestCompression
	if p.Filler > 0 {
		level = gzip.NoCompression
	}
	packed, err := gzip.NewWriterLevel(w, level)
	if err != nil {
		return err
	}
	t := tar.NewWriter(packed)
	files := p.files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode := p.Modes[name]
		if mode == 0 {
			mode = 0o644
		}
		if err := add(t, Entry{Name: "package/" + name, Body: files[name], Mode: mode}); err != nil {
			return err
		}
	}
	for _, e := range p.Entries {
		if err := add(t, e); err != nil {
			return err
		}
	}
	if p.Filler > 0 {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: "package/filler.bin", Size: p.Filler, Mode: 0o644, ModTime: packedAt()}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.CopyN(t, zeros{}, p.Filler); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return packed.Close()
}

// writeEntries writes a compressed tarball of entries alone.
func writeEntries(w io.Writer, entries []Entry) error {
	packed := gzip.NewWriter(w)
	t := tar.NewWriter(packed)
	for _, e := range entries {
		if err := add(t, e); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func add(t *tar.Writer, e Entry) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Linkname: e.Link, Mode: e.Mode, ModTime: packedAt()}
	switch {
	case e.Type != "":
		h.Typeflag = e.Type[0]
	case e.Link != "":
		h.Typeflag = tar.TypeSymlink
	}
	if h.Mode == 0 {
		h.Mode = 0o644
	}
	if h.Typeflag != tar.TypeReg {
		return t.WriteHeader(h)
	}
	h.Size = int64(len(e.Body))
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.WriteString(t, e.Body)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
