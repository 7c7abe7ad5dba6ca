package wrapping

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// noteStart notes what of a command line will not start, or not as the user thinks.
func (g *Grant) noteStart(c clients.Client, s Entry, host clients.Host) {
	argv := meaning.ReplacedAll(c, s.Argv(), host)
	if _, known := meaning.Replaced(c, s.Command, host); !known || host.OS == "windows" { // there, which endings a program may have, the client decides
		return
	}
	look := s.lookupHost(c, host)
	_, err := runline.Parse(argv)
	if whole := meaning.Whole(argv[0], look); err != nil && whole != nil {
		g.Fails = []string{show.Quote(terminal.ShownWords(argv)[0]) + " is one word. Before you wrap it, write " + s.written(append(whole, argv[1:]...))}
		return
	}
	g.Fails = meaning.Fails(argv, look)
	g.Notes = append(g.Notes, meaning.Notes(argv, look)...)
}

// lookupHost returns the host as mcp-jail sees it when the client of an entry starts it.
func (s Entry) lookupHost(c clients.Client, host clients.Host) hostfs.Host {
	local, _ := hostfs.LocalHost() // without one, what is asked of it fails
	local.Home = host.Home
	local.Dir, _ = judge{file: s.file, host: host}.directory(s)
	local.ConfigDir, local.StateDir, local.CacheDir, local.DataDir = hostfs.StandardDirs(&local)
	local.Environ = slices.Clone(local.Environ)
	if host.Env != nil {
		local.Environ = append(local.Environ, "PATH="+host.Env("PATH"))
	}
	for _, v := range s.Env {
		if value, known := meaning.Replaced(c, v.Value, host); known && !v.Unset {
			local.Environ = append(local.Environ, v.Name+"="+value)
		}
	}
	return local
}

// Leave leaves an entry of the file.
func (f *File) Leave(key string, why clients.Reason) {
	for i := range f.Entries {
		if f.Entries[i].Key() == key {
			f.Entries[i].Left, f.Entries[i].Detail = why, ""
		}
	}
}

// Program is mcp-jail as the files of clients name it.
type Program struct {
	Path string   // absolute; the one that is written
	Also []string // other absolute paths of it, which older entries may name
}

func (p Program) is(path string) bool {
	theirs, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(append([]string{p.Path}, p.Also...), func(own string) bool {
		ours, err := os.Stat(own)
		return err == nil && os.SameFile(theirs, ours)
	})
}

// written returns a command line as the entry's file has it, without its secrets.
func (s Entry) written(argv []string) string {
	var words []string
	for _, word := range terminal.ShownWords(argv) {
		words = append(words, strconv.Quote(word))
	}
	key := func(name string) string { return strconv.Quote(name) + ": " }
	switch editFormat(s.by.place.Format) {
	case edit.TOML:
		key = func(name string) string { return name + " = " }
	case edit.YAML:
		key = func(name string) string { return name + ": " }
	}
	if s.Shape.Args == "" {
		return key(s.Shape.Command) + "[" + strings.Join(words, ", ") + "]"
	}
	return key(s.Shape.Command) + words[0] + ", " + key(s.Shape.Args) + "[" + strings.Join(words[1:], ", ") + "]"
}

// otherWSL is why it is unclear how an entry that names wsl.exe starts.
const otherWSL clients.Reason = "starts mcp-jail by wsl.exe in another Linux, from another system, or with options that mcp-jail does not write, and which jail its server gets is not known"

// OnWindows reports whether the file is that of a client on a Windows of which this Linux shows the disk.
func OnWindows(f *File) bool { return f.host.Mounted }

// launched returns how a line starts that has words before mcp-jail.
func (j judge) launched(line clients.Wrapped) Verdict {
	distribution, plain, isWSL := line.WSL()
	switch {
	case isWSL && OnWindows(j.file) && plain && distribution == meaning.Distribution():
		return Verdict{State: Jailed}
	case isWSL || OnWindows(j.file):
		return Verdict{Why: otherWSL}
	}
	return j.mends(Stale, launched+" ("+clients.Reason(strings.Join(append(slices.Clone(line.Launcher), line.Program), " "))+")")
}
