package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzer compares evidence with the profile.
type analyzer struct {
	ev      *Evidence
	profile *policy.Profile // never nil; empty when the evidence has none
	writer  grantWriter
	escaped said.Escapes

	ownLines       int  // number of lines that are text of the failure
	mentionsSQLite bool // the text of the failure mentions SQLite
}

// finding is the result of analyzing one name. refused and note exclude each other. Both
// are unset when the name tells nothing.
type finding struct {
	refused bool // the policy refuses the name
	hint    Hint
	grant   grant
	// note tells, without a refusal, why the policy is not the cause (the file does not exist on the
	// host either, or the policy grants the host), or what a possible cause is.
	note string
	fix  string
	// inTable means that the configuration has the table of the grant's lines already, so that they
	// cannot be pasted at its end.
	inTable bool
	// aboutPolicy means that note concerns the policy or the session, and is shown even
	// though the server has responded.
	aboutPolicy bool
}

func newAnalyzer(ev *Evidence) *analyzer {
	ev.Redactor = ev.redactor()
	a := &analyzer{ev: ev, profile: ev.Profile, writer: newGrantWriter(ev), escaped: said.Escapes{}}
	if a.profile == nil {
		a.profile = &policy.Profile{}
	}
	a.writer.writeForbidden = a.writeForbidden
	return a
}

// analyzeReference analyzes one name of a text. Without a profile nothing is known to be
// refused.
func (a *analyzer) analyzeReference(ref said.Reference) finding {
	if a.ev.Profile == nil {
		return finding{}
	}
	switch ref.Kind {
	case said.Path:
		return a.analyzePath(ref)
	case said.Host:
		return a.analyzeHost(ref)
	case said.Variable:
		return a.analyzeVariable(ref)
	case said.Program:
		return a.analyzeProgram(ref)
	case said.Repository:
		return a.analyzeGitSearch(ref.Name)
	}
	return finding{}
}

// attribute returns the finding that target is refused.
func (a *analyzer) attribute(sure Attribution, axis policy.Axis, target, missing, cause string, n grant) finding {
	return finding{refused: true, grant: n, hint: Hint{Attribution: sure, Axis: axis, Target: target, Missing: missing, Cause: cause}}
}

// show returns a path as the configuration writes it, sanitized and in quotes.
func (a *analyzer) show(path string) string { return a.quote(a.writer.display(path)) }

// quote quotes s without the values of secrets. The analyzer works on unredacted names,
// because a redacted name would match another rule.
func (a *analyzer) quote(s string) string { return show.Quote(a.ev.Redactor.Redact(s)) }

// serverSaid returns a shortened quotation of a server's line.
func (a *analyzer) serverSaid(line string) string {
	said := a.ev.Redactor.Redact(line)
	if marked, ok := a.escaped[line]; ok && said == line {
		marked, _, _ = strings.Cut(marked, "\n")
		said = strings.ReplaceAll(marked, "\x1b", "")
	}
	return "the server said " + show.Quote(show.Cut(said, 200))
}

// revealsSecret reports whether the lines for a grant would contain the value of a secret.
func (a *analyzer) revealsSecret(n grant) bool {
	for _, line := range append(a.writer.block(n), a.writer.display(n.path), n.endpoint()) {
		if a.ev.Redactor.Redact(line) != line {
			return true
		}
	}
	return false
}

// absolute returns the absolute path that a name in a text means. ok is false when it
// means none.
func (a *analyzer) absolute(name string) (path string, ok bool) {
	name = strings.TrimPrefix(name, "file://")
	switch {
	case name == "" || len(name) > 4096 || strings.ContainsRune(name, 0):
		return "", false
	case name == "~" || strings.HasPrefix(name, "~/"):
		if a.ev.UserHome == "" {
			return "", false
		}
		name = filepath.Join(a.ev.UserHome, strings.TrimPrefix(name, "~"))
	case !filepath.IsAbs(name):
		if a.profile.Dir == "" {
			return "", false
		}
		name = filepath.Join(a.profile.Dir, name)
	}
	return filepath.Clean(name), true
}

// canonical resolves path through the links in the jail and, where the host can be asked,
// through those of the host.
func (a *analyzer) canonical(path string) string {
	for range 8 { // links may lead to links
		next := path
		for _, l := range a.profile.Links {
			if policy.Within(path, l.Path) {
				target := l.Target
				if !filepath.IsAbs(target) {
					target = filepath.Join(filepath.Dir(l.Path), target)
				}
				next = filepath.Join(target, path[len(l.Path):])
				break
			}
		}
		if next == path {
			break
		}
		path = next
	}
	if a.ev.Canonical != nil {
		if c := a.ev.Canonical(path); filepath.IsAbs(c) {
			return filepath.Clean(c)
		}
	}
	return path
}

// existence is yes, no or unknown.
type existence uint8

const (
	unknown existence = iota
	absent
	present
)

func (a *analyzer) exists(path string) existence {
	switch {
	case a.ev.Exists == nil:
		return unknown
	case a.ev.Exists(path):
		return present
	}
	return absent
}
