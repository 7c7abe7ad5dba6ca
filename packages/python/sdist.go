package python

import (
	_ "embed" // sdist.py, project.py
	"fmt"
	"slices"
	"strconv"
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

//go:embed project.py
var project string

// ReadProject returns the words after `python` that write the pyproject.toml of a source distribution
// to a file. The archive may have up to most bytes when it is unpacked.
func ReadProject(archive, to string, most int64) []string {
	return []string{"-I", "-c", project, archive, to, strconv.FormatInt(most, 10)}
}

// BuildRequires returns the requirements of the build of a source distribution: those that the text
// of its pyproject.toml names (PEP 518), or else setuptools and wheel.
func BuildRequires(text []byte) ([]string, error) {
	usual := []string{"setuptools>=40.8.0", "wheel"}
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
