package show

import "strings"

// bareWindows are the characters that neither PowerShell nor cmd.exe acts on.
const bareWindows = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:\\"

// windowsWord quotes a word for the shells of Windows. ok is false if PowerShell, cmd.exe and the program
// do not all read it as meant: between quotation marks, each of them still acts on other characters, and a
// backslash before the last mark would count as its escape. PowerShell 5 drops an empty word.
func windowsWord(s string) (word string, ok bool) {
	ok = s != "" && !strings.ContainsAny(s, "\"$`%!\u201c\u201d\u201e") && !strings.HasSuffix(s, `\`)
	switch {
	case s != "" && strings.Trim(s, bareWindows) == "" && !isSplit(s):
		return s, true
	case strings.HasSuffix(s, `\`) && !strings.ContainsAny(s, "\"$`%!"):
		return `"` + s + `\"`, false
	}
	return `"` + s + `"`, ok
}

// isSplit reports whether PowerShell would make two words of one: of a flag with a dot or a colon.
func isSplit(s string) bool { return strings.HasPrefix(s, "-") && strings.ContainsAny(s, ".:") }

// isWindowsPath reports whether a name begins with a drive and a backslash.
func isWindowsPath(s string) bool {
	return len(s) > 2 && 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z' && s[1] == ':' && s[2] == '\\'
}

// windowsPath is [Name] for a path that begins with a drive. That its first backslash is single says that
// nothing in it is an escape.
func windowsPath(s string) string {
	switch {
	case isPlainName(s):
		return s
	case Line(s) == s && !strings.Contains(s, `"`):
		return `"` + s + `"`
	}
	return quoteName(s)
}
