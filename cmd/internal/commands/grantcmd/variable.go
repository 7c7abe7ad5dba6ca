package grantcmd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// findVariables looks for variables that were typed, and that this environment does not have, in hidden files.
func (e *Edit) findVariables(tool string, wanted []change.Object) error {
	if err := e.use(tool); err != nil {
		return err
	}
	for _, o := range wanted {
		if _, set := os.LookupEnv(o.Env); o.Env != "" && (!set || e.remove) {
			e.findVariable(o.Env)
		}
	}
	return nil
}

// findVariable looks for a variable in the hidden files of the server's project, such as .env. One that is there is
// granted from its file. One to be taken away is that of the rule which is there.
func (e *Edit) findVariable(name string) {
	if e.files == nil {
		e.files = map[string]string{}
	}
	if e.remove {
		for _, r := range e.envRules() {
			if r.Name == name {
				e.files[name] = r.File
			}
		}
		return
	}
	p := e.now[e.tool].target.Profile
	if p == nil || strings.Contains(name, "*") || policy.CheckEnvRule(policy.EnvRule{Name: name, Read: true, File: "/"}) != nil {
		return
	}
	var found []string
	for _, entry := range p.Entries {
		in := p.Workspace != "" && policy.Within(entry.Path, p.Workspace) || p.Dir != "" && policy.Within(entry.Path, p.Dir)
		if in && entry.Rights == 0 && entry.Kind == policy.KindFile && strings.HasPrefix(filepath.Base(entry.Path), ".env") && session.HasVariable(&e.host, entry.Path, name) {
			found = append(found, entry.Path)
		}
	}
	if len(found) == 0 {
		return
	}
	slices.SortFunc(found, func(a, b string) int { // .env of the project itself first
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
	})
	e.files[name] = found[0]
	note := fmt.Sprintf("%s is in %s: mcp-jail reads its value there at each start, and copies it nowhere.", show.Name(name), show.Line(e.Short(found[0])))
	for _, other := range found[1:] {
		note += fmt.Sprintf(" It is in %s too, which is not read.", show.Line(e.Short(other)))
	}
	e.notes = append(e.notes, note)
}

// envRules returns the rules of variables that the server, or the tool, has in its file.
func (e *Edit) envRules() []policy.EnvRule {
	a := e.before.Server.Access
	if t := e.before.Server.Tools[e.tool]; e.tool != "" && t != nil {
		a = t.Access
	}
	if a == nil {
		return nil
	}
	return a.Env
}

// table returns the table of objects. A variable of a file needs a rule that names the file.
func (e *Edit) table(objects []change.Object) (*config.Server, error) {
	var words []string
	for _, o := range objects {
		words = append(words, o.Words()...)
	}
	t, err := session.TableOf(words)
	if err != nil {
		return nil, err
	}
	t.Variables = slices.DeleteFunc(t.Variables, func(v policy.EnvRule) bool {
		v.File = e.files[v.Name]
		if v.File == "" {
			return false
		}
		if t.Access == nil {
			t.Access = &config.Access{Where: v.Where}
		}
		t.Access.Env = append(t.Access.Env, v)
		return true
	})
	return t, nil
}
