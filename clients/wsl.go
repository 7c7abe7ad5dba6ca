package clients

import (
	"slices"
	"strings"
)

// WSLWords returns the words by which a client on Windows starts a program of a Linux in WSL, in the
// user's home directory there. Without --cd it would start where the client does, which may be a
// directory that Windows starts programs from.
func WSLWords(distribution string) []string {
	return []string{"wsl.exe", "-d", distribution, "--cd", "~", "--exec"}
}

// WSL returns what the words before mcp-jail say if they are those of wsl.exe: the distribution, "" for
// the default one, and whether mcp-jail starts there as its user, in the home directory or where the client
// does.
func (w Wrapped) WSL() (distribution string, plain, is bool) {
	if len(w.Launcher) == 0 || !isWSL(w.Launcher[0]) {
		return "", false, false
	}
	plain = true
	for i := 1; i+1 < len(w.Launcher); i += 2 {
		value := w.Launcher[i+1]
		switch w.Launcher[i] {
		case "-d", "--distribution":
			distribution = value
		case "--cd":
			plain = plain && value == "~"
		default:
			plain = false
		}
	}
	return distribution, plain, true
}

func isWSL(program string) bool {
	name := strings.ToLower(baseName(program))
	return name == "wsl" || name == "wsl.exe"
}

// wslWords returns how many words come before the mcp-jail that wsl.exe starts, or 0.
func wslWords(argv []string) int {
	if len(argv) < 3 || !isWSL(argv[0]) {
		return 0
	}
	i := 1
	for ; i < len(argv); i += 2 {
		if !slices.Contains([]string{"-d", "--distribution", "-u", "--user", "--cd", "--shell-type"}, argv[i]) {
			break
		}
	}
	if i < len(argv) && slices.Contains([]string{"-e", "--exec", "--"}, argv[i]) {
		i++
	}
	if i < len(argv) && isOurs(argv[i]) {
		return i
	}
	return 0
}
