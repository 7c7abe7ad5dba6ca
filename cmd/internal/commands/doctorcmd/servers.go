package doctorcmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// policyChecks names the mistakes in the policies and in the configuration.
func policyChecks(x *index.Index) (all []check) {
	for _, err := range x.Broken {
		all = append(all, check{mark: fails, subject: "policy", text: err.Error()})
	}
	for _, p := range x.ConfigurationProblems() {
		k := check{mark: fails, subject: "policy", text: p.What}
		if p.Fix != "" { // a project's file that is not accepted is no mistake
			k.mark, k.text, k.advice = note, p.What+", so "+p.Effect, []advice{{"To read it and decide:", p.Command}}
		}
		all = append(all, k)
	}
	return all
}

// programChecks says of which servers the program is missing.
func programChecks(x *index.Index) (all []check) {
	servers := 0
	for _, s := range x.Servers {
		words := s.Words
		if len(words) == 0 || len(s.Entries) == 0 || slices.ContainsFunc(s.Entries, func(e *index.Entry) bool { return e.File.References(words[0]) }) {
			continue
		}
		servers++
		if _, err := exec.LookPath(words[0]); err == nil || errors.Is(err, exec.ErrDot) || strings.ContainsRune(words[0], filepath.Separator) && !filepath.IsAbs(words[0]) {
			continue // a relative path is one of the directory that the client chooses
		}
		k := check{mark: fails, subject: "servers", text: fmt.Sprintf("%s cannot start: there is no program %s", show.Name(s.Name), show.Quote(words[0]))}
		if !filepath.IsAbs(words[0]) {
			k.text += " in your PATH"
		}
		all = append(all, k)
	}
	if all == nil && servers > 0 {
		all = []check{{mark: well, subject: "servers", text: "the programs that your " + cli.Plural(servers, "server") + " need are installed"}}
	}
	if all == nil {
		all = []check{{mark: note, subject: "servers", text: "no client has a server that starts a program here"}}
	}
	return all
}

// profiles are the files from which shells take their PATH.
var profiles = []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".config/fish/config.fish"}

// pathChecks says whether new terminals find mcp-jail: its folder is in PATH, and if it is one of the user's own, one of
// the files above puts it there.
func pathChecks(host hostfs.Host) []check {
	self, err := programs.Beside(programs.Main)
	if err != nil || index.InLauncherCache(self) {
		return nil
	}
	dir := filepath.Dir(self)
	found, err := exec.LookPath(programs.Main)
	k := check{mark: note, subject: "PATH", text: "new terminals will not find mcp-jail"}
	below, isOwn := strings.CutPrefix(dir, host.Home+string(filepath.Separator))
	switch {
	case err == nil && !sameFile(found, self):
		k.text = "terminals start another mcp-jail: " + found
	case err == nil && (!isOwn || slices.ContainsFunc(profiles, func(name string) bool { return mentions(filepath.Join(host.Home, name), below) })):
		return nil
	}
	if isOwn {
		dir = "$HOME/" + below
	}
	if !strings.ContainsAny(dir, "'\"") {
		k.advice = []advice{{"To let new terminals find mcp-jail:", `echo 'export PATH="` + dir + `:$PATH"' >> ~/.profile`}}
	}
	return []check{k}
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(one, other)
}

// mentions reports whether a file of a shell has a folder below HOME.
func mentions(file, below string) bool {
	text, err := os.ReadFile(file)
	return err == nil && (strings.Contains(string(text), below) || below == "go/bin" && strings.Contains(string(text), "GOPATH"))
}

// olderChecks names what an older mcp-jail has stored of servers that it knew by their names, and that no start finds.
func olderChecks(x *index.Index) []check {
	var names []string
	var bytes int64
	x.Stored.Measure()
	for _, s := range x.Servers {
		if s.Kept != nil && s.Kept.IsOlder() && len(s.Entries) == 0 && s.File == nil && s.Table == nil {
			names, bytes = append(names, s.Key), bytes+s.Kept.HomeBytes()+s.Kept.Records
		}
	}
	if names == nil {
		return nil
	}
	return []check{{note, "storage", fmt.Sprintf("an older mcp-jail left the data of %s in %s, which nothing uses any more (%s)", cli.Plural(len(names), "server"), filepath.Join(x.Host.StateDir, "servers"), cli.SizeText(bytes)),
		[]advice{{"To remove that data:", show.Typed("mcp-jail status --remove", names...)}}}}
}
