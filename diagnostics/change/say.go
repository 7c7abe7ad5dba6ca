package change

import (
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Because says what speaks most against a change of the thing that is called name in a sentence, or "".
func (p Proposal) Because(name string) string {
	var all []string
	for _, r := range p.Reasons {
		if text := Because(r, name); !slices.Contains(all, text) {
			all = append(all, text)
		}
		name = "it"
	}
	return strings.Join(all, "; ")
}

// Because says what a reason is about the thing that is called name in a sentence.
func Because(r policy.Reason, name string) string {
	names := append(r.Names[:len(r.Names):len(r.Names)], "", "")
	switch r.Kind {
	case policy.WhyAllFiles:
		return name + " is a whole home directory, or more"
	case policy.WhyDecides:
		switch {
		case names[0] != "":
			return name + " decides what runs outside the jail: " + names[0] + ". A server that can change it could run anything"
		case names[1] != "":
			return name + givesControl(names[1])
		}
		return name + " decides what a jail grants, or what runs outside it"
	case policy.WhyHoldsDecider:
		return name + givesControl(names[0])
	case policy.WhyProtected, policy.WhyGitDir:
		return name + " is a protected file: programs outside the jail run or trust what is written there"
	case policy.WhyOfSystem:
		return name + " belongs to the system"
	case policy.WhyRaises:
		return name + " is a program that runs with the rights of another user"
	case policy.WhySensitive:
		return name + " is a sensitive file (" + names[0] + ")"
	case policy.WhyLogin:
		return name + " is a sensitive file (" + names[0] + "): whoever has it can log in as you"
	case policy.WhyCommands:
		return name + " is a socket of this machine: " + names[0]
	case policy.WhyKeyName:
		return name + " has the name of a file with a key or passwords"
	case policy.WhySocket:
		return name + " is a socket of this machine: the program that listens there is outside the jail"
	case policy.WhyOfOthers:
		return name + " belongs to the system, or to another user"
	case policy.WhyShared:
		return name + " holds the files of many programs"
	case policy.WhyChoosesCode:
		if names[0] != "" {
			return name + " gives control of " + names[0] + ": " + names[1] + ", outside the jail"
		}
		return name + " chooses what code programs load or start"
	case policy.WhyInHome:
		return name + " lies directly in your home directory, where it may hold the files of other programs"
	case policy.WhyAnyHost:
		return name + " is every host: the server can send what it reads anywhere"
	case policy.WhyProxy:
		return name + " is your proxy: through it the server reaches every host"
	case policy.WhyThisMachine:
		if names[0] == policy.ReasonMetadata {
			return name + " " + names[0] + ": the server could act as this machine"
		}
		return name + " " + names[0] + ": services there may trust all connections from this machine"
	case policy.WhyTokenName:
		return name + " may hold a token or password, which the server could send on"
	case policy.WhyOtherProgram:
		return "the server " + show.Name(names[0]) + " is started from " + show.Line(names[1])
	case policy.WhyBesideProgram:
		return name + " lies beside " + show.Line(names[1]) + ", from which the server " + show.Name(names[0]) + " is started"
	case policy.WhyLifts:
		return "it has a part of " + names[0] + " so far (" + strings.Join(r.Names[min(1, len(r.Names)):], ", ") + "), and gets all of it"
	}
	return ""
}

func givesControl(place string) string {
	return " gives control of " + place + ", which decides what a jail grants, or what runs outside it"
}

// Table returns rows in words: what a thing is, and what a server may do with it now and then. Of a host with both usual
// ports there is one row. short is what people call a path.
func Table(rows []Row, short func(string) string) (all [][3]string) {
	for _, r := range rows {
		name := r.called()
		switch {
		case r.Axis == policy.AxisFs:
			name = short(r.Name)
		case r.Axis == policy.AxisEnv:
			name = "variable " + name
		case r.Name == "":
			name = "inbound port " + name
		case r.Port == 80 || r.Port == 443:
			alone := r
			alone.Port = 80 + 443 - r.Port
			if slices.ContainsFunc(rows, func(o Row) bool { return reflect.DeepEqual(o, alone) }) {
				name = r.Name + ":80, :443"
			}
		}
		if row := [3]string{show.Line(name), r.Was.text(r.Axis), r.Is.text(r.Axis)}; !slices.Contains(all, row) {
			all = append(all, row)
		}
	}
	return all
}

func (g Gives) text(axis policy.Axis) string {
	switch {
	case axis == policy.AxisFs:
		return strings.Replace(g.Rights.String(), "read ", "read and ", 1)
	case !g.Has:
		return "no"
	case g.Only != nil:
		return show.Line("only " + strings.Join(g.Only, ", "))
	}
	return "yes"
}
