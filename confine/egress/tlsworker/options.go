package tlsworker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Name is that of the program.
const Name = "mcp-jail-tls"

// Options are what the process is started with.
type Options struct {
	Program string // its path: see Find
	Rules   []policy.NetRule
	// Secrets are the values by variable. The process gets them when it has given up its
	// rights.
	Secrets map[string]string
	// Roots are authorities (PEM) that upstreams' certificates may have besides the host's.
	Roots       []byte
	Connections int // that it is given at once; 0: policy.DefaultLimits
}

// Handler is what the process does, in the order of its methods.
type Handler interface {
	CA() []byte     // of its authority, in PEM
	Prepare() error // reads what takes files: after it there are none
	SetSecrets(secrets map[string]string) error
	egress.Interceptor
	Close()
}

// WriterFunc tells of a path what may write to it: policy.Profile.Writer.
type WriterFunc func(path string, rights policy.Rights) (policy.Writer, bool)

// Find looks for the program beside self, which is the path of mcp-jail, and then in
// the directories of path, as PATH has them. A file that a server could write, replace or
// choose is an error: it would be run outside of the jail, with secrets.
func Find(self, path string, reach WriterFunc) (string, error) {
	places := []string{}
	if self != "" {
		places = append(places, filepath.Dir(self))
	}
	for _, dir := range append(places, filepath.SplitList(path)...) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, links, err := hostfs.Trace(filepath.Join(dir, Name))
		if err != nil {
			continue
		}
		info, err := os.Stat(found)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		// Beside mcp-jail the name is protected, like that of mcp-jail itself: nothing
		// around it can be moved.
		protected := found == filepath.Join(filepath.Dir(self), Name)
		if why := reach.whoReplaces(found, links, protected); why != "" {
			return "", fmt.Errorf("%s cannot be used: %s, so it could choose what is run outside of its jail; install it beside mcp-jail", found, why)
		}
		return found, nil
	}
	return "", fmt.Errorf("%w beside mcp-jail and in PATH; it ends TLS for rules with path_prefix, methods or secret. Install it with mcp-jail, from the same build", ErrMissing)
}

// whoReplaces says what could make another file of a path, "" for nothing.
func (r WriterFunc) whoReplaces(found string, links []policy.Link, alone bool) string {
	for _, l := range links {
		if w, ok := r(filepath.Dir(l.Path), policy.Create|policy.Delete); ok {
			return fmt.Sprintf("%s may replace the symbolic link %s (%s)", w.Who, l.Path, w.Rule)
		}
	}
	for at := found; ; at = filepath.Dir(at) {
		if w, ok := r(at, policy.Write); ok {
			return fmt.Sprintf("%s may write to %s (%s)", w.Who, at, w.Rule)
		}
		if alone || at == filepath.Dir(at) {
			return ""
		}
	}
}

// rootsVariables say where the host has its roots: the process is told (environment).
var rootsVariables = []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}

// CheckRoots refuses roots that a server could write: it could choose in whom the
// process believes.
func CheckRoots(reach WriterFunc) error {
	for _, name := range rootsVariables {
		for _, file := range filepath.SplitList(os.Getenv(name)) {
			if !filepath.IsAbs(file) {
				continue
			}
			found, links, _ := hostfs.Trace(file)
			if why := reach.whoReplaces(found, links, false); why != "" {
				return fmt.Errorf("the variable %s names %s, and %s, so it could choose whose certificates are believed: keep them where no server may write", name, file, why)
			}
		}
	}
	return nil
}

// ErrMissing is that there is no program.
var ErrMissing = errors.New("mcp-jail-tls is missing")
