package wrapping

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

const projectFolder = "the project folder"

// describe writes in words what a server gets. placed are the rules for files that grant something, and dirKnown
// says whether that holds for relative ones.
func (g *Grant) describe(server *config.Server, s Entry, placed []resolve.PlacedRule, dirKnown bool, home string) {
	g.say(server, home, func(r policy.FsRule) string {
		relative := !filepath.IsAbs(r.Path) && !strings.HasPrefix(r.Path, "~") && !hostfs.HasDrive(r.Path)
		at := slices.IndexFunc(placed, func(p resolve.PlacedRule) bool { return p.FsRule == r })
		switch clean := filepath.Clean(r.Path); {
		case !relative:
			return r.Path
		case dirKnown && at < 0:
			return "" // a note says why it grants nothing
		case dirKnown && (s.Cwd != "" || s.For != "" || clean != "."):
			return placed[at].At
		case clean != ".":
			return r.Path + " in " + projectFolder
		case s.Cwd != "":
			return s.Cwd
		}
		return projectFolder
	})
}

// say writes in words what a table grants: files, then hosts, then variables. at says where a rule leads, and "" if
// it grants nothing.
func (g *Grant) say(server *config.Server, home string, at func(policy.FsRule) string) {
	c := config.Config{Servers: map[string]*config.Server{server.Name: server}}
	var files, hosts, variables []string
	hasSecret, isReal := false, false
	for _, tool := range append([]string{""}, c.DeclaredTools(server.Name)...) {
		p, err := c.Policy(server.Name, tool)
		if err != nil {
			continue // checkFiles says why
		}
		isReal = p.HomeReal
		for _, r := range p.Fs {
			isProgram := r.Execute && r.Rights()&policy.Write == 0 && !policy.Within(r.Path, home)
			if path := at(r); path != "" && r.Rights() != 0 && !isProgram {
				files = addWords(files, placeWords(path, home)+rightsWords(path, r.Rights()))
			}
		}
		for _, r := range p.Net {
			hasSecret = hasSecret || r.Allow && len(r.Secrets) > 0
			if r.Allow {
				hosts = addHost(hosts, r)
			}
		}
		for _, r := range p.Env {
			if r.Read {
				variables = addWords(variables, r.Name)
			}
		}
	}
	if isReal {
		files = append(files, "your home folder as its own")
	}
	if g.Gets = slices.Concat(files, hosts, variables); slices.ContainsFunc(files, func(words string) bool { return strings.Contains(words, "your whole home folder") }) {
		g.Careful = append(g.Careful, "that is nearly all that you have. If it needs less, write the folder that it needs into its entry first")
	}
	if hasSecret {
		g.Remarks = append(g.Remarks, "your token stays outside the jail")
	}
}

func addWords(all []string, words string) []string {
	if slices.Contains(all, words) {
		return all
	}
	return append(all, words)
}

func placeWords(path, home string) string {
	switch {
	case path == home || path == "~":
		return "your whole home folder"
	case policy.Within(home, path):
		return path + " with your whole home folder"
	case strings.HasPrefix(path, home+"/"):
		return "~" + strings.TrimPrefix(path, home)
	}
	return path
}

func rightsWords(path string, rights policy.Rights) string {
	switch rights & policy.Write {
	case policy.Write:
		if path == projectFolder { // wrap says it once
			return ""
		}
		return " (read and write)"
	case 0:
		return " (read only)"
	case policy.Create:
		return " (new files only)"
	}
	return " (" + strings.ReplaceAll(rights.String(), " ", ", ") + ")"
}

// addHost adds a host. Several ports of one are a list: "localhost:3000/8080".
func addHost(all []string, r policy.NetRule) []string {
	switch {
	case r.Host == "*":
		return addWords(all, "every host")
	case r.Port == 0 || r.Port == 443:
		return addWords(all, r.Host)
	}
	port := strconv.Itoa(r.Port)
	for i, words := range all {
		ports, same := strings.CutPrefix(words, net.JoinHostPort(r.Host, ""))
		if same && slices.Contains(strings.Split(ports, "/"), port) {
			return all
		}
		if same {
			all[i] += "/" + port
			return all
		}
	}
	return append(all, net.JoinHostPort(r.Host, port))
}
