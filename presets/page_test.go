package presets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPage compares the table of docs/presets.md with the files. -update writes it.
func TestPage(t *testing.T) {
	const file, head = "../../docs/presets.md", "|---|---|---|---|\n"
	before, _, _ := strings.Cut(testkit.ReadFile(t, strings.TrimPrefix(file, "../")), head)
	var page strings.Builder
	page.WriteString(before + head)
	for _, p := range all(t) {
		name := fmt.Sprintf("[%s](../presets/servers/%s.toml)", p.Name, p.Name)
		if !p.Stateful {
			name += "†"
		}
		cells := []string{name + "<br>" + packagesCell(p) + "<br>" + p.Title, hostsCell(p), secretsCell(p), filesCell(p)}
		fmt.Fprintf(&page, "| %s |\n", strings.Join(cells, " | "))
	}
	testkit.Golden(t, file, page.String())
}

func packagesCell(p *Preset) string {
	var lines []string
	for _, pkg := range p.Packages {
		if pkg.Ecosystem != "image" {
			lines = append(lines, fmt.Sprintf("`%s:%s`", pkg.Ecosystem, pkg.Name))
		}
	}
	return strings.Join(lines, "<br>")
}

func hostsCell(p *Preset) string {
	var lines []string
	ports := map[string]int{} // of a host, the line that has its ports
	for _, r := range p.rules() {
		line := "`" + r.Host + "`"
		if r.Scheme != "https" {
			line += " " + r.Scheme
		}
		if at, ok := ports[line]; ok {
			lines[at] += fmt.Sprintf(", %d", r.Port)
			continue
		}
		if r.Port != 0 {
			ports[line] = len(lines)
			line += fmt.Sprintf(" %d", r.Port)
		}
		if r.PathPrefix != "" {
			line += " `" + r.PathPrefix + "`"
		}
		if len(r.Methods) > 0 {
			line += " " + strings.Join(r.Methods, ", ")
		}
		lines = append(lines, line)
	}
	if yours := labels(p, url, database, host); len(yours) > 0 {
		lines = append(lines, "*yours:* "+strings.Join(yours, ", "))
	}
	return strings.Join(lines, "<br>")
}

func secretsCell(p *Preset) string {
	var lines []string
	for _, v := range p.Variables {
		if !v.Secret {
			continue
		}
		line, star := "`"+v.Name+"`", ""
		if v.Required {
			star = `\*`
		}
		switch {
		case v.canBeSecret():
			line = "**" + line + "**" + star + " " + strings.Join(v.Header, ", ")
		case v.Checked:
			line += star + " checked"
		default:
			line += star + " " + string(v.Sent)
		}
		lines = append(lines, line)
	}
	for _, a := range p.Arguments {
		if a.Secret && a.Variable == "" {
			lines = append(lines, a.place()+" "+string(a.Sent))
		}
	}
	return strings.Join(lines, "<br>")
}

// filesCell has the preset's own paths by their rights, and "yours" if an argument or a variable names
// others. A path on macOS has a counterpart on Linux.
func filesCell(p *Preset) string {
	var lines, order []string
	if p.Server.Access.Workspace == "write" {
		lines = append(lines, "*project folder*")
	}
	paths := map[string][]string{}
	add := func(path, rights string) {
		if strings.HasPrefix(path, "~/Library/") || strings.HasPrefix(path, "/Applications/") {
			return
		}
		if paths[rights] == nil {
			order = append(order, rights)
		}
		paths[rights] = append(paths[rights], "`"+path+"`")
	}
	if p.Server.Access.Workspace == "read" {
		add(".", "read")
	}
	for _, r := range p.Server.Access.Fs {
		add(r.Path, r.Rights().String())
	}
	for _, d := range p.Each {
		for _, pattern := range d.Paths {
			add(pattern, d.rule("x").Rights().String())
		}
	}
	for _, rights := range order {
		lines = append(lines, rights+": "+strings.Join(paths[rights], " "))
	}
	if len(labels(p, file, directory)) > 0 {
		lines = append(lines, "*yours*")
	}
	return strings.Join(lines, "<br>")
}

// labels returns the variables and arguments that name something of these kinds.
func labels(p *Preset, kinds ...kind) (out []string) {
	is := func(k kind) bool { return strings.Contains(fmt.Sprint(kinds), string(k)) && k != plainText }
	for _, v := range p.Variables {
		if is(v.Kind) {
			out = append(out, "`"+v.Name+"`")
		}
	}
	for _, a := range p.Arguments {
		if is(a.Kind) {
			out = append(out, a.place())
		}
	}
	return out
}

// place says in words where an argument stands.
func (a argument) place() string {
	switch {
	case a.Flag != "":
		return "`" + a.Flag + "`"
	case a.Rest:
		return "each argument"
	}
	return fmt.Sprintf("argument %d", a.Position)
}
