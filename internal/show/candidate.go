package show

import "strings"

// Candidate returns a proposal for the script of a shell's completion: a word, and text about it,
// which may be empty. ok is false if the script would act on the word, or insert another one than
// is meant: control characters, ":" and quotes, a marker of the script, a leading "-".
func Candidate(word, about string) (line string, ok bool) {
	if word == "" || strings.HasPrefix(word, "_activeHelp_") || strings.IndexByte(" -./=@", word[0]) >= 0 ||
		strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._@/=-") != "" {
		return "", false
	}
	if about != "" {
		word += "\t" + Line(about)
	}
	return word, true
}
