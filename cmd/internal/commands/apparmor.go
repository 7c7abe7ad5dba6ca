package commands

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// builders are the programs that build jails: mcp-jail itself, and mcp-jail-cli, which it executes for
// call, check and install.
const builders = cmdline.Main + "{,-cli}"

// apparmorPackaged matches the paths where packages and administrators install mcp-jail.
const apparmorPackaged = "/usr/{,local/}bin/" + builders

// apparmorProfile returns an AppArmor profile that allows programs at some paths to create user
// namespaces under kernel.apparmor_restrict_unprivileged_userns. The profile restricts
// nothing; mcp-jail does. It has the paths of packages, too: their profile has the same name, and
// this one may replace it.
func apparmorProfile(paths ...string) string {
	if !slices.Contains(paths, apparmorPackaged) {
		paths = append(slices.Clone(paths), apparmorPackaged)
	}
	return `# Allows mcp-jail to create user namespaces, which its jails need, on kernels that allow
# them only to programs with a profile (Ubuntu 23.10 and newer).
#
#   sudo cp THIS-FILE /etc/apparmor.d/mcp-jail
#   sudo apparmor_parser -r /etc/apparmor.d/mcp-jail
#
# The permission belongs to the path. Any user who can write to the path can use it, so
# prefer a path that only root can write to. Programs in a jail cannot create namespaces.
abi <abi/4.0>,
include <tunables/global>

@{mcp_jail} = ` + strings.Join(paths, "\n@{mcp_jail} += ") + `

profile mcp-jail @{mcp_jail} flags=(unconfined) {
  userns,

  include if exists <local/mcp-jail>
}
`
}

// printApparmorProfile prints the profile for this program, and for the copy that clients start if a
// launcher fetched this one.
func printApparmorProfile(c terminal.Console) error {
	self, err := cmdline.Beside(cmdline.Main)
	var host hostfs.Host
	if err == nil {
		host, err = hostfs.LocalHost()
	}
	if err != nil {
		return &terminal.HostError{Err: err}
	}
	programs := []string{self}
	if index.InLauncherCache(self) {
		programs = []string{index.CopyPath(host), self}
	}
	var patterns, shared []string
	for _, path := range programs {
		path = withoutLinks(path) // AppArmor knows none
		pattern, err := apparmorPattern(path, isSticky)
		if err != nil {
			return &terminal.HostError{Err: err}
		}
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
		if othersWrite(path) {
			shared = append(shared, cli.ShortPath(path, host.Home))
		}
	}
	c.Printf("%s", apparmorProfile(patterns...))
	if shared != nil {
		c.Notef("%s", c.FoldMessages(fmt.Sprintf("%s not only root can write to %s: every program that can put a file there can create user namespaces by this profile. To lend them to mcp-jail alone, install it in /usr/local/bin", c.Paint(terminal.Yellow, "note:"), strings.Join(shared, " and "))))
	}
	return nil
}

// version is a version in the name of a directory, as package managers write it: 1.2.3, v22.1.0,
// mcp-jail_1.2.3_linux_amd64, @mcp-jail+linux-x64@1.2.3.
var version = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[@_-])v?[0-9]+(\.[0-9]+)+([-+~.][0-9A-Za-z.+~-]+)?(?:_[0-9]+$)?(_|$)`)
})

// apparmorPattern returns the pattern of AppArmor for a program and mcp-jail-cli beside it
// (apparmor.d(5), "Globbing"). It has "*" for what an update changes: a version, and the names that
// launchers give their directories. In a sticky directory anyone may make another name, so the names
// there stay.
func apparmorPattern(path string, sticky func(dir string) bool) (string, error) {
	if strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }) {
		return "", fmt.Errorf("no profile of AppArmor can name %q: move mcp-jail to a path without backslashes and control characters", path)
	}
	var parts []string
	dirs, cached := strings.Split(filepath.Dir(path), "/"), false
	for i, name := range dirs {
		parts = append(parts, escaped(name))
		cached = cached && name != "node_modules"
		switch at := version().FindStringSubmatchIndex(name); {
		case i == 0 || sticky(strings.Join(dirs[:i], "/")+"/"):
		case cached:
			parts[i] = "*"
		case at != nil:
			parts[i] = escaped(name[:at[3]]) + "*" + escaped(name[at[8]:])
		}
		cached = cached || name == "_npx" || name == "dlx"
	}
	pattern := strings.Join(append(parts, builders), "/")
	if strings.ContainsFunc(path, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"#,=()`, r) }) {
		pattern = `"` + pattern + `"`
	}
	return pattern, nil
}

func escaped(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`*?[]{}^",@`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// withoutLinks returns a path without symbolic links, as far as it exists.
func withoutLinks(path string) string {
	for dir, rest := filepath.Dir(path), filepath.Base(path); ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

func isSticky(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || info.Mode()&fs.ModeSticky != 0
}
