package presets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const pageHead = `# Presets

A preset is a ready-made policy for a well-known server: the hosts, variables, secrets and files
that it needs. Presets are built into mcp-jail.

- ~mcp-jail wrap~ uses them for your own entries. It writes what the preset allows into the file of
  the server, where ~mcp-jail grant~ can change it.
- In a table of your configuration, write ~preset = "NAME"~. Your keys win over those of the preset,
  and your rules add to its rules.
- For a line that you type: ~mcp-jail run --preset NAME -- COMMAND~.

~~~toml
[servers.github]
preset = "github"
command = "github-mcp-server"
arguments = ["stdio"]
~~~

~mcp-jail preset NAME~ prints a preset, with what there is to know about the server.

**For which lines.** A preset holds for the packages and programs that it lists. A container needs
the package instead. A line that runs other code does not start with a preset: a second package,
~node -r~, ~NODE_OPTIONS~, a program in the project folder. To allow the same there, copy the part
that begins with ~[servers.~ into your configuration.

**Arguments and variables.** A preset knows which of them name a file, a folder or a host, and
allows what yours name. With ~--gh-host https://ghe.example.com~ that host takes the place of
GitHub's, and gets the token. The file of a database needs the folder around it. That must be for
this server alone, and not your home folder.

**Secrets.** Those in bold stay outside the jail: mcp-jail puts them into the requests to the hosts
of the preset, in the header that is named. The server gets the others as variables, because it
sends them in another way or checks their form. ~*~ means required.

**Browsers.** The server gets the options that a browser needs in a jail, such as ~--no-sandbox~. A
page that breaks out of the browser can use all that the server may use.

**Updates.** A wrapped server keeps what its file has. If a newer preset allows more, the notes of
~wrap~ name the command that takes it. A table with ~preset~ uses the newer preset at once. To keep
the old one, copy it into your configuration.

In the table, † means that ~stateful = false~ fits: see [the policy](policy.md). *Yours* are hosts
and files that arguments and variables of your entry name. ~.~ is the project folder. *Project
folder* means to read and write it, as long as your arguments name no other place. Browsers have
other paths on macOS.

| preset, package, server | hosts | secrets | files |
|---|---|---|---|
`

// TestPage compares docs/presets.md with the files.
func TestPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(strings.NewReplacer("~~~", "```", "~", "`").Replace(pageHead))
	for _, p := range all(t) {
		name := fmt.Sprintf("[%s](../presets/servers/%s.toml)", p.Name, p.Name)
		if !p.Stateful {
			name += "†"
		}
		cells := []string{name + "<br>" + packagesCell(p) + "<br>" + p.Title, hostsCell(p), secretsCell(p), filesCell(p)}
		fmt.Fprintf(&page, "| %s |\n", strings.Join(cells, " | "))
	}
	testkit.Golden(t, "../../docs/presets.md", page.String())
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
