package grantcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// takeBack takes flags away from the place. A server that has no access flag any more would get the
// default policy, which may be more than it has: --deny . is put in their place then.
func (g *grantCmd) takeBack(p *plan, typed []granting.Flag) error {
	wanted, err := g.spelled(p, typed)
	if err != nil {
		return err
	}
	gone := map[int]bool{}
	for i, f := range wanted {
		at := p.scope.Find(f)
		if len(at) == 0 && typed[i].Value != f.Value { // a relative path of the file itself, such as --write .
			at = p.scope.Find(typed[i])
		}
		if len(at) == 0 {
			return p.notThere(f)
		}
		for _, i := range at {
			gone[i] = true
		}
		p.say("remove", "%s", p.before[at[0]])
	}
	p.after = nil
	for i, f := range p.before {
		if !gone[i] {
			p.after = append(p.after, f)
		}
	}
	deny := granting.NewFlag("--deny", ".")
	if granting.IsDefault(p.after) && !granting.IsDefault(p.before) && !slices.ContainsFunc(p.after, func(f granting.Flag) bool { return f.Name == deny.Name && f.Value == deny.Value }) {
		if p.scope.Grants(granting.NewFlag("--write", ".")) == "" {
			p.after = append(p.after, deny)
			p.say("add", "%s, because a server without such a flag gets the default policy, and with it its workspace", deny)
		} else {
			p.say("note", "the server gets the default policy now: its workspace, to read and to write")
		}
	}
	return p.stillThere(wanted)
}

// notThere returns the error about a flag that the place does not have.
func (p *plan) notThere(f granting.Flag) error {
	text := fmt.Sprintf("nothing was changed: %s has no flag  %s", p.Place(), f)
	if by := p.scope.Grants(f); by != "" {
		return fmt.Errorf("%s; what grants it is  %s", text, show.Line(by))
	}
	if len(p.before) == 0 {
		return fmt.Errorf("%s, and no other one", text)
	}
	return fmt.Errorf("%s; it has  %s", text, strings.Join(granting.Texts(p.before), " "))
}

// stillThere says which flags that are taken away another rule grants as well.
func (p *plan) stillThere(wanted []granting.Flag) error {
	words := p.File.Started(p.Entry, granting.Words(p.after), p.clients)
	after, err := p.check(words)
	if err != nil {
		return refusal(err)
	}
	scope := granting.NewScope(after.target.Policy, after.host, granting.Split(words))
	for _, f := range wanted {
		if by := scope.Grants(f); by != "" {
			p.say("note", "%s is granted all the same, by %s", f, show.Line(by))
		}
	}
	return nil
}
