package registry

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// simpleJSON is the media type of the index in JSON (PEP 691).
const simpleJSON = "application/vnd.pypi.simple.v1+json"

// simple answers for the index of all projects (""), or of one.
func (a answer) simple(project string) {
	asJSON := strings.Contains(a.q.Header.Get("Accept"), simpleJSON)
	a.Header().Set("Vary", "Accept")
	if project == "" {
		a.projects(asJSON)
		return
	}
	wheels := a.shelf.wheels[project]
	if wheels == nil {
		a.text(http.StatusNotFound, "text/plain; charset=utf-8", "no such project: "+project)
		return
	}
	files, links := []any{}, ""
	for _, w := range wheels {
		if !a.allowed(w.Token) {
			return
		}
		address := a.base() + "/files/" + w.filename()
		facts := a.shelf.artifacts["/files/"+w.filename()].facts()
		sum := firstOf(w.Digest, facts.sha256)
		file := map[string]any{"filename": w.filename(), "url": address, "size": facts.size, "hashes": map[string]string{"sha256": sum}}
		attributes := ""
		if w.RequiresPython != "" {
			file["requires-python"] = w.RequiresPython
			attributes += fmt.Sprintf(` data-requires-python="%s"`, html.EscapeString(w.RequiresPython))
		}
		if w.Build == "" {
			metadata := a.shelf.artifacts["/files/"+w.filename()+".metadata"].facts().sha256
			file["core-metadata"] = map[string]string{"sha256": metadata}
			attributes += fmt.Sprintf(` data-core-metadata="sha256=%[1]s" data-dist-info-metadata="sha256=%[1]s"`, metadata)
		}
		files = append(files, file)
		links += fmt.Sprintf("<a href=\"%s#sha256=%s\"%s>%s</a><br>\n", address, sum, attributes, w.filename())
	}
	if asJSON {
		a.simpleJSON(map[string]any{"name": project, "files": files})
		return
	}
	a.text(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html>\n<title>"+html.EscapeString(project)+"</title>\n"+links)
}

func (a answer) projects(asJSON bool) {
	list, links := []any{}, ""
	for _, name := range slices.Sorted(maps.Keys(a.shelf.wheels)) {
		list = append(list, map[string]string{"name": name})
		links += fmt.Sprintf("<a href=\"%[1]s/\">%[1]s</a><br>\n", name)
	}
	if asJSON {
		a.simpleJSON(map[string]any{"projects": list})
		return
	}
	a.text(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html>\n<title>index</title>\n"+links)
}

func (a answer) simpleJSON(doc map[string]any) {
	doc["meta"] = map[string]string{"api-version": "1.0"}
	a.encode(http.StatusOK, simpleJSON, doc)
}

// Wheel is one version of a Python package, as a pure-python wheel.
type Wheel struct {
	Name    string
	Version string

	Files          map[string]string // by their names below site-packages
	Scripts        map[string]string // console scripts: "name": "module:function"
	Requires       []string
	RequiresPython string

	Token  string // see Package.Token; pip sends it as Basic
	Digest string // the sha256 that the index tells instead of the right one

	// Build makes it a source distribution instead. Its build runs that Python code,
	// which is how an installation without wheels runs the package's code.
	Build string
}

// ID returns NAME==VERSION.
func (w Wheel) ID() string { return w.Name + "==" + w.Version }

func (w Wheel) check() error {
	if w.Name == "" || w.Version == "" {
		return fmt.Errorf("the wheel %q has no name or no version", w.ID())
	}
	for name := range w.Files {
		if !fs.ValidPath(name) {
			return fmt.Errorf("wheel %s: the file name %q is not one below a folder", w.ID(), name)
		}
	}
	return nil
}

// normal returns the name of a project as the index spells it (PEP 503).
func normal(name string) string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
}

func (w Wheel) stem() string { return strings.ReplaceAll(normal(w.Name), "-", "_") + "-" + w.Version }

// wheelName returns the name of the wheel, also if the wheel is built from source.
func (w Wheel) wheelName() string { return w.stem() + "-py3-none-any.whl" }

// filename returns the name of the file that the index offers.
func (w Wheel) filename() string {
	if w.Build != "" {
		return w.stem() + ".tar.gz"
	}
	return w.wheelName()
}

// Metadata returns the METADATA file.
func (w Wheel) Metadata() string {
	text := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", w.Name, w.Version)
	for _, r := range w.Requires {
		text += "Requires-Dist: " + r + "\n"
	}
	if w.RequiresPython != "" {
		text += "Requires-Python: " + w.RequiresPython + "\n"
	}
	return text
}

// write writes what the index offers: the wheel, or the source distribution.
func (w Wheel) write(to io.Writer) error {
	if w.Build != "" {
		return w.writeSource(to)
	}
	return w.writeWheel(to)
}

func (w Wheel) writeWheel(to io.Writer) error {
	info := w.stem() + ".dist-info/"
	files := map[string]string{
		info + "METADATA": w.Metadata(),
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: mcp-jail-test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	}
	maps.Copy(files, w.Files)
	if len(w.Scripts) > 0 {
		text := "[console_scripts]\n"
		for _, name := range slices.Sorted(maps.Keys(w.Scripts)) {
			text += name + " = " + w.Scripts[name] + "\n"
		}
		files[info+"entry_points.txt"] = text
	}
	names := slices.Sorted(maps.Keys(files))
	record := ""
	for _, name := range names {
		sum := sha256.Sum256([]byte(files[name]))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	files[info+"RECORD"] = record + info + "RECORD,,\n"
	z := zip.NewWriter(to)
	z.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, name := range append(names, info+"RECORD") {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: packedAt()}
		h.SetMode(0o644)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, files[name]); err != nil {
			return err
		}
	}
	return z.Close()
}

// backend is a build backend (PEP 517) that is in the source distribution itself. It
// runs the code of Wheel.Build, and takes the wheel from beside it.
const backend = `import os, shutil

def build_wheel(to, config_settings=None, metadata_directory=None):
    import build_code
    shutil.copy(os.path.join(os.path.dirname(__file__), %[1]q), to)
    return %[1]q
`

// writeSource writes a source distribution that needs no other package to be built.
func (w Wheel) writeSource(to io.Writer) error {
	var packed strings.Builder
	if err := w.writeWheel(&packed); err != nil {
		return err
	}
	var entries []Entry
	for name, body := range map[string]string{
		"PKG-INFO":       w.Metadata(),
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n",
		"backend.py":     fmt.Sprintf(backend, w.wheelName()),
		"build_code.py":  w.Build,
		w.wheelName():    packed.String(),
	} {
		entries = append(entries, Entry{Name: w.stem() + "/" + name, Body: body})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return writeEntries(to, entries)
}
