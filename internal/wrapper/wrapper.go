// Package wrapper knows the programs that command lines have before the server itself.
//
//   - Wrappers set something up and then become, or wait for, another program: env, timeout, nice,
//     ionice, nohup, stdbuf, taskset and time, and shells that run one simple command. Their options
//     are those of coreutils and util-linux, and none is guessed: an abbreviated option, or one that
//     changes how the words after it are read, is not understood.
//   - Launchers fetch, build or look up what the server needs. A table has them.
//   - A few programs, such as docker and ssh, have another process start the server.
//
// It is pure, and knows nothing of this machine. Begin at [Unwrap].
package wrapper

import "strings"

// A Line is the command line of a wrapper, taken apart.
type line struct {
	Own   []string // the wrapper's words: its name, options, assignments and values
	Inner []string // the command line that it starts; empty if it starts none

	// What env does.
	Dir   string   // the directory that it starts the command in; "" is its own
	Set   []string // the variables that it sets, as NAME=value, in order
	Unset []string // the variables that it removes
	Plain bool     // it does nothing but to set variables
}

// An Error says which word of a wrapper's line is not understood.
type Error struct {
	Word string // "" if a word is missing
	Why  string
}

func (e *Error) Error() string { return e.Why }

// Is reports whether a program is one of these wrappers.
func Is(name string) bool {
	if name == "env" {
		return true
	}
	_, ok := tables[name]
	return ok
}

// A table has the options of a wrapper. Those of one letter may be written together, and a value may
// be part of the word.
type table struct {
	switches string   // letters without a value
	valued   string   // letters with one
	long     []string // long options; with "=" at the end if they have a value
	first    func(word string) bool
	digits   bool // -10 is an option: nice
}

var tables = map[string]table{
	"nohup":   {},
	"timeout": {switches: "fpv", valued: "ks", long: []string{"foreground", "preserve-status", "verbose", "kill-after=", "signal="}, first: isDuration},
	"nice":    {valued: "n", long: []string{"adjustment="}, digits: true},
	"ionice":  {switches: "t", valued: "cn", long: []string{"class=", "classdata=", "ignore"}},
	"stdbuf":  {valued: "ioe", long: []string{"input=", "output=", "error="}},
	"taskset": {switches: "c", long: []string{"cpu-list"}, first: isCPUs},
	"time":    {switches: "pqv", valued: "f", long: []string{"portability", "quiet", "verbose", "format="}},
}

// Parse takes apart the line of a wrapper: name is the name of the program argv[0]. It returns an
// [*Error] if a word is not understood. Inner is a part of argv.
func Parse(name string, argv []string) (line, error) {
	l := line{Own: argv[:1:1]}
	if name == "env" {
		err := l.env(argv[1:])
		return l, err
	}
	t, words := tables[name], argv[1:]
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' {
		word := words[0]
		if word == "--" {
			l.Own, words = append(l.Own, word), words[1:]
			break
		}
		n, err := t.option(word, len(words))
		if err != nil {
			return l, err
		}
		l.Own, words = append(l.Own, words[:n]...), words[n:]
	}
	if t.first != nil && len(words) > 0 {
		if !t.first(words[0]) {
			return l, &Error{words[0], name + " does not take it"}
		}
		l.Own, words = append(l.Own, words[0]), words[1:]
	}
	l.Inner = words
	return l, nil
}

// option returns how many words an option takes: itself, and its value. left is how many there are.
func (t table) option(word string, left int) (n int, err error) {
	unknown := &Error{word, "this option is not known here"}
	if t.digits && strings.Trim(strings.TrimLeft(word[1:], "+-"), "0123456789") == "" {
		return 1, nil // --10 is a value too
	}
	n = 1
	if long, ok := strings.CutPrefix(word, "--"); ok {
		name, _, valued := strings.Cut(long, "=")
		for _, o := range t.long {
			takes := strings.HasSuffix(o, "=")
			if strings.TrimSuffix(o, "=") != name || valued && !takes {
				continue
			}
			if takes && !valued {
				n++
			}
			return n, missing(word, n, left)
		}
		return 0, unknown
	}
	for i, c := range word[1:] {
		switch {
		case strings.ContainsRune(t.switches, c):
		case strings.ContainsRune(t.valued, c):
			if i+2 == len(word) {
				n++
			}
			return n, missing(word, n, left)
		default:
			return 0, unknown
		}
	}
	return n, nil
}

func missing(word string, n, left int) error {
	if n > left {
		return &Error{word, "its value is missing"}
	}
	return nil
}

func isDuration(word string) bool {
	return word != "" && strings.Trim(strings.TrimRight(word, "smhd"), "0123456789.") == "" && word[0] >= '.' && word[0] <= '9'
}

func isCPUs(word string) bool {
	return word != "" && strings.Trim(word, "0123456789abcdefABCDEFx,-:") == ""
}

func (l *line) env(words []string) error {
	l.Plain = true
	for len(words) > 0 && len(words[0]) > 0 && words[0][0] == '-' {
		switch word := words[0]; word {
		case "--":
			l.Own = append(l.Own, word)
			return l.assignments(words[1:])
		case "-": // as -i, and no option follows
			return l.assignments(words[1:])
		}
		rest, err := l.envOption(words)
		if err != nil {
			return err
		}
		words = rest
	}
	return l.assignments(words)
}

func (l *line) assignments(words []string) error {
	for len(words) > 0 {
		name, _, ok := strings.Cut(words[0], "=")
		if !ok {
			break
		}
		if name == "" {
			return &Error{words[0], "it sets a variable without a name"}
		}
		l.Set = append(l.Set, words[0])
		l.Own, words = append(l.Own, words[0]), words[1:]
	}
	l.Inner = words
	return nil
}

// envOption takes an option of env, which may be several letters such as -iC. -i and -v change nothing here:
// what a jail sets stays, and what -v prints goes to stderr.
func (l *line) envOption(words []string) (rest []string, err error) {
	word, rest := words[0], words[1:]
	unknown := &Error{word, "this option is not known here"}
	letter, value, has := byte(0), "", false
	if name, isLong := strings.CutPrefix(word, "--"); isLong {
		name, value, has = strings.Cut(name, "=")
		letter = map[string]byte{"ignore-environment": 'i', "debug": 'v', "unset": 'u', "chdir": 'C'}[name]
	} else {
		letters := strings.TrimLeft(word[1:], "iv")
		if letters == "" {
			return rest, nil
		}
		letter, value, has = letters[0], letters[1:], len(letters) > 1
	}
	switch {
	case (letter == 'i' || letter == 'v') && !has:
		return rest, nil
	case letter != 'u' && letter != 'C':
		return nil, unknown
	case !has && len(rest) == 0:
		return nil, &Error{word, "its value is missing"}
	case !has:
		value, rest = rest[0], rest[1:]
	}
	if letter == 'C' && value == "" {
		return nil, &Error{word, "it names no directory"}
	}
	if l.Plain = false; letter == 'u' {
		l.Unset = append(l.Unset, value)
	} else {
		l.Dir = value
	}
	l.Own = append(l.Own, "-"+string(letter), value)
	return rest, nil
}
