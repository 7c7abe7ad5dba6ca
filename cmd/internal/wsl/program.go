package wsl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Program is wsl.exe.
type Program struct{ Path string }

// listing is how long wsl.exe may take to list distributions. It starts none for that.
const listing = 30 * time.Second

// List returns the distributions of this Windows.
func (p Program) List() ([]Distribution, error) {
	quiet, err := p.output("--list", "--quiet")
	if err != nil {
		return nil, err
	}
	verbose, err := p.output("--list", "--verbose")
	return Parse(quiet, verbose), err
}

// IsRunning reports whether a distribution is running. wsl.exe fails where none is.
func (p Program) IsRunning(name string) bool {
	printed, err := p.output("--list", "--running", "--quiet")
	if err != nil {
		return false
	}
	for _, line := range lines(printed) {
		if strings.EqualFold(line, name) {
			return true
		}
	}
	return false
}

// output returns what wsl.exe prints. It prints errors there too, and then has a status that is not 0. A list
// without entries is such an error.
func (p Program) output(args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(context.Background(), listing)
	defer stop()
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.WaitDelay = time.Second
	printed, err := cmd.Output()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not list its distributions within %s: `wsl --shutdown` ends what hangs, and all that runs in WSL", p.Path, listing)
	case errors.As(err, &failed) && args[len(args)-1] == "--quiet":
		return nil, nil
	case errors.As(err, &failed):
		return printed, nil
	}
	return printed, err
}

// finding is a script of sh that executes the mcp-jail of a distribution with its arguments. It looks where
// people install it, and in PATH, of which WSL makes those of Windows a part: a program there is none of
// Linux, and a mcp-jail there can be the one that starts this.
const finding = `for p in "$HOME/.local/bin/mcp-jail" "$HOME/bin/mcp-jail" /usr/local/bin/mcp-jail /usr/bin/mcp-jail; do [ -x "$p" ] && exec "$p" "$@"; done; ` +
	`IFS=:; for d in $PATH; do case $d in "$0"/[a-z]|"$0"/[a-z]/*|[!/]*|"") ;; *) [ -x "$d/mcp-jail" ] && exec "$d/mcp-jail" "$@";; esac; done; ` +
	`echo "mcp-jail: this distribution has no mcp-jail" >&2; exit 127`

// missing is the status of finding where it finds none, as of a shell.
const missing = 127

// Words returns the arguments of wsl.exe that start the mcp-jail of a distribution as its user, in the user's
// home directory. With --exec wsl.exe takes arguments apart as any program of Windows does, and no shell
// reads them.
func (t Target) Words(args []string) []string {
	return append([]string{"-d", t.Name, "--cd", "~", "--exec", "/bin/sh", "-c", finding, strings.TrimSuffix(t.Root, "/")}, args...)
}

// Found is what a distribution says of itself.
type Found struct {
	Version string // of its mcp-jail; "" if it has none
	Root    string // where it has the drives
}

// Ask starts a distribution, if it does not run, and returns what it says.
func (p Program) Ask(ctx context.Context, name string) (Found, error) {
	t := Target{name, usualRoot}
	cmd := exec.CommandContext(ctx, p.Path, "-d", name, "--cd", "~", "--exec", "/bin/sh", "-c", `wslpath -a 'C:\'`)
	printed, err := cmd.Output()
	if err != nil {
		return Found{}, failed("start", name, printed, err)
	}
	root, isDrive := strings.CutSuffix(strings.TrimRight(strings.TrimSpace(string(printed)), "/"), "/c")
	if !isDrive {
		return Found{}, fmt.Errorf("%s does not mount the drive C, so no path of Windows can be given to servers there: its /etc/wsl.conf must not have automount off", name)
	}
	if root == "" {
		root = "/"
	}
	found := Found{Root: root}
	t.Root = root
	cmd = exec.CommandContext(ctx, p.Path, t.Words([]string{"version"})...)
	printed, err = cmd.Output()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == missing {
		return found, nil
	}
	if err != nil {
		return found, failed("start mcp-jail in", name, printed, err)
	}
	found.Version, _, _ = strings.Cut(strings.TrimPrefix(string(bytes.TrimSpace(printed)), "mcp-jail "), "\n")
	return found, nil
}

func failed(what, name string, printed []byte, err error) error {
	said := strings.Join(strings.Fields(Text(printed)), " ")
	var exited *exec.ExitError
	if errors.As(err, &exited) && said == "" {
		said = strings.Join(strings.Fields(Text(exited.Stderr)), " ")
	}
	if said == "" {
		said = err.Error()
	}
	return fmt.Errorf("wsl.exe cannot %s %s: %s", what, name, said)
}

// Missing returns the error about a distribution without mcp-jail.
func (t Target) Missing() error {
	return fmt.Errorf("the distribution %s has no mcp-jail: install it there (docs/wsl.md has the steps). `%s` opens a shell in it. It is looked for in ~/.local/bin, ~/bin, /usr/local/bin, /usr/bin, and in those directories of PATH that are not of Windows", t.Name, t.Shell())
}

// Explain returns why a distribution did not start its mcp-jail: the reason that its list shows, or else what
// wsl.exe said.
func (p Program) Explain(t Target, end End) error {
	if end.Status == missing {
		return t.Missing()
	}
	all, err := p.List()
	if err == nil {
		if _, err = Choose(all, t.Name); err == nil {
			err = failed("start mcp-jail in", t.Name, end.Said, fmt.Errorf("it ended with status %d", end.Status))
		}
	}
	return err
}

// Start starts the mcp-jail of a distribution and relays its streams, until it ends.
func (p Program) Start(t Target, args, environment []string, s Streams) (End, error) {
	cmd := exec.Command(p.Path, t.Words(args)...)
	cmd.Env, cmd.Stderr = environment, s.Err
	return s.relay(cmd)
}
