package show

import (
	"strings"
	"unicode/utf8"
)

// bareWindows are the characters that neither PowerShell nor cmd.exe acts on.
const bareWindows = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:\\"

// actsOn are characters that PowerShell, cmd.exe or the program acts on between quotation marks too.
const actsOn = "\"$`%!\u201c\u201d\u201e"

// windowsWord quotes a word for the shells of Windows. why is "" if PowerShell, cmd.exe and the program all
// read it as meant. Else it continues a sentence about the word. A backslash before the last quotation
// mark would count as its escape, and PowerShell 5 drops an empty word.
func windowsWord(s string) (word, why string) {
	acting := strings.IndexAny(s, actsOn)
	switch {
	case s != "" && strings.Trim(s, bareWindows) == "" && !isSplit(s):
		return s, ""
	case s == "":
		return `""`, "is empty, and PowerShell drops such a word"
	case acting >= 0:
		char, _ := utf8.DecodeRuneInString(s[acting:])
		return `"` + s + `"`, "has the character " + string(char) + ", which shells of Windows act on between quotation marks too"
	case strings.HasSuffix(s, `\`):
		return `"` + s + `\"`, "ends with a backslash, which would take the quotation mark after it for text"
	}
	return `"` + s + `"`, ""
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
