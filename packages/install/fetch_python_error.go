package install

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/policy"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// PythonError reports that pip or uv failed.
type PythonError struct {
	What      string // the package that the line names first
	Installer string // pip or uv
	Python    string // the version for which it was to install
	Status    int
	Output    string
	log       string // pip's own
}

var (
	noDistribution = lazy.Regexp(`No matching distribution found for ([^\n;]+)`)
	// The address of a file in the output of pip's log, sdist.py and uv.
	fileLink = lazy.Regexp("(?:Found link |Downloading |Failed to (?:fetch|download):? `?)(https?://[^\\s/\"'<>#`]+)")
)

// Each expression finds the words that pip and uv use for one reason.
var (
	noConnection  = lazy.Regexp(`NewConnectionError|Failed to establish|NameResolutionError|name resolution|ConnectTimeout|ReadTimeout|Read timed out|Network is unreachable|Connection refused|Connection reset|Connection aborted|ProtocolError|error sending request|dns error|Remote end closed`)
	indexHost     = lazy.Regexp(`host='([^'\s]{1,253})'|for url \(https?://(?:[^/@)\s]*@)?([^/)\s]{1,253})`)
	noAccess      = lazy.Regexp(`\b(401|403)\b[^\n]*(Unauthorized|Forbidden|Client Error)|status code 40[13]`)
	wrongHash     = lazy.Regexp(`DO NOT MATCH THE HASHES|Hash mismatch`)
	wrongPython   = lazy.Regexp(`require[sd]? a different [Pp]ython|Requires-Python|does not satisfy Python`)
	diskFull      = lazy.Regexp(`No space left on device|Disk quota exceeded`)
	sourceOnly    = lazy.Regexp(`No sources permitted for |has no usable wheels|building from source is disabled`)
	startsProgram = lazy.Regexp(`no program is started while packages are fetched`) // download.py
	noPip         = lazy.Regexp(`No module named pip`)
	conflict      = lazy.Regexp(`ResolutionImpossible|No solution found`)
	noSuchProject = lazy.Regexp(`404 Client Error|was not found in the package registry`)
)

func (e *PythonError) Error() string {
	all := e.Output + e.log
	what := e.What
	if m := e.missing(); m != "" && python.RequirementName(m) != python.RequirementName(what) {
		what += ", which needs " + m + ","
	}
	switch {
	case noPip().MatchString(all):
		return fmt.Sprintf("%s: Python %s has no pip, and uv was not found in PATH: packages of Python are fetched by one of them. Install uv, or pip for this Python (python3-pip)", what, e.Python)
	case startsProgram().MatchString(all):
		return what + ": it, or a package that it needs, is an archive of sources at an address. Only wheels are taken from addresses, because to look into sources runs their code"
	case diskFull().MatchString(all):
		return what + ": the disk is full. What was installed before is as it was, and what was fetched now is removed again. Free some space, or name another place for packages in the variable XDG_DATA_HOME"
	case wrongHash().MatchString(all):
		return what + ": a file from the index is not the one that the index or the lock file names (SHA-256). Nothing was installed"
	case noAccess().MatchString(all):
		return what + ": the index refuses access: check the address and the credentials of the index in the configuration of " + e.Installer
	case noConnection().MatchString(all):
		index := "the index"
		if m := indexHost().FindStringSubmatch(all); m != nil {
			index += " " + show.Name(m[1]+m[2])
		}
		return what + ": " + index + " cannot be reached (" + noConnection().FindString(all) + "). Try again when it can be reached"
	case e.needsPython():
		return fmt.Sprintf("%s has no version for Python %s: install a newer Python\n%s", what, e.Python, indent(tail(e.Output)))
	case e.needsSource():
		if e.Installer == "uv" {
			return what + " has no wheel for this machine, only a source distribution. With uv, mcp-jail takes wheels only: ask for a version that has one"
		}
		return what + " has no wheel for this machine, only a source distribution. To build it runs its code: mcp-jail install --install-scripts allows that, without a network"
	case noSuchProject().MatchString(all) || noDistribution().MatchString(all) && !conflict().MatchString(all):
		return what + " is not in the index, or not in this version: check the spelling of the package"
	}
	return fmt.Sprintf("%s: %s ended with status %d\n%s", what, e.Installer, e.Status, indent(tail(e.Output)))
}

func (e *PythonError) needsPython() bool {
	return !e.needsSource() && (noDistribution().MatchString(e.Output) || e.Installer == "uv") && wrongPython().MatchString(e.Output+e.log)
}

func (e *PythonError) missing() string {
	m := noDistribution().FindStringSubmatch(e.Output)
	if m == nil {
		return ""
	}
	text, _, _ := strings.Cut(m[1], " (from ")
	return strings.TrimSpace(text)
}

func (e *PythonError) needsSource() bool {
	if e.Installer == "pip" && e.missing() == "" {
		return false
	}
	return sourceOnly().MatchString(e.Output + e.log)
}

// fileHosts returns the hosts that the installer could not reach, that are not granted yet, and
// that a page of the index names for its files. Only the installer itself has run in the jail. A
// host that is an IP address or has no dot, such as a machine of the user's own network, is
// returned only if it is the host of an address that is granted already.
func (e *PythonError) fileHosts(granted []*url.URL) (out []*url.URL) {
	if !noConnection().MatchString(e.Output + e.log) {
		return nil
	}
	for _, m := range fileLink().FindAllStringSubmatch(e.Output+e.log, -1) {
		u, err := url.Parse(m[1])
		same := func(g *url.URL) bool { return g.Scheme == u.Scheme && g.Host == u.Host }
		if err != nil || u.Hostname() == "" || slices.ContainsFunc(granted, same) || slices.ContainsFunc(out, same) {
			continue
		}
		isAddress := net.ParseIP(u.Hostname()) != nil || !strings.Contains(u.Hostname(), ".")
		if isAddress && !slices.ContainsFunc(granted, func(g *url.URL) bool { return g.Hostname() == u.Hostname() }) {
			continue
		}
		out = append(out, &url.URL{Scheme: u.Scheme, Host: u.Host})
	}
	return out
}

func (p *pythonFetch) forget(hosts []*url.URL) {
	p.refused = slices.DeleteFunc(p.refused, func(d Refusal) bool {
		return d.Axis == policy.AxisNet && slices.ContainsFunc(hosts, func(u *url.URL) bool {
			host, port, err := net.SplitHostPort(d.Target)
			return d.Target == u.Hostname() || err == nil && port == portOf(u) && (host == u.Hostname() || host == "localhost")
		})
	})
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

func tail(text string) string {
	const lines = 8
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
