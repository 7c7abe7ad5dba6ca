package python

import (
	_ "embed" // download.py
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// A Request is what an installer is asked for.
type Request struct {
	Requirements []string // as Requirement returns them
	Files        []string // requirements files, absolute
	Constraints  []string // files, absolute
	Pre          bool     // prereleases
	Extra        []string // further words for uv
}

// NewRequest returns what a line asks for.
func NewRequest(line *runline.Line, config *Config) (r Request) {
	for _, s := range line.Packages {
		r.Requirements = append(r.Requirements, Requirement(s))
	}
	r.Pre = config.Pre
	return r
}

//go:embed download.py
var download string

// PipDownload returns the words after `python` that have pip resolve and download wheels. No
// code of a package runs.
func (r Request) PipDownload(to string, local []string) []string {
	words := []string{"-I", "-c", download, "download", "--dest", to, "--only-binary", ":all:"}
	if r.Pre {
		words = append(words, "--pre")
	}
	for _, dir := range local {
		words = append(words, "--find-links", dir)
	}
	for _, f := range r.Constraints {
		words = append(words, "--constraint", f)
	}
	for _, f := range r.Files {
		words = append(words, "--requirement", f)
	}
	return append(append(words, "--"), r.Requirements...)
}

// PipDownloadPinned returns the words that download exactly the packages of a file that
// Requirements made.
func PipDownloadPinned(to, file string, local []string) []string {
	words := []string{"-I", "-c", download, "download", "--dest", to, "--only-binary", ":all:", "--no-deps", "--requirement", file}
	for _, dir := range local {
		words = append(words, "--find-links", dir)
	}
	return append(words, "--require-hashes")
}

// PipInstall returns the words that unpack wheels. They need no network.
func PipInstall(to string, wheels []string) []string {
	return append([]string{"-I", "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile", "--no-warn-script-location", "--target", to, "--"}, wheels...)
}

// CompileAll returns the words that compile a directory of modules. The compiled files say
// that they are not to be compared with their sources, whose times are those of the
// installation.
func CompileAll(dir string) []string {
	return []string{"-I", "-m", "compileall", "-q", "-q", "-d", "site", "--invalidation-mode", "unchecked-hash", dir}
}

// PipVariables returns the variables that configure pip in the jail.
func (c Config) PipVariables(home string) map[string]string {
	v := map[string]string{
		"PIP_CONFIG_FILE": "/dev/null", "PIP_CACHE_DIR": home + "/cache", "PIP_LOG": home + "/pip.log", "NETRC": home + "/netrc",
		"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off", "PIP_NO_COLOR": "1", "PIP_ROOT_USER_ACTION": "ignore",
		"PIP_RETRIES": "1", "PIP_TIMEOUT": "15", "PIP_KEYRING_PROVIDER": "disabled", "PIP_INDEX_URL": c.Index,
	}
	for name, value := range map[string]string{
		"PIP_EXTRA_INDEX_URL": strings.Join(c.Extra, " "), "PIP_FIND_LINKS": strings.Join(c.FindLinks, " "), "PIP_TRUSTED_HOST": strings.Join(c.Trusted, " "),
		"PIP_CERT": c.Cert, "PIP_CLIENT_CERT": c.ClientCert,
	} {
		if value != "" {
			v[name] = value
		}
	}
	if c.NoIndex {
		v["PIP_NO_INDEX"] = "1"
	}
	return v
}

// UvCompile returns the words after `uv` that resolve what is asked for, and write the
// packages with the hashes of their files to a requirements file. No code of a package runs.
func (r Request) UvCompile(python, in, out string) []string {
	words := []string{"pip", "compile", "--python", python, "--only-binary", ":all:", "--generate-hashes", "--no-header", "--no-annotate", "--output-file", out}
	if r.Pre {
		words = append(words, "--prerelease", "allow")
	}
	for _, f := range r.Constraints {
		words = append(words, "--constraints", f)
	}
	return append(append(append(words, r.Extra...), r.Files...), in)
}

// UvInstall returns the words that download and unpack the packages of a requirements file,
// and no others.
func UvInstall(python, to, file string) []string {
	return []string{"pip", "install", "--python", python, "--target", to, "--only-binary", ":all:", "--require-hashes", "--no-deps", "--link-mode", "copy", "--no-compile-bytecode", "--requirement", file}
}

// UvVariables returns the variables that configure uv in the jail.
func (c Config) UvVariables(home string) map[string]string {
	v := map[string]string{
		"UV_NO_CONFIG": "1", "UV_CACHE_DIR": home + "/cache", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "UV_KEYRING_PROVIDER": "disabled", "NO_COLOR": "1",
		"UV_HTTP_TIMEOUT": "15", "UV_HTTP_RETRIES": "1", "NETRC": home + "/netrc", "UV_DEFAULT_INDEX": c.Index,
	}
	for name, value := range map[string]string{
		"UV_INDEX": strings.Join(c.Extra, " "), "UV_FIND_LINKS": strings.Join(c.FindLinks, ","), "UV_INSECURE_HOST": strings.Join(c.Trusted, " "), "SSL_CERT_FILE": c.Cert,
	} {
		if value != "" {
			v[name] = value
		}
	}
	if c.NoIndex {
		v["UV_NO_INDEX"] = "1"
	}
	return v
}
