package python

import (
	_ "embed" // the two programs
	"slices"
	"strings"
)

// A Request is what pip or uv is asked for.
type Request struct {
	Requirements []string // as Requirement returns them
	// Versions is a file of constraints: no other versions of the packages in it are taken. "" for none.
	Versions string
	// Pinned is a file that Requirements has written: these files are taken, and nothing else. "" for none.
	Pinned string
	// Local is a directory with wheels that were built here. "" for none.
	Local string
}

// pip returns the words after `python` that run pip.
func pip(words ...string) []string { return append([]string{"-I", "-m", "pip"}, words...) }

// PipDownload returns the words after `python` that have pip resolve and download wheels. pip needs
// no other program for that.
func (r Request) PipDownload(to string) []string {
	words := pip("download", "--dest", to, "--only-binary", ":all:")
	if r.Local != "" {
		words = append(words, "--find-links", r.Local)
	}
	if r.Pinned != "" {
		return append(words, "--no-deps", "--require-hashes", "--requirement", r.Pinned)
	}
	if r.Versions != "" {
		words = append(words, "--constraint", r.Versions)
	}
	return append(append(words, "--"), r.Requirements...)
}

//go:embed look.py
var look string

// PipLook returns the words after `python` that write to a file which wheels PipDownload would download.
func (r Request) PipLook(to, list string) []string {
	return append([]string{"-I", "-c", look, list}, r.PipDownload(to)[len(pip()):]...)
}

// ReadWheels returns the packages of the list that PipLook has written.
func ReadWheels(list string) (packages []Package, err error) {
	for line := range strings.Lines(list) {
		file, hash, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, version, err := ParseWheel(file)
		if err != nil {
			return nil, err
		}
		packages = append(packages, Package{name, version, []string{hash}})
	}
	return packages, nil
}

// PipInstall returns the words that unpack wheels. They need no network.
func PipInstall(to string, wheels []string) []string {
	return append(pip("install", "--no-index", "--no-deps", "--no-compile", "--no-warn-script-location", "--target", to, "--"), wheels...)
}

// CompileAll returns the words that compile a directory of modules. The compiled files say that
// they are not to be compared with their sources, whose times are those of the installation.
func CompileAll(dir string) []string {
	return []string{"-I", "-m", "compileall", "-q", "-q", "-d", "site", "--invalidation-mode", "unchecked-hash", dir}
}

//go:embed sdist.py
var sdist string

// SourceDownload returns the words after `python` that download the newest source distribution for a
// requirement, and into another directory the wheels that its build needs. Its code does not run.
func SourceDownload(requirement, to, needs string) []string {
	return []string{"-I", "-c", sdist, requirement, to, needs}
}

// Build returns the words that build a wheel of a source distribution. That runs its code.
func Build(source, needs, to string) []string {
	return pip("wheel", "--no-index", "--no-deps", "--find-links", needs, "--wheel-dir", to, "--verbose", "--", source)
}

// PipVariables returns the variables of every pip in a jail. Where packages come from is not in them.
func PipVariables(home string) map[string]string {
	return map[string]string{
		"PIP_CONFIG_FILE": "/dev/null", "PIP_CACHE_DIR": home + "/cache", "PIP_LOG": home + "/pip.log",
		"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off", "PIP_NO_COLOR": "1",
		"PIP_ROOT_USER_ACTION": "ignore", "PIP_RETRIES": "1", "PIP_TIMEOUT": "15", "PIP_KEYRING_PROVIDER": "disabled",
	}
}

// wheelsOnly are the words for uv, which builds nothing and fetches no Python.
func wheelsOnly(python string) []string {
	return []string{"--python", python, "--no-build", "--no-python-downloads"}
}

// UvCompile returns the words after `uv` that resolve what a file asks for, and write the packages
// with the hashes of their files to another. No code of a package runs.
func (r Request) UvCompile(python, in, out string) []string {
	words := slices.Concat([]string{"pip", "compile"}, wheelsOnly(python), []string{"--generate-hashes", "--no-header", "--no-annotate", "--output-file", out})
	if r.Versions != "" {
		words = append(words, "--constraints", r.Versions)
	}
	return append(words, in)
}

// UvInstall returns the words that download and unpack the packages of a file that UvCompile or
// Requirements has written, and no others.
func UvInstall(python, to, file string) []string {
	return slices.Concat([]string{"pip", "install"}, wheelsOnly(python), []string{
		"--target", to, "--require-hashes", "--no-deps", "--link-mode", "copy", "--no-compile-bytecode", "--requirement", file,
	})
}

// UvVariables returns the variables of uv in a jail. Where packages come from is not in them.
func UvVariables(home string) map[string]string {
	return map[string]string{
		"UV_NO_CONFIG": "1", "UV_CACHE_DIR": home + "/cache", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1",
		"UV_KEYRING_PROVIDER": "disabled", "NO_COLOR": "1", "UV_HTTP_TIMEOUT": "15", "UV_HTTP_RETRIES": "1",
	}
}
