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
	"slices"
	"sync"
	"time"
)

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
