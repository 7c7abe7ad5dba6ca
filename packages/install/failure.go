package install

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// FetchError reports that npm failed.
type FetchError struct {
	Package  string // as it was asked for
	Script   string // NAME@VERSION of the package whose script failed; "" if it was no script
	Status   int
	Output   []string // the last lines that npm printed, without secrets
	Code     string   // npm's name of the error, such as E404; "" if it gave none
	Refused  []refusal
	Registry []string // the hosts that the installation reaches
	Asked    string   // the words after "mcp-jail install" that fetch it with the user's logins; "" if they were used
}

// npmCode finds npm's name of an error.
var npmCode = show.Pattern(`^npm (?:error|ERR!) code (\S+)`)

func codeOf(lines []string) string {
	for _, line := range lines {
		if m := npmCode().FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}

func (e *FetchError) Error() string {
	if e.Script != "" {
		return fmt.Sprintf("%s: the install script of %s failed with status %d. It runs without a network. %s\n%s", e.Package, e.Script, e.Status, e.attempts(), e.tail())
	}
	if address := e.foreign(); address != "" {
		return fmt.Sprintf("%s: the registry (%s) sends npm to %s, which npm's configuration does not name as a registry. The installation was refused access to it. If packages come from there, name it as the registry of some scope: npm config set @packages-from:registry %s", e.Package, strings.Join(e.Registry, ", "), address, address)
	}
	if meaning := known[e.Code]; meaning != "" {
		text := fmt.Sprintf(meaning, e.Package)
		if meaning == forbidden {
			if e.Asked == "" {
				text += ". Log in there with npm login --registry URL, then try again"
			}
			text += ". Asked were: " + strings.Join(e.Registry, ", ")
		}
		return text + " (" + e.Code + e.more() + ")" + e.withoutLogin()
	}
	if e.Code == "" {
		return fmt.Sprintf("%s: npm ended with status %d\n%s", e.Package, e.Status, e.tail())
	}
	return fmt.Sprintf("%s: npm failed with %s: %s", e.Package, e.Code, e.first())
}

// npmLine finds what npm says in a line of an error.
var npmLine = show.Pattern(`^npm (?:error|ERR!) +(\S.*)`)

// first returns the first line in which npm says more than the name of the error. Its usage may follow.
func (e *FetchError) first() string {
	for _, line := range e.Output {
		if m := npmLine().FindStringSubmatch(line); m != nil && codeOf([]string{line}) == "" {
			return m[1]
		}
	}
	return e.tail()
}

// withoutLogin says, of an answer that a login may change, that none was used.
func (e *FetchError) withoutLogin() string {
	if e.Asked == "" || known[e.Code] != forbidden && e.Code != "E404" {
		return ""
	}
	return ". No login of yours was used, because the line is not one of your own configuration. To fetch it with them: mcp-jail install " + e.Asked
}

const (
	unreachable = "%s was not downloaded, because the registry did not answer. What was downloaded is kept, and the next try goes on with it"
	forbidden   = "the registry refused to give out %s, or a package that it needs"
	repository  = "%s, or a package that it needs, is a git repository, and mcp-jail downloads from registries only"
	certificate = "%s was not downloaded, because npm does not trust the registry's certificate. If your organisation has its own authority: npm config set cafile FILE"
)

// known maps npm's name of an error to its meaning, with a place for the name of the package.
var known = map[string]string{
	"E404":       "the registry has no package %q, or none that it needs. Check the spelling. Do not try similar names at random: attackers publish under them",
	"ETARGET":    "the registry has no such version of %s, or of a package that it needs",
	"EINTEGRITY": "%s was not installed: a file from the registry is not the one that its metadata names",
	"E401":       forbidden, "E403": forbidden, "ENEEDAUTH": forbidden,
	"ENOSPC":       "%s was not installed: the disk is full. What was installed before is as it was. Free some space, or name another place for packages in the variable XDG_DATA_HOME",
	"EDQUOT":       "%s was not installed: your quota of the disk is used up. What was installed before is as it was. Free some space",
	"EBADENGINE":   "%s does not run on this version of node",
	"EALLOWGIT":    repository,
	"EBADPLATFORM": "%s, or a package that it needs, is not for this system",
	"EAI_AGAIN":    unreachable, "ENOTFOUND": unreachable, "ECONNREFUSED": unreachable, "ECONNRESET": unreachable, "ETIMEDOUT": unreachable,
	"ERR_SOCKET_TIMEOUT": unreachable, "ENETUNREACH": unreachable, "EHOSTUNREACH": unreachable, "EIDLETIMEOUT": unreachable, "ERR_SOCKET_CONNECTION_TIMEOUT": unreachable,
	"SELF_SIGNED_CERT_IN_CHAIN": certificate, "DEPTH_ZERO_SELF_SIGNED_CERT": certificate, "UNABLE_TO_VERIFY_LEAF_SIGNATURE": certificate,
	"UNABLE_TO_GET_ISSUER_CERT_LOCALLY": certificate, "CERT_HAS_EXPIRED": certificate, "ERR_TLS_CERT_ALTNAME_INVALID": certificate, "UNABLE_TO_GET_ISSUER_CERT": certificate,
}

// npmSaid finds the line in which npm says what the error is about.
var npmSaid = show.Pattern(`^npm (?:error|ERR!) (?:404|notarget|network request to|request to|Verification failed|sha512|[0-9]{3} )`)

func (e *FetchError) more() string {
	for _, line := range e.Output {
		if npmSaid().MatchString(line) {
			_, text, _ := strings.Cut(line, " ")
			_, text, _ = strings.Cut(text, " ")
			return ": " + strings.TrimSpace(text)
		}
	}
	return ""
}

// npmRequest finds the address of a request that failed.
var npmRequest = show.Pattern(`\brequest to (https?://[^/\s]+/)`)

// foreign returns the address of a host that is no registry and that the jail refused to npm, or
// "".
func (e *FetchError) foreign() string {
	refused := slices.IndexFunc(e.Refused, func(r refusal) bool {
		return r.Axis == policy.AxisNet && (r.Operation == "connect" || r.Operation == "resolve") && r.Target != ""
	})
	if refused < 0 {
		return ""
	}
	for _, line := range e.Output {
		if m := npmRequest().FindStringSubmatch(line); m != nil {
			if u, err := url.Parse(m[1]); err == nil && !slices.Contains(e.Registry, u.Host) {
				return m[1]
			}
		}
	}
	r := e.Refused[refused]
	if r.Reason != policy.DeniedNotGranted {
		return ""
	}
	return "https://" + strings.TrimSuffix(r.Target, ":443") + "/"
}

func (e *FetchError) attempts() string {
	var all []string
	for _, r := range e.Refused {
		all = append(all, r.String()+".")
	}
	return strings.Join(all[:min(len(all), maxChanges)], " ")
}

func (e *FetchError) tail() string {
	const lines = 8
	return strings.Join(e.Output[max(0, len(e.Output)-lines):], "\n")
}

// refusal is an attempt that the jail of an installation has refused.
type refusal struct {
	Installer string // "npm", "pip" or "uv", which made the attempt if no script did
	Package   string // NAME@VERSION, of Python only NAME, whose script it was; "" if it was none
	policy.Denial
}

// String returns the refusal as a sentence.
func (r refusal) String() string {
	subject := r.Installer
	if r.Package != "" {
		subject = "the install script of " + r.Package
	}
	times := ""
	if r.Count > 1 {
		times = fmt.Sprintf(" (%d times)", r.Count)
	}
	return subject + " tried " + attempt(r.Denial) + times + ": refused"
}

// attempt returns the attempt in words. It quotes the target: a package has chosen that name, and a
// terminal shows it.
func attempt(d policy.Denial) string {
	target := strconv.Quote(d.Target)
	if d.Target == "" {
		target = "something"
	}
	switch d.Operation {
	case "connect":
		return "to connect to " + target
	case "send":
		return "to send to " + target
	case "resolve":
		return "to look up the name " + target
	case "exec":
		return "to start " + target
	case "mkdir":
		return "to make the directory " + target
	case "read", "create", "write", "truncate", "remove", "rename", "link":
		return "to " + d.Operation + " " + target
	case "":
		return "to use " + target
	}
	return d.Operation + " of " + target
}

func refusals(installer, pkg string, denials []policy.Denial) (out []refusal) {
	for _, d := range denials {
		// Without namespaces refused reads are known. npm and pip look at much, and scripts use them.
		if d.Operation == "read" && (pkg == "" || d.Target == "/etc") {
			continue
		}
		out = append(out, refusal{installer, pkg, d})
	}
	return out
}
