package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// judge holds mentions and denials against the profile.
type judge struct {
	ev      *Evidence
	profile *policy.Profile // never nil: an empty one when the evidence has none
	advice  advice

	near     int  // how many of the lines are the failure's own text
	database bool // which speaks of SQLite
}

// verdict is what the judge found about one name. At most one of blamed and note
// is set; neither when the name means nothing.
type verdict struct {
	blamed bool
	hint   Hint
	need   need
	// note says why the policy is not to blame, where that helps: the file does
	// not exist on the host either, the policy does grant the host.
	note string
	fix  string
	// ours: the note is about the policy or the session, and worth saying although the
	// server has answered.
	ours bool
}

func newJudge(ev *Evidence) *judge {
	ev.Redactor = ev.redactor()
	j := &judge{ev: ev, profile: ev.Profile, advice: adviceFor(ev)}
	if j.profile == nil {
		j.profile = &policy.Profile{}
	}
	j.advice.untouchable = j.untouchable
	return j
}

// mention judges one name of a text. Without a profile nothing is known to be
// refused, and so nothing is blamed.
func (j *judge) mention(m mention) verdict {
	if j.ev.Profile == nil {
		return verdict{}
	}
	switch m.kind {
	case mentionPath:
		return j.path(m)
	case mentionHost:
		return j.host(m)
	case mentionVariable:
		return j.variable(m)
	case mentionProgram:
		return j.program(m)
	case mentionWorkspace:
		return j.workspace(m.name)
	}
	return verdict{}
}

// blame makes the verdict that target is refused.
func (j *judge) blame(a Attribution, axis policy.Axis, target, missing, cause string, n need) verdict {
	return verdict{blamed: true, need: n, hint: Hint{Attribution: a, Axis: axis, Target: target, Missing: missing, Cause: cause}}
}

// show is a path in the words of the configuration, harmless and in quotes.
func (j *judge) show(path string) string { return j.quote(j.advice.display(path)) }

// quote is quote without the values of secrets: the judge sees them, for what is judged
// must be the name that was meant.
func (j *judge) quote(s string) string { return quote(j.ev.Redactor.Redact(s)) }

// said is what the server said, in short.
func (j *judge) said(line string) string {
	return "the server said " + quote(cut(j.ev.Redactor.Redact(line), 200))
}

// hides tells whether the lines for a need would show the value of a variable.
func (j *judge) hides(n need) bool {
	for _, line := range append(j.advice.block(n), j.advice.display(n.path), n.endpoint()) {
		if j.ev.Redactor.Redact(line) != line {
			return true
		}
	}
	return false
}

// absolute is the path that a text means; ok is false when it means none.
func (j *judge) absolute(name string) (path string, ok bool) {
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
func (j *judge) canonical(path string) string {
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

func (j *judge) exists(path string) existence {
	switch {
	case j.ev.Exists == nil:
		return unknown
	case j.ev.Exists(path):
		return present
	}
	return absent
}
