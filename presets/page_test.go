package presets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const pageHead = `# Presets

A preset is what a well-known server needs: its hosts, variables, secrets and paths. Presets are
built in. A preset grants nothing until you write ` + "`preset = \"NAME\"`" + ` in ` + "`[servers.X]`" + ` or
` + "`--preset NAME`" + `. Your own keys come on top of it: [reference.md](reference.md#presets).
` + "`mcp-jail preset NAME`" + ` prints one.

` + "```" + `toml
[servers.github]
preset = "github"
command = "github-mcp-server"
arguments = ["stdio"]
` + "```" + `

The columns of the table:

- **for** is the package, the image (without its tag) or the program that the preset is for.
  mcp-jail does not confine containers: use the package instead of the image.
- **reaches** are the hosts. *Yours* is a host that an argument or a variable of your entry names.
- **secrets** in bold can be a [secret](policy.md#secrets) of a network rule, in the header
  field that is named. The server then never holds the value. mcp-jail forwards the others as
  variables. The word after the name says why: it is the place in which the server sends the value.
  *Checked* means that the server tests the value's form and would refuse a placeholder.
  ` + "`*`" + ` means required.
- **files** are the preset's own rules. Below them are the arguments and variables that name a file
  or directory, with the rights that it needs. *Beside* means in the directory around the file: that
  must be [for this server alone](policy.md#default-and-explicit-policy). *Workspace* is the default
  policy, which ends with the first rule.
- **per call** says whether ` + "`stateful = false`" + ` fits: [a process for
  every call](policy.md#a-process-for-every-call). *Yes* means that no call depends on another, and
  that the tools can be listed without network. *No* is also there where this is not known.

The files are in [presets/servers](../presets/servers). Each also says which tools only read, what
there is to know, and where its facts come from. This page is made from them:
` + "`go test ./presets -update`" + `.

| preset | for | reaches | secrets | files | per call |
|---|---|---|---|---|---|
`

// TestPage compares docs/presets.md with the files.
func TestPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(pageHead)
	for _, p := range all(t) {
		perCall := "yes"
		if p.Stateful {
			perCall = "no"
		}
		cells := []string{
			fmt.Sprintf("[%s](../presets/servers/%s.toml)<br>%s", p.Name, p.Name, p.Title), packagesCell(p), hostsCell(p), secretsCell(p), filesCell(p), perCall,
		}
		fmt.Fprintf(&page, "| %s |\n", strings.Join(cells, " | "))
	}
	testkit.Golden(t, "../../docs/presets.md", page.String())
}

func packagesCell(p *Preset) string {
	var lines []string
	for _, pkg := range p.Packages {
		line := fmt.Sprintf("%s `%s`", pkg.Ecosystem, pkg.Name)
		if len(pkg.Versions) > 0 {
			line += " " + strings.Join(pkg.Versions, ", ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "<br>")
}

func hostsCell(p *Preset) string {
	var lines []string
	for _, r := range p.rules() {
		line := "`" + r.Host + "`"
		if r.Scheme != "https" {
			line += " " + r.Scheme
		}
		if r.Port != 0 {
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
	for _, label := range labels(p, url, database, host) {
		lines = append(lines, "*yours:* "+label)
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

func filesCell(p *Preset) string {
	var lines []string
	switch p.Server.Access.Workspace {
	case "write":
		lines = append(lines, "*workspace*")
	case "read":
		lines = append(lines, "`.` read")
	}
	for _, r := range p.Server.Access.Fs {
		lines = append(lines, fmt.Sprintf("`%s` %s", r.Path, r.Rights()))
	}
	for _, d := range p.Each {
		for _, pattern := range d.Paths {
			lines = append(lines, fmt.Sprintf("`%s` %s", pattern, d.rights()))
		}
	}
	for _, v := range p.Variables {
		if v.Kind == file || v.Kind == directory {
			lines = append(lines, fmt.Sprintf("`%s` %s", v.Name, v.rights()))
		}
	}
	for _, a := range p.Arguments {
		if a.Kind == file || a.Kind == directory {
			lines = append(lines, fmt.Sprintf("%s %s", a.place(), a.rights()))
		}
	}
	return strings.Join(lines, "<br>")
}

// rights returns the rights that a file or directory needs, and where.
func (v Value) rights() string {
	text := v.rule("x").Rights().String()
	if v.Beside {
		text += " beside"
	}
	return text
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
