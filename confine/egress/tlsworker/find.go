package tlsworker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ErrMissing means that the program is not installed.
var ErrMissing = errors.New("mcp-jail-tls is missing")

// writerFunc returns a policy that may write to a path, like policy.Profile.Writer.
type writerFunc func(path string, rights policy.Rights) (policy.Writer, bool)

// Find returns the path of the program. It looks beside self, the path of mcp-jail, and then in
// the directories of path, a value of PATH. The program runs outside the jail and holds secrets,
// so a file that a server could write or replace is an error.
func Find(self, path string, writer writerFunc) (string, error) {
	dirs := []string{}
	if self != "" {
		dirs = append(dirs, filepath.Dir(self))
	}
	for _, dir := range append(dirs, filepath.SplitList(path)...) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, links, err := hostfs.ResolveLinks(filepath.Join(dir, Name))
		if err != nil {
			continue
		}
		info, err := os.Stat(found)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		// Beside mcp-jail the program's name is protected like mcp-jail's own, so its
		// directories cannot be moved.
		protected := found == filepath.Join(filepath.Dir(self), Name)
		if why := writer.threat(found, links, protected); why != "" {
			return "", fmt.Errorf("%s cannot be used: %s, so it could choose a program that runs outside its jail; install mcp-jail-tls beside mcp-jail", found, why)
		}
		return found, nil
	}
	return "", fmt.Errorf("%w beside mcp-jail and in PATH; it ends TLS for rules with path_prefix, methods or secret. Install it with mcp-jail, from the same build", ErrMissing)
}

// threat describes how a server could put another file in place of found. It returns "" if
// none can. With fileOnly it looks at the file, and not at its directories, which the caller
// knows to be protected.
func (writer writerFunc) threat(found string, links []policy.Link, fileOnly bool) string {
	for _, l := range links {
		if w, ok := writer(filepath.Dir(l.Path), policy.Create|policy.Delete); ok {
			return fmt.Sprintf("%s may replace the symbolic link %s (%s)", w.Name, l.Path, w.Rule)
		}
	}
	for at := found; ; at = filepath.Dir(at) {
		if w, ok := writer(at, policy.Write); ok {
			return fmt.Sprintf("%s may write to %s (%s)", w.Name, at, w.Rule)
		}
		if fileOnly || at == filepath.Dir(at) {
			return ""
		}
	}
}

// CheckRoots returns an error if a server could write or replace a file of the host's authorities that a
// variable names. Such a server could choose the certificates that the process trusts.
func CheckRoots(writer writerFunc) error {
	for name, value := range map[string]string{"SSL_CERT_FILE": os.Getenv("SSL_CERT_FILE"), "SSL_CERT_DIR": os.Getenv("SSL_CERT_DIR")} {
		for _, file := range filepath.SplitList(value) {
			if file == "" {
				continue
			}
			at, err := filepath.Abs(file)
			if err != nil {
				return err
			}
			found, links, _ := hostfs.ResolveLinks(at)
			if why := writer.threat(found, links, false); why != "" {
				return fmt.Errorf("the variable %s names %s, and %s, so it could choose the trusted certificates: keep them where no server may write", name, file, why)
			}
		}
	}
	return nil
}
