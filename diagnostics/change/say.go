package change

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// then says what a server can do with what it gets, after "can". Of what lies in a directory it says it if nothing speaks
// against that. "" means that the rows say it. short is what people call a path.
func (p Proposal) then(short func(string) string) string {
	o, rights, inside := p.Object, p.Object.Fs.Rights(), false
	name := o.Name()
	if o.Fs.Path != "" {
		name = short(name)
	}
	name = show.Line(name)
	for _, r := range p.Rows {
		inside = inside || r.Dir && p.verdict > Apart
		if o.Setting.Key == "workspace" {
			rights |= r.Is.Rights
		}
	}
	writes, runs := rights&policy.Write != 0, rights.Has(policy.Execute)
	switch {
	case o.Setting == Setting{"home", "real"}:
		return "see the name of your home folder, but no more files in it"
	case o.Net.Host == "*":
		return "send everything that it can read to any host"
	case o.Net.Host != "":
		return "send everything that it can read to " + show.Name(o.Net.Host)
	case o.Env != "":
		return "use the value of " + name
	case o.Inbound != 0:
		return "be reached on port " + name + ", by every program of this machine"
	case o.Fs.Deny != 0:
		return "no longer read or change " + name
	case rights == 0:
		return ""
	case p.Is(policy.WhySocket, policy.WhyCommands):
		return "talk to the program that listens at " + name
	case writes && inside:
		return "change and delete every file in " + name + ", except protected files such as .git/hooks"
	case writes:
		return "change " + name
	case runs && inside:
		return "run programs in " + name
	case runs:
		return "start " + name
	case inside:
		return "read every file in " + name + ", except keys and passwords"
	}
	return "read " + name
}

// Then says in sentences what a server can do with what proposals give it. Of many the rows say it. short is what people
// call a path.
func Then(who string, all []Proposal, short func(string) string) (sentences []string) {
	for _, p := range all {
		begin := who + " can then "
		if len(sentences) > 0 {
			begin = "It can also "
		}
		if then := p.then(short); then != "" {
			sentences = append(sentences, begin+then+".")
		}
	}
	if len(sentences) > 4 {
		return nil
	}
	return sentences
}

// Together says what a server could do with several proposals that it could with none of them alone, or "": read what is
// asked for apart, and send it somewhere.
func Together(who string, all []Proposal) string {
	var reads, hosts []string
	for _, p := range all {
		switch name := show.Line(p.Object.Name()); {
		case p.Object.Net.Host != "" && !slices.Contains(hosts, name):
			hosts = append(hosts, name)
		case p.verdict <= Apart && p.Object.Fs.Rights().Has(policy.Read) && !slices.Contains(reads, name):
			reads = append(reads, name)
		}
	}
	if reads == nil || hosts == nil {
		return ""
	}
	return who + " could read " + strings.Join(reads, ", ") + " and send it to " + strings.Join(hosts, ", ")
}

// Because says what speaks most against a change of the thing that is called name in a sentence, or "".
func (p Proposal) Because(name string) string {
	var all []string
	for i, r := range p.Reasons {
		isSame := func(o policy.Reason) bool { return Because(o, "it") == Because(r, "it") }
		if !slices.ContainsFunc(p.Reasons[:i], isSame) {
			all = append(all, Because(r, name))
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
		return name + " is a socket: " + names[0]
	case policy.WhyKeyName:
		return name + " has the name of a file with a key or passwords"
	case policy.WhySocket:
		return name + " is a socket: the program that listens there runs outside the jail, and does what it is asked"
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
	case policy.WhyOtherFile:
		return "the server " + show.Name(names[0]) + " is started with " + show.Line(names[1])
	case policy.WhyOwnProgram:
		if names[0] != "" {
			return name + " holds " + show.Line(names[0]) + ", which the server is started from"
		}
		return name + " is a file that the server is started from"
	case policy.WhyDenied:
		return name + " is refused by " + show.Line(names[0])
	case policy.WhyNoRule:
		return "no flag allows " + name
	case policy.WhyListing:
		return "no rule is for the process that lists the tools"
	case policy.WhyWouldNotStart:
		return "the server would not start with it: " + show.Line(names[0])
	case policy.WhyGivesMore:
		more := make([]string, len(r.Names))
		for i := range more {
			more[i] = show.Name(r.Names[i])
		}
		return "it would also change what the server may do with " + strings.Join(more, ", ")
	case policy.WhyLifts:
		return "it has a part of " + names[0] + " so far (" + strings.Join(r.Names[min(1, len(r.Names)):], ", ") + "), and gets all of it"
	}
	return ""
}

// Denial returns the rule that denies what is wanted, or "".
func (p Proposal) Denial() string {
	if at := slices.IndexFunc(p.Reasons, func(r policy.Reason) bool { return r.Kind == policy.WhyDenied }); at >= 0 {
		return show.Line(p.Reasons[at].Names[0])
	}
	return ""
}

// Refused says why a change is not proposed, and what helps instead, or "" if it is proposed.
func (p Proposal) Refused() string {
	const not = "mcp-jail does not suggest allowing it"
	because := p.Because(show.InSentence(p.Object.Name()))
	switch {
	case p.verdict > Cannot || len(p.Reasons) == 0:
		return ""
	case p.verdict == Never && p.Source == Said && p.HoldsVariables():
		return not + ": it may hold tokens and passwords"
	case p.verdict == Never && p.Source == Said && p.Is(policy.WhySensitive, policy.WhyKeyName):
		return not + ": a server that gets this can use it as you"
	case p.verdict == Never:
		return not + ": " + because
	case p.Denial() != "":
		if where, rule, isLine := strings.Cut(p.Denial(), ": "); isLine {
			return where + " denies it: " + rule + ". Remove that rule, if the server may have it"
		}
		return p.Denial() + " denies it. Leave that out, if the server may have it"
	case p.Is(policy.WhyListing):
		return because
	case p.Is(policy.WhyNoRule):
		return "only a rule that the user writes allows it"
	}
	return not + ", because " + because
}

// HoldsVariables reports whether it is about a file of variables, which is named .env or begins so.
func (p Proposal) HoldsVariables() bool {
	return p.Is(policy.WhySensitive) && strings.HasPrefix(path.Base(p.Object.At()), ".env")
}

func givesControl(place string) string {
	return " gives control of " + place + ", which programs outside the jail trust or obey"
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
