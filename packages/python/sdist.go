package python

import (
	"archive/tar"
	"compress/gzip"
	_ "embed" // sdist.py
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed sdist.py
var sdist string

// SourceDownload returns the words after `python` that download the newest source
// distribution for a requirement, from the indexes of PipVariables. Its code does not run.
func SourceDownload(requirement, to string, pre bool) []string {
	word := "stable"
	if pre {
		word = "pre"
	}
	return []string{"-I", "-c", sdist, requirement, to, word}
}

// BuildDownload returns the words that download the wheels which a build needs.
func BuildDownload(requires []string, to string) []string {
	return append([]string{"-I", "-c", download, "download", "--dest", to, "--only-binary", ":all:", "--"}, requires...)
}

// Build returns the words that build a wheel of a source distribution. That runs its code.
func Build(source, needs, to string) []string {
	return []string{"-I", "-m", "pip", "wheel", "--no-index", "--no-deps", "--find-links", needs, "--wheel-dir", to, "--verbose", "--", source}
}

// maxProject bounds a pyproject.toml.
const maxProject = 1 << 20

// BuildRequires returns the requirements of the build of a source distribution: those that its
// pyproject.toml names (PEP 518), or else setuptools and wheel.
func BuildRequires(archive io.Reader) ([]string, error) {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return nil, fmt.Errorf("the source distribution is no .tar.gz: %w", err)
	}
	usual := []string{"setuptools>=40.8.0", "wheel"}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return usual, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the source distribution cannot be read: %w", err)
		}
		if dir, name := path.Split(path.Clean(h.Name)); name != "pyproject.toml" || strings.Count(dir, "/") != 1 {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(files, maxProject))
		if err != nil {
			return nil, fmt.Errorf("the source distribution cannot be read: %w", err)
		}
		var project struct {
			Build *struct{ Requires []string } `toml:"build-system"`
		}
		if err := toml.Unmarshal(text, &project); err != nil {
			return nil, fmt.Errorf("its pyproject.toml cannot be read: %w", err)
		}
		if project.Build == nil {
			return usual, nil
		}
		requires := project.Build.Requires
		if slices.ContainsFunc(requires, func(r string) bool { return strings.HasPrefix(r, "setuptools") }) {
			requires = append(requires, "wheel") // some versions of setuptools ask for it later
		}
		return requires, nil
	}
}
