package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzer holds mentions and denials against the profile.
type analyzer struct {
	ev      *Evidence
	profile *policy.Profile // never nil: an empty one when the evidence has none
	writer  grantWriter

	ownLines       int  // how many of the lines are the failure's own text
	mentionsSQLite bool // which speaks of SQLite
}

// finding is what the judge found about one name. At most one of blamed and note
// is set; neither when the name means nothing.
type finding struct {
	refused bool
	hint    Hint
	grant   grant
	// note says why the policy is not to blame, where that helps: the file does
	// not exist on the host either, the policy does grant the host.
	note string
	fix  string
	// ours: the note is about the policy or the session, and worth saying although the
	// server has answered.
	aboutPolicy bool
}

func newAnalyzer(ev *Evidence) *analyzer {
	ev.Redactor = ev.redactor()
	a := &analyzer{ev: ev, profile: ev.Profile, writer: newGrantWriter(ev)}
	if a.profile == nil {
		a.profile = &policy.Profile{}
	}
	a.writer.writeForbidden = a.writeForbidden
	return a
}

// analyzeReference judges one name of a text. Without a profile nothing is known to be
// refused, and so nothing is blamed.
func (a *analyzer) analyzeReference(ref reference) finding {
	if a.ev.Profile == nil {
		return finding{}
	}
	switch ref.kind {
	case refPath:
		return a.analyzePath(ref)
	case refHost:
		return a.analyzeHost(ref)
	case refVariable:
		return a.analyzeVariable(ref)
	case refProgram:
		return a.analyzeProgram(ref)
	case refRepository:
		return a.analyzeGitSearch(ref.name)
	}
	return finding{}
}

// attribute makes the verdict that target is refused.
func (a *analyzer) attribute(sure Attribution, axis policy.Axis, target, missing, cause string, n grant) finding {
	return finding{refused: true, grant: n, hint: Hint{Attribution: sure, Axis: axis, Target: target, Missing: missing, Cause: cause}}
}

// show is a path in the words of the configuration, harmless and in quotes.
func (a *analyzer) show(path string) string { return a.quote(a.writer.display(path)) }

// quote is quote without the values of secrets: the judge sees them, for what is judged
// must be the name that was meant.
func (a *analyzer) quote(s string) string { return quote(a.ev.Redactor.Redact(s)) }

// serverSaid is what the server said, in short.
func (a *analyzer) serverSaid(line string) string {
	return "the server said " + quote(cut(a.ev.Redactor.Redact(line), 200))
}

// revealsSecret tells whether the lines for a need would show the value of a variable.
func (a *analyzer) revealsSecret(n grant) bool {
	for _, line := range append(a.writer.block(n), a.writer.display(n.path), n.endpoint()) {
		if a.ev.Redactor.Redact(line) != line {
			return true
		}
	}
	return false
}

// absolute is the path that a text means; ok is false when it means none.
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

// canonical is what path leads to: through the links that exist in the jail,
// and through those of the host where it can be asked.
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

// existence is a yes, a no, or that nobody could be asked.
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
