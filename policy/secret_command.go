package policy

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// The command of a secret runs outside of every jail, with all of the user's rights, and
// what it prints is sent. So nothing of it may be what a server could write: neither
// the program nor what interprets it, nor what its arguments name. What those read
// beyond that (modules, settings in the home directory) is not known from here.

// command finds the program of a secret's command, and what it may be started with. A
// program that is not there stays "": the start fails.
func (b *builder) command(s *Secret) error {
	c := &commands{f: b.f, h: b.h}
	dirs := searchPath(b.h)
	program, err := b.program(c, s, s.Command[0], dirs)
	if err != nil || program == "" {
		return err
	}
	if err := b.interprets(c, s, program, dirs, 0); err != nil {
		return err
	}
	for _, arg := range s.Command[1:] {
		if err := b.reads(s, arg); err != nil {
			return err
		}
	}
	s.Program = program
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return b.free(dir) })
	s.Path = strings.Join(dirs, ":")
	for _, e := range b.h.Environ {
		name, value, _ := strings.Cut(e, "=")
		if Dangerous(name) && slices.ContainsFunc(pathsIn(value), b.free) {
			s.Unset = append(s.Unset, name)
		}
	}
	return nil
}

// program is the canonical file of a word that is a path or a name in PATH, "" where
// there is none.
func (b *builder) program(c *commands, s *Secret, word string, dirs []string) (string, error) {
	if strings.Contains(word, "/") {
		if err := b.refuse(s, word); err != nil { // it may come to be before it is started
			return "", err
		}
		dirs = []string{"/"}
	}
	for _, dir := range dirs {
		p, _ := b.expand(word, dir)
		if at, err := b.f.find(p); err == nil && c.executable(p) == "" {
			return at.path, b.refuse(s, p)
		}
	}
	return "", nil
}

// interprets follows the #! lines of a program.
func (b *builder) interprets(c *commands, s *Secret, program string, dirs []string, depth int) error {
	head, err := b.h.ReadHead(program, 4096)
	line, script := bytes.CutPrefix(head, []byte("#!"))
	if err != nil || !script || depth > maxChain {
		return nil // the kernel says what is wrong
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return nil
	}
	for _, word := range words[1:] {
		if err := b.reads(s, word); err != nil {
			return err
		}
	}
	next := words[:1]
	if path.Base(words[0]) == "env" {
		next = append(next, envProgram(words[1:]))
	}
	for _, word := range next {
		if word == "" {
			continue
		}
		found, err := b.program(c, s, word, dirs)
		if err == nil && found != "" {
			err = b.interprets(c, s, found, dirs, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reads refuses an argument in which a path is that a server could write: whether it is
// run, read or sent is up to the program.
func (b *builder) reads(s *Secret, arg string) error {
	for _, p := range pathsIn(arg) {
		if err := b.refuse(s, p); err != nil {
			return err
		}
	}
	return nil
}

// refuse is the error of a path that a server could write.
func (b *builder) refuse(s *Secret, p string) error {
	abs, _ := b.expand(p, "/")
	at, err := b.f.find(abs)
	if err != nil {
		return &RuleError{s.Where + ": secret", fmt.Sprintf("the command needs %s: %s", abs, err)}
	}
	why := b.chosen(at)
	if why == "" {
		return nil
	}
	return &RuleError{s.Where + ": secret", fmt.Sprintf("the command needs %s, and %s: it could choose what is run outside of its jail, or what is sent as the secret; keep that where no server may write", abs, why)}
}

// free tells whether a server could write what is at a path.
func (b *builder) free(p string) bool {
	abs, _ := b.expand(p, "/")
	at, err := b.f.find(abs)
	return err != nil || b.chosen(at) != ""
}

// pathsIn lists what in a word a program could take for a path: it may be a list, the
// value of an option, or a line for a shell. The command runs in "/", so what is relative
// begins there.
func pathsIn(word string) (paths []string) {
	word = strings.NewReplacer("${HOME}", "~", "$HOME", "~").Replace(word)
	for _, separators := range [...]string{"", "\"'`=", "\"'`= \t\r\n:;,|&()<>{}@"} {
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			i := strings.Index(part, "/")
			if i < 0 {
				continue
			}
			if i > 0 && part[i-1] == '~' {
				i--
			}
			paths = append(paths, part[i:], path.Join("/", part))
		}
	}
	return paths
}
