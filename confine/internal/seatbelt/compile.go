package seatbelt

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Compile returns the text of a profile. An error is a [PathError].
func Compile(in Input) (Text, error) {
	p := in.Profile
	if in.TempDir != "" {
		p = withTempDir(p, in.TempDir)
	}
	if err := checkPaths(p, in.Self); err != nil {
		return Text{}, err
	}
	rest := ""
	if !in.NoFork {
		rest += fork
	}
	if p.RightsAt("/dev/ptmx").Has(policy.Read | policy.Update) {
		rest += pty
	}
	f := newFiles(p)
	sockets := f.sockets()
	if len(sockets) > 0 {
		rest += unixSockets
	}
	return write(rest+network(in), append(f.all(), append(sockets, self(in.Self)...)...), in.Without)
}

// Optional are the operations that a text names only where the system knows them.
var Optional = []string{"file-test-existence", "mach-task-name", "system-fsctl", "system-info", "system-mac-syscall"}

// write joins a text.
func write(rest string, rules []Rule, without []string) (Text, error) {
	w := &writer{names: map[string]string{}}
	w.WriteString("(version 1)\n(deny default)\n")
	for _, r := range rules {
		w.rule(r, without)
	}
	if w.err != nil {
		return Text{}, w.err
	}
	w.WriteString(dropped(start+rest, without))
	return Text{Profile: w.String(), Params: w.params}, nil
}

// checkPaths returns an error for a path of the profile that no text can name.
func checkPaths(p *policy.Profile, self string) error {
	list := append([]string{self}, p.Unprotected...)
	for _, e := range p.Entries {
		list = append(list, e.Path)
	}
	for _, l := range p.Links {
		list = append(list, l.Path)
	}
	for _, paths := range [][]string{p.ListOnly, p.GitDirs, p.Programs} {
		list = append(list, paths...)
	}
	for _, name := range list {
		why := unfit(name)
		if why == "" && strings.Contains(name, "//") {
			why = "it has two slashes"
		}
		if why != "" {
			return &PathError{name, why}
		}
	}
	return nil
}

// dropped returns a text of the base without some operations: without the rule if it has no other.
func dropped(text string, ops []string) string {
	if len(ops) == 0 {
		return text
	}
	head, rest, _ := strings.Cut(text, "(allow ")
	for rule := range strings.SplitSeq(rest, "\n(allow ") {
		end := strings.IndexAny(rule, "(\n)")
		kept := slices.DeleteFunc(strings.Fields(rule[:end]), func(op string) bool { return slices.Contains(ops, op) })
		if comment := strings.Index(rule, "\n;"); len(kept) > 0 {
			space := strings.Repeat(" ", strings.Count(rule[end:end+1], "("))
			head += "(allow " + strings.Join(kept, " ") + space + strings.TrimRight(rule[end:], "\n") + "\n"
		} else if comment >= 0 {
			head += rule[comment+1:] + "\n"
		}
	}
	return head
}
