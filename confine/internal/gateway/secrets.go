//go:build linux || darwin

package gateway

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// secretTime bounds a command that prints a secret. The command may ask the user.
const secretTime = time.Minute

// maxSecret is the largest value of a secret, in bytes.
const maxSecret = 64 << 10

// readSecrets reads the secrets of a profile. Without run, it does so but for those that a command prints.
func readSecrets(ctx context.Context, p *policy.Profile, run bool) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range p.Secrets {
		if s.Program != "" && !run {
			continue
		}
		value, err := readSecret(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("the secret %s from %s: %w", s.Env, s.Source(), err)
		}
		values[s.Env] = strings.TrimRight(value, "\r\n")
		if values[s.Env] == "" {
			return nil, fmt.Errorf("the secret %s from %s is empty", s.Env, s.Source())
		}
	}
	return values, nil
}

func readSecret(ctx context.Context, s policy.Secret) (string, error) {
	switch {
	case s.File != "":
		// The path was canonical when it was resolved. openPlain refuses a newer link in it.
		f, err := openPlain(s.File)
		if err != nil {
			return "", err
		}
		b, err := readFile(f, maxSecret)
		return string(b), err
	case s.Command != nil:
		return runSecret(ctx, s)
	}
	return os.Getenv(s.Env), nil
}

// runSecret runs the program that policy/resolve found for a command, and returns its output.
// It does not search PATH again: by now a server could have put a program there.
func runSecret(ctx context.Context, s policy.Secret) (string, error) {
	if s.Program == "" {
		return "", fmt.Errorf("%s was not found, or cannot be executed", s.Command[0])
	}
	ctx, cancel := context.WithTimeout(ctx, secretTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Program, s.Command[1:]...)
	cmd.Args[0], cmd.Dir, cmd.WaitDelay = s.Command[0], "/", time.Second
	cmd.Env = secretEnvironment(s, os.Environ())
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && s.Unset != nil:
		return "", fmt.Errorf("%w; it ran without %s, whose values name files that a server may write", err, strings.Join(s.Unset, ", "))
	case err != nil:
		return "", err // without the command's output, which may contain the value
	case len(out) > maxSecret:
		return "", fmt.Errorf("its output is larger than %d KiB", maxSecret>>10)
	}
	return string(out), nil
}

// secretEnvironment returns the environment of a secret's command: what package environ has for
// it, and each variable that the command itself names. It has none of s.Unset.
func secretEnvironment(s policy.Secret, inherited []string) []string {
	var named []string
	for _, pair := range inherited {
		name, _, _ := strings.Cut(pair, "=")
		if slices.ContainsFunc(s.Command[1:], func(word string) bool { return names(word, name) }) {
			named = append(named, pair)
		}
	}
	all := environ.Build(environ.Secret, inherited, named...)
	return append(slices.DeleteFunc(all, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == "PATH" || slices.Contains(s.Unset, name)
	}), "PATH="+s.Path)
}

func names(text, name string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}), name)
}

// maxLeaks bounds the names and values that mcp-jail-tls looks for, in bytes: they must fit
// into one message with the secrets. A value that no longer fits is not looked for in requests.
const maxLeaks = 32 << 10

// leaksOf returns the secrets to find in the requests of a profile: those that the jail was given. If
// the user granted exactly one host, they may go there, and none is looked for.
func leaksOf(p *policy.Profile) (l egress.Leaks) {
	if p.Leaks != policy.LeaksWarn && p.Leaks != policy.LeaksBlock {
		return l
	}
	l.Tokens, l.Block = p.LeakPatterns, p.Leaks == policy.LeaksBlock
	if p.OneHost {
		return l
	}
	all, _ := leak.Sought(p.Env)
	size := 0
	for _, s := range all {
		if size+len(s.Name)+len(s.Value) <= maxLeaks {
			size += len(s.Name) + len(s.Value)
			l.Secrets = append(l.Secrets, s)
		}
	}
	return l
}
