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
	j := &analyzer{ev: ev, profile: ev.Profile, writer: newGrantWriter(ev)}
	if j.profile == nil {
		j.profile = &policy.Profile{}
	}
	j.writer.writeForbidden = j.writeForbidden
	return j
}

// analyzeReference judges one name of a text. Without a profile nothing is known to be
// refused, and so nothing is blamed.
func (j *analyzer) analyzeReference(m reference) finding {
	if j.ev.Profile == nil {
		return finding{}
	}
	switch m.kind {
	case refPath:
		return j.analyzePath(m)
	case refHost:
		return j.analyzeHost(m)
	case refVariable:
		return j.analyzeVariable(m)
	case refProgram:
		return j.analyzeProgram(m)
	case refRepository:
		return j.analyzeGitSearch(m.name)
	}
	return finding{}
}

// attribute makes the verdict that target is refused.
func (j *analyzer) attribute(a Attribution, axis policy.Axis, target, missing, cause string, n grant) finding {
	return finding{refused: true, grant: n, hint: Hint{Attribution: a, Axis: axis, Target: target, Missing: missing, Cause: cause}}
}

// show is a path in the words of the configuration, harmless and in quotes.
func (j *analyzer) show(path string) string { return j.quote(j.writer.display(path)) }

// quote is quote without the values of secrets: the judge sees them, for what is judged
// must be the name that was meant.
func (j *analyzer) quote(s string) string { return quote(j.ev.Redactor.Redact(s)) }

// serverSaid is what the server said, in short.
func (j *analyzer) serverSaid(line string) string {
	return "the server said " + quote(cut(j.ev.Redactor.Redact(line), 200))
}

// revealsSecret tells whether the lines for a need would show the value of a variable.
func (j *analyzer) revealsSecret(n grant) bool {
	for _, line := range append(j.writer.block(n), j.writer.display(n.path), n.endpoint()) {
		if j.ev.Redactor.Redact(line) != line {
			return true
		}
	}
	return false
}

// absolute is the path that a text means; ok is false when it means none.
func (j *analyzer) absolute(name string) (path string, ok bool) {
	name = strings.TrimPrefix(name, "file://")
	switch {
	case name == "" || len(name) > 4096 || strings.ContainsRune(name, 0):
		return "", false
	case name == "~" || strings.HasPrefix(name, "~/"):
		if j.ev.UserHome == "" {
			return "", false
		}
		name = filepath.Join(j.ev.UserHome, strings.TrimPrefix(name, "~"))
	case !filepath.IsAbs(name):
		if j.profile.Dir == "" {
			return "", false
		}
		name = filepath.Join(j.profile.Dir, name)
	}
	return filepath.Clean(name), true
}

// canonical is what path leads to: through the links that exist in the jail,
// and through those of the host where it can be asked.
func (j *analyzer) canonical(path string) string {
	for range 8 { // links may lead to links
		next := path
		for _, l := range j.profile.Links {
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
	if j.ev.Canonical != nil {
		if c := j.ev.Canonical(path); filepath.IsAbs(c) {
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

func (j *analyzer) exists(path string) existence {
	switch {
	case j.ev.Exists == nil:
		return unknown
	case j.ev.Exists(path):
		return present
	}
	return absent
}
