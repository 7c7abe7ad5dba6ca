package command

import (
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Starts returns the forms in which the kernel starts the file of a rule. A rule with args or
// envs is about argv[0] too: a binary such as busybox is many programs, and argv[0] chooses one.
func (c *Resolver) Starts(r policy.CommandRule, file string) (all []policy.Start) {
	line := strings.TrimSpace(c.Shebang(file))
	if line == "" {
		s := policy.Start{File: file}
		if len(r.Args) > 0 || r.Envs != nil {
			s.Name, s.Paths = path.Base(r.Name), c.argvPaths(r.Name, file)
		}
		return []policy.Start{s}
	}
	add := func(name string, lead []string) {
		found, err := c.locate(name)
		if err != nil {
			return
		}
		real := c.Paths.Canonical(found)
		if c.Shebang(real) == "" {
			all = append(all, policy.Start{File: real, Name: path.Base(name), Paths: c.argvPaths(name, real), Lead: lead, Script: file})
		}
	}
	end := strings.IndexAny(line+" ", " \t")
	interpreter, rest := line[:end], strings.TrimSpace(line[end:])
	var lead []string
	if rest != "" {
		lead = []string{rest} // the kernel does not cut it into words
	}
	add(interpreter, lead)
	words := strings.Fields(rest)
	if i := slices.Index(words, envProgram(words)); i >= 0 && path.Base(interpreter) == "env" {
		add(words[i], words[i+1:])
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

// envProgram returns the program that env(1) starts, or "" if its options are not known.
func envProgram(words []string) string {
	if len(words) > 0 {
		for _, option := range [...]string{"-S", "-iS", "-vS", "--split-string="} {
			if rest, ok := strings.CutPrefix(words[0], option); ok {
				words = append(strings.Fields(rest), words[1:]...)
				break
			}
		}
	}
	line, err := wrapper.Parse("env", append([]string{"env"}, words...))
	if err != nil || len(line.Inner) == 0 {
		return ""
	}
	return line.Inner[0]
}

// loader returns PT_INTERP of a little-endian 64-bit ELF file from its first bytes.
// The kernel opens the loader for execution too, so a list of programs without it starts
// nothing.
func loader(head []byte) string {
	if len(head) < 64 || string(head[:6]) != "\x7fELF\x02\x01" {
		return ""
	}
	little, size := binary.LittleEndian, uint64(len(head))
	const header = 56 // of a program header
	at, step, count := little.Uint64(head[32:]), uint64(little.Uint16(head[54:])), little.Uint16(head[56:])
	for ; count > 0 && step >= header && at <= size-header; count-- {
		h := head[at : at+header]
		if at += step; little.Uint32(h) != 3 { // PT_INTERP
			continue
		}
		from, long := little.Uint64(h[8:]), little.Uint64(h[32:])
		if from > size || long > size-from {
			return ""
		}
		name := strings.TrimRight(string(head[from:from+long]), "\x00")
		if !strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
			return ""
		}
		return name
	}
	return ""
}
