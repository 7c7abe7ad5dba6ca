package install

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/policy"
)

// pythonError reports that pip or uv failed, or that an index refused access.
type pythonError struct {
	What      string // the package that the line names first
	Installer string // pip or uv
	Python    string // the version for which it was to install
	Own       bool   // it had the user's logins
	Status    int
	Output    string
	Refused   []refusal // what the jail refused meanwhile
	log       string    // pip's own
}

// Each expression finds the words that pip and uv use for one reason.
var (
	noConnection = show.Pattern(`NewConnectionError|Failed to establish|NameResolutionError|name resolution|ConnectTimeout|ReadTimeout|Read timed out|` +
		`Network is unreachable|Connection refused|Connection reset|Connection aborted|ProtocolError|error sending request|dns error|Remote end closed`)
	indexHost = show.Pattern(`host='([^'\s]{1,253})'|for url:? \(?https?://(?:[^/@)\s]*@)?([^/)\s]{1,253})`)
	// refusedPage finds what pip writes to its log only: it goes on to the next index.
	refusedPage    = show.Pattern(`Could not fetch URL \S+: 40[13] Client Error`)
	noAccess       = show.Pattern(`\b(40[13])\b[^\n]*(?:Unauthorized|Forbidden|Client Error)|status code (40[13])`)
	noDistribution = show.Pattern(`No matching distribution found for ([^\n;]+)`)
	wrongHash      = show.Pattern(`DO NOT MATCH THE HASHES|Hash mismatch`)
	wrongPython    = show.Pattern(`require[sd]? a different [Pp]ython|Requires-Python|does not satisfy Python`)
	diskFull       = show.Pattern(`No space left on device|Disk quota exceeded`)
	sourceOnly     = show.Pattern(`No sources permitted for |has no usable wheels|building from source is disabled`)
	startsProgram  = show.Pattern(`Error [^\n]* while executing command`)
	noPip          = show.Pattern(`No module named pip`)
	conflict       = show.Pattern(`ResolutionImpossible|No solution found`)
	noSuchProject  = show.Pattern(`404 Client Error|was not found in the package registry`)
)

func (e *pythonError) Error() string {
	what := e.What
	if m := e.missing(); m != "" && python.RequirementName(m) != python.RequirementName(what) {
		what += ", which needs " + m + ","
	}
	said := func(reason func() *regexp.Regexp) bool { return reason().MatchString(e.Output + e.log) }
	foreign := e.foreign()
	switch {
	case said(noPip):
		return fmt.Sprintf("%s: Python %s has no pip, and there is no uv in PATH. One of them fetches packages of Python: install uv or python3-pip", what, e.Python)
	case said(diskFull):
		return what + ": the disk is full. What was installed before is as it was, and what was fetched now is removed. " +
			"Free some space, or name another place for packages in the variable XDG_DATA_HOME"
	case said(wrongHash):
		return what + ": a file is not the one that the index or the lock file names (SHA-256). Nothing was installed"
	case said(noAccess):
		return what + ": " + e.index(noAccess) + " refuses access. Nothing was installed. " + e.login()
	case said(startsProgram):
		return what + ": it, or a package that it needs, is an archive of sources at an address. To look into that runs its code"
	case foreign != "" && said(noConnection):
		return fmt.Sprintf("%[1]s: the index names %[2]s for its files. That is no index of your configuration, so access was refused. "+
			"If packages come from there, name the index on that host in your pip.conf, as extra-index-url", what, foreign)
	case said(noConnection):
		why := noConnection().FindString(e.Output + e.log)
		return what + ": " + e.index(noConnection) + " cannot be reached (" + why + "). Try again when it can be reached"
	case e.needsPython():
		return fmt.Sprintf("%s has no version for Python %s: install a newer Python\n%s", what, e.Python, indent(tail(e.Output)))
	case e.needsSource() && e.Installer == "uv":
		return what + " has no wheel for this machine, only a source distribution, and with uv none is built: ask for a version that has one"
	case e.needsSource():
		return what + " has no wheel for this machine, only a source distribution. " +
			"To build it runs its code: mcp-jail install --install-scripts allows that, without a network"
	case said(noSuchProject) || said(noDistribution) && !conflict().MatchString(e.Output):
		return what + " is not in the index, or not in this version: check the spelling of the package"
	}
	return fmt.Sprintf("%s: %s ended with status %d\n%s", what, e.Installer, e.Status, indent(tail(e.Output)))
}

// login says what to do about an index that refuses access.
func (e *pythonError) login() string {
	if !e.Own {
		return "The line is a project's, so your logins were not used"
	}
	return "Check its address and its login in the configuration of " + e.Installer + ", or in ~/.netrc"
}

// index names the index of the line in which an installer gives a reason.
func (e *pythonError) index(reason func() *regexp.Regexp) string {
	for line := range strings.Lines(e.Output + "\n" + e.log) {
		if m := indexHost().FindStringSubmatch(line); m != nil && reason().MatchString(line) {
			return "the index " + show.Name(m[1]+m[2])
		}
	}
	return "the index"
}

// foreign returns the host and port that the jail has refused to the installer, or "": an index names
// it for its files.
func (e *pythonError) foreign() string {
	at := slices.IndexFunc(e.Refused, func(r refusal) bool {
		return r.Axis == policy.AxisNet && r.Target != "" && r.Reason == policy.DeniedNotGranted
	})
	if at < 0 {
		return ""
	}
	return show.Name(strings.TrimSuffix(e.Refused[at].Target, ":443"))
}

func (e *pythonError) needsPython() bool {
	return !e.needsSource() && (noDistribution().MatchString(e.Output) || e.Installer == "uv") && wrongPython().MatchString(e.Output+e.log)
}

func (e *pythonError) needsSource() bool {
	return (e.Installer == "uv" || e.missing() != "") && sourceOnly().MatchString(e.Output+e.log)
}

// missing returns the requirement for which pip has found nothing, or "".
func (e *pythonError) missing() string {
	m := noDistribution().FindStringSubmatch(e.Output)
	if m == nil {
		return ""
	}
	text, _, _ := strings.Cut(m[1], " (from ")
	return strings.TrimSpace(text)
}

func tail(text string) string {
	const lines = 8
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
