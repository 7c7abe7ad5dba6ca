package diagnostics

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Refused reports whether the diagnosis is about something that the policy refuses, and which a
// line of the policy or another remedy would change: the jail recorded it, or the server named it.
func (d Diagnosis) Refused() bool {
	return d.Cause != "" && (d.Attribution == Certain || d.Attribution == Likely) && len(d.Hints) > 0
}

// Summary returns the diagnosis as an error of a command: the sentence, and then the command that allows what was
// blocked.
func (d Diagnosis) Summary() string {
	return show.Cut(d.headline()+d.advice("\n"), maxHint)
}

// command returns the command that allows what the server lacked, or "" if there is none.
func (d Diagnosis) command() string {
	if !d.CanAllow() {
		return ""
	}
	if command, ok := show.TypedOK("mcp-jail grant", d.Server); ok {
		return command + " --last"
	}
	return ""
}

// causeText returns the cause as a sentence for an answer, or as the line of an error.
func (d Diagnosis) causeText() string {
	clause := d.clause()
	switch {
	case d.May != "":
		return "The jail blocked this: " + fullStop(d.May)
	case len(d.Hints) == 0 && d.Attribution != Likely && !d.Whole && clause == d.Cause:
		return d.Cause // a line of an error of mcp-jail
	}
	if strings.HasPrefix(clause, d.Server+" ") { // a name stays as it is written
		return fullStop(clause)
	}
	return sentence(clause)
}

// clause returns the cause as a part of a sentence. How sure it is, its verb says.
func (d Diagnosis) clause() string {
	switch {
	case d.Whole, d.Attribution == Likely && len(d.Hints) == 0: // it explains the failure otherwise
		return d.Cause
	case d.Attribution == Likely:
		return "the jail probably blocked this: " + d.Cause
	case d.Attribution == Possible:
		return "the jail may have blocked this: " + d.Cause
	case d.Attribution == None && d.Stage == StageCall:
		return "the jail blocked nothing here: " + d.Cause
	}
	return d.Cause
}

// advice says what to do: how the user allows what was blocked, or what else helps, with the page about it. A command
// is alone on its line where lines are kept apart.
func (d Diagnosis) advice(between string) (text string) {
	if d.Kept != "" {
		return between + "It is allowed by now, but " + fullStop(d.Kept)
	}
	if d.Asked {
		return between + "The next call of this tool asks the user here whether it may."
	}
	inner := strings.Replace(between, "\n", "\n  ", 1)
	fix, own := cutCommand(d.Advised())
	if fix != "" {
		text = between + sentence(fix)
	}
	if own != "" {
		return text + inner + own
	}
	if command := d.command(); command != "" {
		then := ", and you call the tool again:"
		if d.Stage == StageStartup || d.Stage == StageExec || d.Exit != nil || d.Signal != "" { // it does not run
			then = " and then restart the server:"
		}
		return text + between + "Only the user can allow it. They run this" + then + inner + command
	}
	switch {
	case d.Explain == "":
	case between == " ":
		text += d.Explain.Reference()
	default:
		text += between + "More:" + inner + d.Explain.command()
	}
	return text
}

// cutCommand cuts the command from the end of what to do. The rest keeps its colon.
func cutCommand(fix string) (text, command string) {
	at := max(strings.LastIndex(fix, ": mcp-jail "), strings.LastIndex(fix, ": command -v "), strings.LastIndex(fix, ": rm "))
	if at < 0 {
		return fix, ""
	}
	return fix[:at+1], fix[at+2:]
}

// sentence returns words as a sentence.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	if first, _, _ := strings.Cut(s, " "); !strings.ContainsAny(strings.TrimSuffix(first, ":"), `./\-_:"`) { // no name of a file or a program
		r, n := utf8.DecodeRuneInString(s)
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	return fullStop(s)
}

// fullStop ends a sentence, unless a command does: the stop would be typed along.
func fullStop(s string) string {
	last := s[strings.LastIndexByte(s, ' ')+1:]
	_, command := cutCommand(s)
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") || strings.HasPrefix(last, "-") || command != "" {
		return s
	}
	return s + "."
}
