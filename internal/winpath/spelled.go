package winpath

import "strings"

// Spelled returns a path as its drive spells it. real returns that spelling of a path that exists, and an
// error for another. What does not exist stays as it is written, but for slashes, and so does a path
// that Clean refuses.
func Spelled(path string, real func(path string) (string, error)) string {
	clean, err := Clean(path)
	if err != nil {
		clean = strings.ReplaceAll(path, "/", `\`) // of another machine, or with a short name
	}
	for at := clean; ; at = Dir(at) {
		if found, err := real(at); err == nil {
			if again, err := Clean(found); err == nil {
				found = again
			}
			if rest := strings.Trim(clean[len(at):], `\`); rest != "" {
				found = strings.TrimRight(found, `\`) + `\` + rest
			}
			return found
		}
		if at == Dir(at) || Dir(at) == "" {
			return clean
		}
	}
}
