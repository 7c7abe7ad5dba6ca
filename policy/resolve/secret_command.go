package resolve

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The command of a secret runs outside every jail with all rights of the user, and its output
// is sent. Therefore no server may be able to write the program, its interpreter, or a file
// that its arguments or variables name. Further files that the program reads (modules,
// settings in the home directory) are not known here.

// A commandChecker examines the command of one secret.
type commandChecker struct {
	*secrets
	commands *Resolver
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
	dirs := searchPath(b.h)
	// The command finds other programs in PATH: it gets only directories that no server can change.
	safe := slices.DeleteFunc(slices.Clone(dirs), b.writers.isChangeable)
	k := &commandChecker{b, &Resolver{Paths: b.paths, H: b.h}, s, safe}
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
		if err != nil || k.commands.executable(p) != "" {
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
	words := strings.Fields(k.commands.shebang(program))
	if len(words) == 0 || depth > maxChain {
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
			return &RuleError{k.secret.Where + ": secret", fmt.Sprintf("the command runs %s, which reads %s, and %s may write there (%s): it could choose what is run outside its jail, or what is sent as the secret; take that right from it", path.Base(program), abs, w.Name, w.Rule)}
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
	return &RuleError{k.secret.Where + ": secret", fmt.Sprintf("the command needs %s, and %s: it could choose what is run outside its jail, or what is sent as the secret; keep that where no server may write", abs, why)}
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

// secrets find the secrets of a policy, and refuse those that a server could choose.
type secrets struct {
	*facts
	writers *writers
}

// resolveSecrets finds out which secrets this host has, and puts their placeholders into
// the environment, also in place of values that another rule would forward. A missing
// secret is unset in the jail as it is outside, so that the server reports it as it does
// without a jail.
func (b *secrets) resolveSecrets(out *policy.Profile, host map[string]string, env map[string]policy.Variable) error {
	all, _ := b.p.AllSecrets() // validated
	for _, s := range all {
		missing, err := b.resolveSource(&s, host)
		if err != nil {
			return err
		}
		rule, forwarded := policy.MatchEnv(b.p.Env, s.Env)
		delete(env, s.Env)
		if missing != "" {
			b.warnings.warn("missing-secret", s.Where, "the secret %s is missing: %s %s; the server runs without this variable", s.Env, s.Source(), missing)
			continue
		}
		if forwarded && rule.Name == s.Env {
			b.warnings.warn("secret-variable", rule.Where, "the variable %s is a secret (%s): the server gets the placeholder in spite of the rule that forwards it", s.Env, s.Where)
		}
		value := host[s.Env]
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if s.File == "" && s.Command == nil && env[name].Value == value {
				b.warnings.warn("secret-copy", env[name].Rule, "the variable %s has the same value as the secret %s, and is forwarded", name, s.Env)
			}
		}
		env[s.Env] = policy.Variable{Name: s.Env, Value: policy.Placeholder(s.Env), Rule: strings.TrimPrefix(s.Where+": secret", ": ")}
		out.Secrets = append(out.Secrets, s)
	}
	return nil
}

// resolveSource completes the path of a secret's file, and returns what keeps the source
// from being read. A file that a server could choose or write is an error: mcp-jail would send
// any file of the user.
func (b *secrets) resolveSource(s *policy.Secret, host map[string]string) (missing string, err error) {
	switch {
	case s.Command != nil:
		return "", b.resolveSecretCommand(s)
	case s.File == "" && host[s.Env] == "":
		return "is not set", nil
	case s.File == "":
		return "", nil
	}
	s.File, _ = b.places.Expand(s.File, "")
	at, err := b.paths.Resolve(s.File)
	if err != nil {
		return err.Error(), nil
	}
	if l, w, ok := b.writers.writableLink(at.Links); ok {
		return "", &RuleError{s.Where + ": secret", fmt.Sprintf("the file %s leads through the symbolic link %s (-> %s), which %s could replace (%s): if that link is yours, write the path that is meant, %s. Otherwise remove it", s.File, l.Path, l.Target, w.Name, w.Rule, at.Path)}
	}
	if w, ok := b.writers.writerOf(at.Path, policy.Write); ok && at.Exists() {
		return "", &RuleError{s.Where + ": secret", fmt.Sprintf("%s could write the file %s (%s): keep it where no server may write", w.Name, s.File, w.Rule)}
	}
	s.File = at.Path // no link leads another way when it is read
	switch {
	case at.Reason != "":
		return "cannot be reached (" + at.Reason + ")", nil
	case !at.Exists():
		return "does not exist", nil
	case at.Info.Mode.IsDir():
		return "is a directory", nil
	}
	return "", nil
}

// siblingSecret returns the place of the secret, of another process of the server, whose source
// is this variable, or "". Only a rule that names such a variable forwards its value.
func siblingSecret(of *policy.Policy, env string) string {
	for _, p := range of.Others {
		for _, r := range p.Net {
			for _, s := range r.Secrets {
				if p.Server == of.Server && s.Env == env && s.File == "" && s.Command == nil {
					return s.Where
				}
			}
		}
	}
	return ""
}
