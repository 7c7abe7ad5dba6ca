package install

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// PythonError reports that pip or uv failed.
type PythonError struct {
	What      string // the package that the line names
	Installer string // pip or uv
	Python    string // the version for which it was to install
	Status    int
	Output    string
	log       string // pip's own
	refused   []policy.Denial
}

var (
	noDistribution = regexp.MustCompile(`No matching distribution found for ([^\s(;]+)`)
	address        = regexp.MustCompile(`https?://[^\s/"'<>#]+`)
)

// Words that pip and uv use for one reason.
var (
	unreachable   = regexp.MustCompile(`NewConnectionError|Failed to establish|NameResolutionError|name resolution|ConnectTimeout|ReadTimeout|Read timed out|Network is unreachable|Connection refused|Connection reset|Connection aborted|ProtocolError|error sending request|dns error|Remote end closed`)
	noAccess      = regexp.MustCompile(`\b(401|403)\b[^\n]*(Unauthorized|Forbidden|Client Error)|status code 40[13]`)
	wrongHash     = regexp.MustCompile(`DO NOT MATCH THE HASHES|Hash mismatch`)
	wrongPython   = regexp.MustCompile(`require[sd]? a different [Pp]ython|Requires-Python|does not satisfy Python`)
	diskFull      = regexp.MustCompile(`No space left on device`)
	sourceOnly    = regexp.MustCompile(`No sources permitted for |has no usable wheels|building from source is disabled`)
	noPip         = regexp.MustCompile(`No module named pip`)
	conflict      = regexp.MustCompile(`ResolutionImpossible|No solution found`)
	noSuchProject = regexp.MustCompile(`404 Client Error|was not found in the package registry`)
)

func (e *PythonError) Error() string {
	all := e.Output + e.log
	what := e.What
	if m := noDistribution.FindStringSubmatch(all); m != nil && m[1] != what {
		what += ", which needs " + m[1]
	}
	switch {
	case noPip.MatchString(all):
		return fmt.Sprintf("%s: Python %s has no pip, and uv was not found in PATH: packages of Python are fetched by one of them. Install uv, or pip for this Python (python3-pip)", what, e.Python)
	case diskFull.MatchString(all):
		return what + ": the disk is full. What was installed before is as it was"
	case wrongHash.MatchString(all):
		return what + ": a file from the index is not the one that the index or the lock file names (SHA-256). Nothing was installed"
	case noAccess.MatchString(all):
		return what + ": the index refuses access: check the address and the credentials of the index in the configuration of " + e.Installer
	case unreachable.MatchString(all):
		return what + ": the index cannot be reached. The next start tries again"
	case e.needsPython():
		return fmt.Sprintf("%s has no version for Python %s: install a newer Python\n%s", what, e.Python, indent(tail(e.Output)))
	case e.needsSource():
		return what + " has no wheel for this machine, only a source distribution. To build it runs its code: install_scripts = true allows that, without a network"
	case noSuchProject.MatchString(all) || noDistribution.MatchString(all) && !conflict.MatchString(all):
		return what + " is not in the index, or not in this version: check the spelling of the package"
	}
	return fmt.Sprintf("%s: %s ended with status %d\n%s", what, e.Installer, e.Status, indent(tail(e.Output)))
}

// needsPython reports whether the package exists, but not for this Python.
func (e *PythonError) needsPython() bool {
	return !e.needsSource() && (noDistribution.MatchString(e.Output) || e.Installer == "uv") && wrongPython.MatchString(e.Output+e.log)
}

// needsSource reports whether a package exists only as a source distribution.
func (e *PythonError) needsSource() bool {
	if m := noDistribution.FindStringSubmatch(e.Output); e.Installer == "pip" && m == nil {
		return false
	}
	return sourceOnly.MatchString(e.Output + e.log)
}

// fileHosts returns the hosts that the jail refused and that pip's log or uv's output names in
// the address of a file. Only the installer has run in the jail, so these are those that the
// pages of the index have named.
func (e *PythonError) fileHosts() (out []*url.URL) {
	for _, d := range e.refused {
		if d.Axis != policy.AxisNet || d.Reason != policy.DeniedNotGranted {
			continue
		}
		for _, text := range address.FindAllString(e.Output+e.log, -1) {
			u, err := url.Parse(text)
			if err != nil || u.Hostname() == "" {
				continue
			}
			same := d.Target == u.Hostname() || d.Target == net.JoinHostPort(u.Hostname(), portOf(u)) || d.Target == u.Host
			if same && !slices.ContainsFunc(out, func(o *url.URL) bool { return o.Host == u.Host && o.Scheme == u.Scheme }) {
				out = append(out, &url.URL{Scheme: u.Scheme, Host: u.Host})
			}
		}
	}
	return out
}

// portOf returns the port of an address.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// forget removes what the jail refused before a host was granted.
func (p *pythonFetch) forget(hosts []*url.URL) {
	p.refused = slices.DeleteFunc(p.refused, func(d policy.Denial) bool {
		return slices.ContainsFunc(hosts, func(u *url.URL) bool { return strings.HasPrefix(d.Target, u.Hostname()) })
	})
}
