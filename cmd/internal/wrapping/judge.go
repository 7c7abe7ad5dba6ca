package wrapping

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
)

// Verdict says how an entry starts its server.
type Verdict struct {
	Jailed  bool            // in a jail of this mcp-jail
	Unclear bool            // its command line says so, and something else of the entry could make it untrue
	Open    bool            // it starts a program without a jail, and wrap leaves it all the same
	Why     clients.Reason  // if it is not Jailed: why that is unclear, or why wrap leaves the entry
	Line    clients.Wrapped // of an entry that is Jailed or Unclear
	Repair  *Repair         // of one that is Unclear, if wrap mends that
}

// Reasons why it is unclear how an entry starts.
const (
	unknownStart clients.Reason = "has a program whose path only the client knows"
	startsAway   clients.Reason = "is started on another machine or in a container, and which mcp-jail is there is not known"
)

// startsNothing reports whether an entry is known to start no program. One that is not understood
// may start: a client can be more patient than mcp-jail is.
func (f *File) startsNothing(e Entry) bool {
	switch e.Left {
	case clients.NoCommand, clients.Disabled:
		return true
	case clients.Remote:
		return f.runsCommand(e) == ""
	}
	return false
}

// Judge returns how an entry of the file starts its server. It looks at the whole entry: its
// variables can make the command line start another program, or give mcp-jail another
// configuration. An entry of a project's file may set less than the user's own.
func (f *File) Judge(e Entry, program Program, host clients.Host) Verdict {
	line, ok := clients.ParseWrapped(e.Argv())
	j := judge{file: f, program: program, host: host}
	switch {
	case !ok && e.Left == clients.Remote && f.runsCommand(e) != "":
		return Verdict{Why: f.runsCommand(e), Open: true}
	case !ok && e.Left != "":
		return Verdict{Why: e.left(), Open: !f.startsNothing(e)}
	case !ok:
		// It would be wrapped, unless the decision finds a reason against it. What its server gets can be one
		// too, but takes milliseconds, and wrap says it.
		why := j.fixed(e)
		switch {
		case why != "":
		case f.IsProject():
			_, why = j.ofOthers(e, nil)
		default:
			why = j.check(e, nil)
		}
		return Verdict{Why: why, Open: why != ""}
	case e.Left == clients.Ambiguous || e.Left == clients.Beside || e.mixed != "":
		return Verdict{Unclear: true, Why: e.left(), Line: line}
	}
	v := Verdict{Jailed: true, Line: line}
	for _, s := range e.asRead() {
		why, repair := j.wrapped(s, line)
		if why != "" && (v.Jailed || repair == nil && v.Repair != nil) {
			v = Verdict{Unclear: true, Why: why, Line: line, Repair: repair}
		}
	}
	return v
}

// A judge looks at the entries of a file, as this host sees them.
type judge struct {
	file    *File
	program Program // this mcp-jail
	host    clients.Host
	unasked bool // see Selection
}

// wrapped returns why it is unclear how a wrapped entry starts, or "", and what wrap puts in order there.
func (j judge) wrapped(e Entry, line clients.Wrapped) (clients.Reason, *Repair) {
	why, repair := j.start(e, line)
	if j.file.IsProject() {
		repair = nil
	}
	if why != "" && repair == nil {
		return why, nil
	}
	var rest clients.Reason
	if e.Elsewhere != "" {
		rest = startsAway
	}
	if rest == "" {
		argv, _ := j.file.started(line.Argv, j.host)
		rest = clients.Reason(meaning.Carried(argv))
	}
	if rest == "" {
		flags, why := j.flags(e, line)
		rest = j.variables(e, line.Argv, why != "" || flags.Preset != "")
	}
	if rest == "" && j.file.IsProject() {
		rest = j.project(e, line)
	}
	switch {
	case rest == "":
		return why, repair
	case why == "":
		return rest, nil
	}
	return why + "; wrap does not put this program there, because the entry " + rest, nil
}

func (s Entry) left() clients.Reason {
	switch {
	case s.mixed != "" && s.Left != clients.Ambiguous:
		return s.mixed
	case s.Left == clients.Ambiguous:
		return s.Left + ": " + clients.Reason(s.Detail)
	case s.Detail != "":
		return s.Left + " (" + clients.Reason(s.Detail) + ")"
	}
	return s.Left
}

func replacesBefore(c clients.Client, word string, n int) bool {
	refs := c.References(word)
	return len(refs) > 0 && strings.Index(word, refs[0].Text) < n
}
