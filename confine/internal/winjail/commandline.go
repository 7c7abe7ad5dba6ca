package winjail

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// maxCommandLine is how many UTF-16 units a command line has at most, with the zero at its end
// (CreateProcessW).
const maxCommandLine = 32767

// CommandLine writes arguments as the one text that Windows passes to a program. A program that splits it
// by the rules of CommandLineToArgvW gets the same arguments. Programs with rules of their own, cmd.exe
// above all, do not.
func CommandLine(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", errors.New("it has no program")
	}
	// The first word knows no escape: it ends at the next quote.
	if strings.Contains(argv[0], `"`) {
		return "", fmt.Errorf("the name of the program has a quotation mark: %q", argv[0])
	}
	var b strings.Builder
	b.WriteString(`"` + argv[0] + `"`)
	for _, a := range argv[1:] {
		b.WriteByte(' ')
		writeArgument(&b, a)
	}
	line := b.String()
	if strings.ContainsRune(line, 0) {
		return "", errors.New("an argument has a zero byte, which would end it early")
	}
	if n := len(utf16.Encode([]rune(line))) + 1; n > maxCommandLine {
		return "", fmt.Errorf("it has %d characters, and Windows takes %d", n, maxCommandLine)
	}
	return line, nil
}

// writeArgument writes an argument other than the first. Backslashes stand for themselves, except before
// a quotation mark: there each counts as half of one.
func writeArgument(b *strings.Builder, a string) {
	if a != "" && !strings.ContainsAny(a, " \t\n\v\"") {
		b.WriteString(a)
		return
	}
	b.WriteByte('"')
	backslashes := 0
	for i := range len(a) {
		switch a[i] {
		case '\\':
			backslashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, backslashes+1))
			backslashes = 0
		default:
			backslashes = 0
		}
		b.WriteByte(a[i])
	}
	b.WriteString(strings.Repeat(`\`, backslashes))
	b.WriteByte('"')
}
