package seatbelt

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Compile returns the text of a profile. An error is a [PathError], or tells what Lint refuses.
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
	f := newFiles(p, in.Form)
	sockets := f.sockets()
	if len(sockets) > 0 {
		rest += unixSockets
	}
	return write(in.Tag, rest+network(in), append(f.all(), append(sockets, self(in.Self)...)...), in.Form, in.Without)
}

// CompileTLS returns the text for mcp-jail-tls: the base, its own program and the libraries of the
// system. It opens no other file, starts nothing, and uses the sockets that it has inherited.
func CompileTLS(tag, program string, without []string) (Text, error) {
	if why := unfit(program); why != "" {
		return Text{}, &PathError{program, why}
	}
	return write(tag, "", append(self(program), libraries()...), Conditional, without)
}

var tagFormat = pattern(`^mcpj-[0-9a-f]{8}$`)

// write joins a text and runs the linter on it. The base comes last: in the layered form the last rule
// decides, and no profile takes the base away.
func write(tag, rest string, rules []Rule, form Form, without []string) (Text, error) {
	if !tagFormat().MatchString(tag) {
		return Text{}, fmt.Errorf("the tag of a session is mcpj- and 8 hex digits, not %q", tag)
	}
	w := &writer{names: map[string]string{}}
	fmt.Fprintf(w, "(version 1)\n(deny default (with message %q))\n", tag)
	for _, r := range rules {
		w.rule(r, without)
	}
	if w.err != nil {
		return Text{}, w.err
	}
	exprs, err := Parse(start + rest)
	if err != nil {
		return Text{}, err
	}
	w.WriteString(dropped(start+rest, exprs, without))
	t := Text{Profile: w.String(), Params: w.params}
	return t, Lint(t, form)
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
	for _, paths := range [][]string{p.ListOnly, p.HiddenLater, p.GitDirs, p.Programs} {
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
