package resolve

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
)

// The command of a secret runs outside every jail with all rights of the user, and its output
// is sent. Therefore no server may be able to write the program, its interpreter, or a file
// that its arguments or variables name. Further files that the program reads (modules,
// settings in the home directory) are not known here.

// A commandChecker examines the command of one secret.
type commandChecker struct {
	*secrets
	commands *command.Resolver
	secret   *policy.Secret
	safePath []string // the directories of PATH that no server could change: the command's own PATH
}

// programSettings are the sensitive paths that programs which print secrets read by
// default. They decide which secret is printed, and most of them which programs are run for it.
var programSettings = map[string][]string{
	"aws": {"~/.aws"}, "az": {"~/.azure"}, "gcloud": {"~/.config/gcloud"}, "gh": {"~/.config/gh"}, "op": {"~/.config/op"},
	"pass": {"~/.password-store", "~/.gnupg"}, "gopass": {"~/.password-store", "~/.gnupg"}, "gpg": {"~/.gnupg"},
	"kubectl": {"~/.kube"}, "docker": {"~/.docker/config.json"}, "npm": {"~/.npmrc"}, "ssh": {"~/.ssh"}, "git": {"~/.git-credentials", "~/.config/git/credentials"},
}

// resolveSecretCommand finds the program of a secret's command, the PATH that it gets, and the
// variables that it does not get. The Program of a command that is not found stays "": the
// command then fails when it is run.
func (b *secrets) resolveSecretCommand(s *policy.Secret) error {
	dirs := command.SearchPath(b.h)
	// The command finds other programs in PATH: it gets only directories that no server can change.
	safe := slices.DeleteFunc(slices.Clone(dirs), b.writers.isChangeable)
	k := &commandChecker{b, &command.Resolver{Paths: b.paths, H: b.h}, s, safe}
	program, err := k.checkProgram(s.Command[0], dirs, 0)
	if err != nil || program == "" {
		return err
	}
	for _, arg := range s.Command[1:] {
		if err := k.checkArgument(arg, 0); err != nil {
			return err
		}
	}
	s.Program, s.Path = program, strings.Join(safe, ":")
	for _, e := range b.h.Environ {
		name, value, _ := strings.Cut(e, "=")
		if name != "PATH" && name != "HOME" && slices.ContainsFunc(b.pathsIn(value), b.writers.isChangeable) {
			s.Unset = append(s.Unset, name)
		}
	}
	return nil
}

// checkProgram returns the file of the program that a word names, or "". It refuses one that a server could
// write, or whose settings or #! line lead to what a server could write.
func (k *commandChecker) checkProgram(word string, dirs []string, depth int) (string, error) {
	if strings.Contains(word, "/") {
		if err := k.checkPath(word); err != nil { // it may come to be before it is started
			return "", err
		}
		dirs = []string{"/"}
	}
	for _, dir := range dirs {
		p, _ := k.places.Expand(word, dir)
		at, err := k.paths.Resolve(p)
		if err != nil || k.commands.Executable(p) != "" {
			continue
		}
		if err = k.checkPath(p); err == nil {
			err = k.checkSettings(p)
		}
		if err == nil {
			err = k.checkInterpreter(at.Path, depth+1)
		}
		return at.Path, err
	}
	return "", nil
}

func (k *commandChecker) checkInterpreter(program string, depth int) error {
	words := strings.Fields(k.commands.Shebang(program))
	if len(words) == 0 || depth > command.MaxChain {
		return nil // if something is wrong with it, the kernel refuses to start it
	}
	if _, err := k.checkProgram(words[0], nil, depth); err != nil {
		return err
	}
	for _, word := range words[1:] { // of env, one is the interpreter, which it finds in the safe PATH
		if err := k.checkArgument(word, depth); err != nil {
			return err
		}
	}
	return nil
}

// checkArgument refuses an argument that contains a path, or the name of a program, that
// leads to a file which a server could write. The command may run, read or send it.
func (k *commandChecker) checkArgument(arg string, depth int) error {
	words := k.pathsIn(arg)
	for _, part := range k.partsOf(arg) {
		if !strings.Contains(part, "/") {
			words = append(words, part)
		}
	}
	for _, word := range words {
		if _, err := k.checkProgram(word, k.safePath, depth); err != nil {
			return err
		}
	}
	return nil
}

func (k *commandChecker) checkSettings(program string) error {
	for _, p := range programSettings[path.Base(program)] {
		abs, _ := k.places.Expand(p, "/")
		if w, ok := k.writers.writerInside(k.paths.Canonical(abs), policy.Write); ok {
			return &RuleError{k.secret.Where + ": secret", fmt.Sprintf("the command runs %s, which reads %s, and %s may write there (%s): it could choose what is run outside of its jail, or what is sent as the secret; take that right from it", path.Base(program), abs, w.Name, w.Rule)}
		}
	}
	return nil
}

func (k *commandChecker) checkPath(p string) error {
	abs, _ := k.places.Expand(p, "/")
	at, err := k.paths.Resolve(abs)
	if err != nil {
		return &RuleError{k.secret.Where + ": secret", fmt.Sprintf("the command needs %s: %s", abs, err)}
	}
	why := k.writers.whyChangeable(at)
	if why == "" {
		return nil
	}
	return &RuleError{k.secret.Where + ": secret", fmt.Sprintf("the command needs %s, and %s: it could choose what is run outside of its jail, or what is sent as the secret; keep that where no server may write", abs, why)}
}

// pathsIn returns the parts of a word that a program could take for a path. The command
// runs in "/", so relative paths begin there.
func (b *secrets) pathsIn(word string) (paths []string) {
	for _, part := range b.partsOf(word) {
		i := strings.Index(part, "/")
		if i < 0 {
			continue
		}
		begin := part[i:]
		if user := strings.TrimSuffix(part[:i], b.h.User); strings.HasSuffix(part[:i], "~") || strings.HasSuffix(user, "~") {
			begin = "~" + begin
		}
		paths = append(paths, begin, path.Join("/", part))
	}
	return paths
}

// partsOf splits a word as a list, as the value of an option, and as a shell's command line. Its variables
// are expanded, and quotes count as what they are and as nothing.
func (b *secrets) partsOf(word string) (parts []string) {
	word = os.Expand(word, func(name string) string {
		switch value, set := b.h.Getenv(name); {
		case name == "HOME":
			return b.h.Home
		case name == "PWD":
			return "/"
		case set:
			return value
		}
		return "${" + name + "}"
	})
	bare := strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(word)
	for _, separators := range [...]string{"\"'`= \t\r\n:;,|&()<>{}@", "\"'`=", ""} {
		for _, w := range [...]string{word, bare} {
			for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
				if !slices.Contains(parts, part) {
					parts = append(parts, part)
				}
			}
		}
	}
	return parts
}
