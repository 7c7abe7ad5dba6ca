package wrapping

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
)

// Verdict says how an entry starts its server.
type Verdict struct {
	State State
	Why   clients.Reason  // of all but Jailed and Unjailed
	Line  clients.Wrapped // of an entry whose command line starts mcp-jail
}

// State is what a client starts for an entry.
type State int

// The states of an entry. The first four are of one whose command line starts mcp-jail.
const (
	Unclear  State = iota // perhaps a server without this jail
	Stale                 // another mcp-jail: wrap puts this one there
	Gone                  // a mcp-jail that does not exist any more: wrap puts this one there
	Jailed                // a server in a jail of this mcp-jail
	Unjailed              // a server without a jail: wrap puts it into one
	Skipped               // a server without a jail: wrap leaves it
	Inactive              // nothing
)

// IsWrapped reports whether the command line of an entry starts mcp-jail.
func (v Verdict) IsWrapped() bool { return v.State <= Jailed }

// IsUnclear reports whether that server may start without this jail, or not at all.
func (v Verdict) IsUnclear() bool { return v.State < Jailed }

// IsRepaired reports whether wrap puts this mcp-jail in the place of another one.
func (v Verdict) IsRepaired() bool { return v.State == Stale || v.State == Gone }

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
	line, wrapped := clients.ParseWrapped(e.Argv())
	j := judge{file: f, program: program, host: host}
	v := Verdict{State: Jailed}
	switch {
	case !wrapped:
		return j.unwrapped(e)
	case e.Left == clients.Ambiguous || e.Left == clients.Beside || e.mixed != "":
		v = Verdict{Why: e.left()}
	default: // each client that reads it counts, and the worst reading
		for _, s := range e.asRead() {
			if as := j.wrapped(s, line); v.State == Jailed || v.IsRepaired() && as.State == Unclear {
				v = as
			}
		}
	}
	v.Line = line
	return v
}

// A judge looks at the entries of a file, as this host sees them.
type judge struct {
	file    *File
	program Program // this mcp-jail
	host    clients.Host
	unasked bool // see Selection
}

// unwrapped returns how an entry starts that wrap has not changed. What its server would get can be a reason to leave it,
// too, but takes milliseconds, and wrap says it.
func (j judge) unwrapped(e Entry) Verdict {
	switch {
	case j.file.startsNothing(e):
		return Verdict{State: Inactive, Why: e.left()}
	case e.Left == clients.Remote:
		return Verdict{State: Skipped, Why: j.file.runsCommand(e)}
	}
	alone := func(e Entry) clients.Reason { return j.check(e, nil) }
	if j.file.IsProject() {
		alone = func(e Entry) (why clients.Reason) { _, why = j.ofOthers(e, nil); return why }
	}
	for _, check := range []func(Entry) clients.Reason{Entry.left, j.fixed, alone} {
		if why := check(e); why != "" {
			return Verdict{State: Skipped, Why: why}
		}
	}
	return Verdict{State: Unjailed}
}

// wrapped returns how a wrapped entry starts. Wrap repairs none of which something else is unclear.
func (j judge) wrapped(e Entry, line clients.Wrapped) Verdict {
	v := j.start(e, line)
	if v.State == Unclear {
		return v
	}
	for _, check := range []func(Entry, clients.Wrapped) clients.Reason{j.carried, j.steered, j.project} {
		switch why := check(e, line); {
		case why != "" && v.Why != "":
			return Verdict{Why: v.Why + "; wrap does not put this program there, because the entry " + why}
		case why != "":
			return Verdict{Why: why}
		}
	}
	return v
}

// carried returns what starts the server of a wrapped entry elsewhere, or "".
func (j judge) carried(e Entry, line clients.Wrapped) clients.Reason {
	if e.Elsewhere != "" {
		return startsAway
	}
	argv, _ := j.file.started(line.Argv, j.host)
	return clients.Reason(meaning.Carried(argv))
}

// steered returns why the variables of a wrapped entry act on mcp-jail itself, or "".
func (j judge) steered(e Entry, line clients.Wrapped) clients.Reason {
	flags, why := j.flags(e, line)
	return j.variables(e, line.Argv, why != "" || flags.Preset != "")
}

func (s Entry) left() clients.Reason {
	switch {
	case s.mixed != "" && s.Left != clients.Ambiguous:
		return s.mixed
	case s.Left == clients.Ambiguous:
		return s.Left + ": " + clients.Reason(s.Detail)
	case s.Left != "" && s.Detail != "":
		return s.Left + " (" + clients.Reason(s.Detail) + ")"
	}
	return s.Left
}

func replacesBefore(c clients.Client, word string, n int) bool {
	refs := c.References(word)
	return len(refs) > 0 && strings.Index(word, refs[0].Text) < n
}
