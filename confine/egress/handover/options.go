package handover

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
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

// Worker is what the process does, in the order of its methods.
type Worker interface {
	CA() []byte     // of its authority, in PEM
	Prepare() error // reads what takes files: after it there are none
	Arm(secrets map[string]string) error
	egress.Terminator
	Close()
}

// Find looks for the program beside self, which is the path of mcp-jail, and then in
// the directories of path, as PATH has them. A file that the server could write or
// replace is an error: it would be run outside of the jail, with secrets. writable
// tells of a path whether the server may change it.
func Find(self, path string, writable func(string) bool) (string, error) {
	places := []string{}
	if self != "" {
		places = append(places, filepath.Dir(self))
	}
	for _, dir := range append(places, filepath.SplitList(path)...) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := filepath.EvalSymlinks(filepath.Join(dir, Name))
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
		for at := found; ; at = filepath.Dir(at) {
			if writable(at) {
				return "", fmt.Errorf("%s cannot be used: the server may write to %s, so it could choose what is run outside of its jail", found, at)
			}
			if protected || at == filepath.Dir(at) {
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("%w beside mcp-jail and in PATH; it ends TLS for rules with path_prefix, methods or secret. Install it with mcp-jail, from the same build", ErrMissing)
}

// ErrMissing is that there is no program.
var ErrMissing = errors.New("mcp-jail-tls is missing")
