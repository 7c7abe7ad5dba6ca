package meaning

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// WindowsHosts returns the home directories on the drive C of the Windows that a Linux in WSL belongs to, each
// as package clients knows it; none on another system. root is the root of the Linux.
func WindowsHosts(root string) (all []clients.Host) {
	release, _ := os.ReadFile(filepath.Join(root, "proc/sys/kernel/osrelease"))
	if !strings.Contains(strings.ToLower(string(release)), "microsoft") {
		return nil
	}
	users := filepath.Join(root, "mnt/c/Users")
	found, _ := os.ReadDir(users)
	for _, f := range found {
		// Windows has links to other directories there, such as All Users.
		if !f.IsDir() || slices.Contains([]string{"public", "default", "default user", "all users", "defaultapppool"}, strings.ToLower(f.Name())) {
			continue
		}
		all = append(all, clients.Host{OS: "windows", Home: filepath.Join(users, f.Name()), Mounted: true})
	}
	return all
}

// Distribution returns the name under which Windows knows this Linux, or "".
func Distribution() string { return os.Getenv("WSL_DISTRO_NAME") }

// LeftToWindows returns why an entry of a client on Windows cannot be started in this Linux as it is written, or "".
func LeftToWindows(c clients.Client, e clients.Entry) clients.Reason {
	argv := e.Argv()
	switch {
	case Distribution() == "":
		return "is of a client on Windows, and WSL_DISTRO_NAME is not set, which has the name of this Linux there"
	case e.Cwd+e.EnvFile != "":
		return "has a directory to start in or a file of variables, which wsl.exe does not pass on: take it out, and write paths as Linux has them"
	}
	for _, word := range argv {
		if refs := c.References(word); len(refs) > 0 {
			return "has " + clients.Reason(refs[0].Text) + ", in place of which the client puts what Windows has: write what Linux has"
		}
	}
	args := e.Args
	if line, err := runline.Parse(argv); err == nil {
		args = line.Args
	} else if why := program(argv[0]); why != "" {
		return why
	}
	for _, word := range args {
		if hasWindowsPath(word) {
			return "has an argument that is a path of Windows (" + clients.Reason(word) + "): write it as Linux has it, such as /mnt/c/Users/NAME"
		}
	}
	return variables(e)
}

// program returns why a program that fetches no package does not start in this Linux, or "".
func program(name string) clients.Reason {
	if isOfWindows(name) {
		return "starts a program of Windows (" + clients.Reason(name) + "), which does not run in a jail of Linux: install the server in Linux, and name it there"
	}
	if _, err := exec.LookPath(name); err != nil {
		return "starts " + clients.Reason(name) + ", which this Linux does not have in its PATH: install it here"
	}
	return ""
}

// variables returns which variables of an entry do not reach its server, or "". wsl.exe passes on those
// that WSLENV names.
func variables(e clients.Entry) clients.Reason {
	passed := map[string]bool{"WSLENV": true}
	for _, v := range e.Env {
		if v.Name == "WSLENV" {
			for item := range strings.SplitSeq(v.Value, ":") {
				name, _, _ := strings.Cut(item, "/")
				passed[name] = true
			}
		}
	}
	var lacking []string
	for _, name := range e.EnvNames() {
		if !passed[name] {
			lacking = append(lacking, name+"/u")
		}
	}
	if lacking == nil {
		return ""
	}
	return clients.Reason("sets variables that wsl.exe does not pass on: add \"WSLENV\": \"" + strings.Join(lacking, ":") + "\" to its " + cmp.Or(e.Shape.Env, "env"))
}

// HostOf returns the host of some whose clients look for servers in a file, or else the last one.
func HostOf(path string, some []clients.Host, other clients.Host) clients.Host {
	for _, h := range some {
		found := false
		clients.EachReader(path, h, func(clients.Client, clients.Place) { found = true })
		if found {
			return h
		}
	}
	return other
}

// BeforeWindows returns the words that start mcp-jail for the clients of a host.
func BeforeWindows(h clients.Host) []string {
	if h.Mounted {
		return clients.WSLWords(Distribution())
	}
	return nil
}

// anyPath matches a path of Windows at the start of a word or of a value in it.
var anyPath = show.Pattern(`(?i)(?:^|[=,;"'])(?:[a-z]:[\\/]|\\\\)`)

// hasWindowsPath reports whether a word is a path of Windows, or has one as its value.
func hasWindowsPath(word string) bool { return anyPath().MatchString(word) }

// isOfWindows reports whether the name of a program is one of Windows.
func isOfWindows(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return strings.Contains(name, `\`) || hasWindowsPath(name) || slices.Contains([]string{".exe", ".cmd", ".bat", ".ps1"}, ending) || strings.EqualFold(name, "cmd")
}
