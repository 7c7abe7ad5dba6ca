package command

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Starts returns the forms in which the kernel starts the file of a rule. A rule with args or
// envs is about argv[0] too: a binary such as busybox is many programs, and argv[0] chooses one.
func (c *Resolver) Starts(r policy.CommandRule, file string) []policy.Start {
	head, _ := c.H.ReadHead(file, 4096)
	line, script := bytes.CutPrefix(head, []byte("#!"))
	if !script {
		s := policy.Start{File: file}
		if len(r.Args) > 0 || r.Envs != nil {
			s.Name, s.Paths = path.Base(r.Name), c.argvPaths(r.Name, file)
		}
		return []policy.Start{s}
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	interpreter, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	if i := strings.IndexByte(interpreter, '\t'); i >= 0 {
		interpreter, rest = interpreter[:i], interpreter[i+1:]+" "+rest
	}
	var all []policy.Start
	add := func(name string, lead []string) {
		found, err := c.Locate(name)
		if err != nil {
			return
		}
		at, err := c.Paths.Resolve(found)
		if err != nil {
			return
		}
		if head, _ := c.H.ReadHead(at.Path, 2); string(head) != "#!" {
			all = append(all, policy.Start{File: at.Path, Name: path.Base(name), Paths: c.argvPaths(name, at.Path), Lead: lead, Script: file})
		}
	}
	rest = strings.TrimSpace(rest)
	var lead []string
	if rest != "" {
		lead = []string{rest} // the kernel does not cut it into words
	}
	add(interpreter, lead)
	if path.Base(interpreter) == "env" {
		words := strings.Fields(rest)
		if name := EnvProgram(words); name != "" {
			if i := slices.Index(words, name); i >= 0 {
				add(name, words[i+1:])
			}
		}
	}
	return all
}

// argvPaths returns the absolute paths that argv[0] may be for a program that is called name: name
// itself, the file if it has the same base, and the paths by which PATH finds the file. It leaves
// out directories of PATH to which a server may write.
func (c *Resolver) argvPaths(name, file string) (paths []string) {
	if strings.HasPrefix(name, "/") {
		paths = []string{name}
	}
	base := path.Base(name)
	for _, dir := range c.SearchPath {
		p := path.Join(dir, base)
		if at, err := c.Paths.Resolve(p); err == nil && at.Path == file && !c.MayWrite(dir) {
			paths = append(paths, p)
		}
	}
	if path.Base(file) == base {
		paths = append(paths, file)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// EnvProgram returns the program that env(1) starts. It skips options and assignments.
func EnvProgram(words []string) string {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
		case w == "--unset" || w == "--chdir" || w == "--argv0":
			i++
		case strings.HasPrefix(w, "--split-string="):
			return EnvProgram(append([]string{strings.TrimPrefix(w, "--split-string=")}, words[i+1:]...))
		case strings.HasPrefix(w, "--"), strings.Contains(w, "=") && w[0] != '-':
		case strings.HasPrefix(w, "-"):
			at := strings.IndexAny(w[1:], "uCaS") + 1 // the first of the options together that takes a value
			switch rest := w[at+1:]; {
			case at == 0:
			case w[at] == 'S' && rest != "":
				return EnvProgram(append([]string{rest}, words[i+1:]...))
			case w[at] != 'S' && rest == "":
				i++
			}
		default:
			return w
		}
	}
	return ""
}

// Loader returns PT_INTERP of a little-endian 64-bit ELF file from its first bytes.
// The kernel opens the loader for execution too, so a list of programs without it starts
// nothing.
func Loader(head []byte) string {
	u16 := func(o int) int { return int(head[o]) | int(head[o+1])<<8 }
	u64 := func(o int) uint64 {
		var v uint64
		for i := 7; i >= 0; i-- {
			v = v<<8 | uint64(head[o+i])
		}
		return v
	}
	if len(head) < 64 || string(head[:6]) != "\x7fELF\x02\x01" {
		return ""
	}
	start, size, n := u64(32), uint64(u16(54)), uint64(u16(56))
	if size < 56 {
		return ""
	}
	for i := uint64(0); i < n; i++ {
		o := start + i*size
		if o > uint64(len(head)) || o+56 > uint64(len(head)) {
			return ""
		}
		if u16(int(o)) != 3 || u16(int(o)+2) != 0 {
			continue
		}
		off, length := u64(int(o)+8), u64(int(o)+32)
		if length < 2 || length > 4096 || off > uint64(len(head)) || off+length > uint64(len(head)) {
			return ""
		}
		name := strings.TrimRight(string(head[off:off+length]), "\x00")
		if strings.HasPrefix(name, "/") && !strings.ContainsRune(name, 0) {
			return name
		}
		return ""
	}
	return ""
}
