package doctorcmd

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A loginPath is what the user's login shell makes of PATH. A nil list is not known.
type loginPath struct {
	Shell    string   `json:"shell,omitempty"`
	Terminal []string `json:"terminal,omitempty"` // of a shell after the next login
	Desktop  []string `json:"desktop,omitempty"`  // of programs that are started from the desktop
	Unknown  string   `json:"unknown,omitempty"`  // why that is not known
}

const (
	shellPatience = 3 * time.Second // for the files of a login shell
	maxAnswer     = 64 << 10
	maxSettings   = 100 // files in a directory
)

// askLoginShell asks the user's login shell for PATH. Its files can start anything, so it runs in a
// jail: it reads the user's home directory, writes nothing, reaches no network, and all that it has
// started ends with it.
func askLoginShell(ctx context.Context, host hostfs.Host) (l loginPath) {
	if host.OS == "windows" {
		return l // a program gets PATH from the registry, and no shell has a part in that
	}
	if l.Shell = loginShell(host); l.Shell == "" {
		l.Unknown = "the login shell is not known"
		return l
	}
	for _, ask := range []struct {
		to    *[]string
		flags string
	}{{&l.Terminal, "-lic"}, {&l.Desktop, "-lc"}} {
		if filepath.Base(l.Shell) == "dash" || filepath.Base(l.Shell) == "sh" {
			ask.flags = "-lc" // its interactive form asks for a terminal
		}
		path, err := askShell(ctx, host, l.Shell, ask.flags)
		if err != nil {
			l.Unknown = err.Error()
			return l
		}
		*ask.to = path
	}
	l.Desktop = append(l.Desktop, sessionPath(host)...)
	return l
}

// sessionPath returns the directories that the user's systemd adds to PATH of a desktop session:
// environment.d(5). Other variables than HOME count as empty there.
func sessionPath(host hostfs.Host) (dirs []string) {
	for _, dir := range []string{"/usr/lib/environment.d", "/etc/environment.d", filepath.Join(filepath.Dir(host.ConfigDir), "environment.d")} {
		names, _ := host.ReadDir(dir) // most users have none
		slices.SortFunc(names, func(a, b hostfs.DirEntry) int { return strings.Compare(a.Name, b.Name) })
		for _, name := range names[:min(len(names), maxSettings)] {
			text, err := host.ReadHead(filepath.Join(dir, name.Name), maxAnswer)
			if err != nil || !strings.HasSuffix(name.Name, ".conf") {
				continue
			}
			for line := range strings.Lines(string(text)) {
				value, ok := strings.CutPrefix(strings.TrimSpace(line), "PATH=")
				if !ok {
					continue
				}
				value = os.Expand(strings.Trim(value, `"'`), func(name string) string {
					if name == "HOME" {
						return host.Home
					}
					return ""
				})
				dirs = append(dirs, slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return !filepath.IsAbs(dir) })...)
			}
		}
	}
	return dirs
}

// loginShell returns the shell that the user database has, or else that of SHELL.
func loginShell(host hostfs.Host) string {
	text, err := host.ReadHead("/etc/passwd", 1<<20)
	if err == nil {
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(strings.TrimSpace(line), ":")
			if len(fields) == 7 && fields[2] == strconv.Itoa(host.UID) && filepath.IsAbs(fields[6]) {
				return fields[6]
			}
		}
	}
	if shell, _ := host.Getenv("SHELL"); filepath.IsAbs(shell) {
		return shell
	}
	return ""
}

func askShell(ctx context.Context, host hostfs.Host, shell, flags string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, shellPatience)
	defer cancel()
	read := []string{"/etc"}
	for _, dir := range []string{host.Home, "/opt", "/nix", "/snap", "/home/linuxbrew"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && dir != "/" {
			read = append(read, dir)
		}
	}
	mark := rand.Text() + "="
	command := []string{shell, flags, `printf '\n` + mark + `%s\n' "$PATH"`}
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: command, Name: "doctor", Home: "real", Read: read, Execute: read[1:]})
	if err != nil {
		return nil, err
	}
	host.Dir = "/"
	host.Environ = []string{"HOME=" + host.Home, "USER=" + host.User, "LOGNAME=" + host.User, "SHELL=" + shell, "TERM=dumb", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"}
	profile, _, err := resolve.Resolve(p, host)
	if err != nil {
		return nil, err
	}
	answer, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	// The shell runs without a jail at each login, so what macOS can never enforce does no harm here.
	launcher := confine.Launcher{Waive: []policy.Axis{policy.WaiveMacOS}}
	process, err := launcher.Start(ctx, profile, confine.Stdio{Out: out})
	out.Close()
	if err != nil {
		var open *confine.GapError
		if !errors.As(err, &open) || len(open.Gaps) == 0 {
			return nil, fmt.Errorf("the login shell was not asked for its PATH: %w", err)
		}
		g := open.Gaps[0]
		return nil, fmt.Errorf("the login shell was not asked for its PATH: it has the real HOME, and no jail with that is without gaps here (%s: %s)", g.What, g.Why)
	}
	stop := context.AfterFunc(ctx, func() { process.Kill() })
	defer stop()
	path := ""
	for lines := bufio.NewScanner(io.LimitReader(answer, maxAnswer)); lines.Scan(); {
		// What the files have started may keep the pipe open: do not wait for its end.
		if rest, ok := strings.CutPrefix(lines.Text(), mark); ok {
			path = rest
			break
		}
	}
	process.Kill() // with all that the files have started
	process.Wait()
	if path != "" {
		return filepath.SplitList(path), nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s did not say its PATH within %v: its files wait for something", shell, shellPatience)
	}
	return nil, fmt.Errorf("%s did not say its PATH in a jail", shell)
}

// checkPath checks that a shell finds mcp-jail after the next login.
func (i *installation) checkPath() []finding {
	if entries.InLauncherCache(i.self) {
		return nil // npx finds it
	}
	dir := filepath.Dir(i.self)
	isHere := func(dirs []string) bool {
		found := findProgram(dirs, programs.Main)
		return found != ""
	}
	switch now := isHere(i.searchPath()); {
	case i.login.Terminal == nil && now:
		return nil
	case i.login.Terminal == nil || isHere(i.login.Terminal):
		if now {
			return nil
		}
		return []finding{{Check: "path", What: "mcp-jail is not in PATH of this shell", Why: i.login.Unknown, Fix: i.lasting(dir)}}
	case now:
		return []finding{{Check: "path", What: "mcp-jail is in PATH of this shell, and not of the next one that you log in to", Fix: i.lasting(dir)}}
	}
	return []finding{{Check: "path", What: "mcp-jail is not in PATH: a shell finds it only by its path " + i.short(i.self), Fix: i.lasting(dir)}}
}

// plainDir matches directories that need no quoting in a shell.
var plainDir = lazy.Regexp(`^/[A-Za-z0-9_./+@,-]*$`)

// lasting returns how a directory comes into PATH for good.
func (i *installation) lasting(dir string) string {
	if i.host.OS == "windows" {
		return "open \"Edit environment variables for your account\" in the settings, add " + dir + " to Path, and open a new terminal"
	}
	shell, file := filepath.Base(i.login.Shell), "~/.profile"
	switch shell {
	case "zsh":
		file = "~/.zshrc"
	case "bash": // which reads the first of three
		for _, name := range []string{".bash_profile", ".bash_login"} {
			if _, err := os.Stat(filepath.Join(i.host.Home, name)); err == nil {
				file = "~/" + name
				break
			}
		}
	}
	quoted := dir
	if rest, below := strings.CutPrefix(dir, i.host.Home+"/"); below {
		quoted = "$HOME/" + rest // a "~" in quotation marks stays one
	}
	switch {
	case !plainDir().MatchString(dir):
		return "add " + dir + " to PATH in " + file + ", and log in again"
	case shell == "fish":
		return "type `fish_add_path " + dir + "`"
	}
	text := "type `echo 'export PATH=\"" + quoted + ":$PATH\"' >>" + file + "`, and log in again"
	if isClone(dir) {
		text += "; or install it for all shells: `sudo install " + filepath.Join(dir, "mcp-jail*") + " /usr/local/bin`, and then `mcp-jail wrap`"
	}
	return text
}

// isClone reports whether a directory is the bin directory of a clone.
func isClone(dir string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(dir), "go.mod"))
	return err == nil
}
