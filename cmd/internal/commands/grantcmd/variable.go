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

// findVariables looks for variables that were typed, and that this environment does not have, in hidden files of the server's
// project, such as .env. One that is there is granted from its file. One to be taken away is that of the rule which is there.
func (e *Edit) findVariables(tool string, wanted []change.Object) (files map[string]string, notes []string, err error) {
	now, err := e.now.of(tool)
	if err != nil {
		return nil, nil, err
	}
	files = map[string]string{}
	for _, o := range wanted {
		_, set := os.LookupEnv(o.Env)
		switch {
		case o.Env == "":
		case e.remove:
			a := e.was.Server.Access
			if t := e.was.Server.Tools[tool]; tool != "" && t != nil {
				a = t.Access
			}
			if a == nil {
				continue
			}
			for _, r := range a.Env {
				if r.Name == o.Env {
					files[o.Env] = r.File
				}
			}
		case !set:
			found := e.filesWith(o.Env, now.target.Profile)
			if len(found) == 0 {
				continue
			}
			files[o.Env] = found[0]
			note := fmt.Sprintf("%s is in %s: mcp-jail reads its value there at each start, and copies it nowhere.", show.Name(o.Env), show.Line(e.Short(found[0])))
			for _, other := range found[1:] {
				note += fmt.Sprintf(" It is in %s too, which is not read.", show.Line(e.Short(other)))
			}
			notes = append(notes, note)
		}
	}
	return files, notes, nil
}

// filesWith returns the hidden files of the server's project that have a variable, .env of the project itself first.
func (b *base) filesWith(name string, p *policy.Profile) (found []string) {
	if p == nil || strings.Contains(name, "*") || policy.CheckEnvRule(policy.EnvRule{Name: name, Read: true, File: "/"}) != nil {
		return nil
	}
	for _, entry := range p.Entries {
		in := p.Workspace != "" && policy.Within(entry.Path, p.Workspace) || p.Dir != "" && policy.Within(entry.Path, p.Dir)
		if in && entry.Rights == 0 && entry.Kind == policy.KindFile && strings.HasPrefix(filepath.Base(entry.Path), ".env") && session.HasVariable(&b.host, entry.Path, name) {
			found = append(found, entry.Path)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
	})
	return found
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
