package winpath

import (
	"errors"
	"fmt"
	"strings"
)

// Files are the questions about files that finding a program asks.
type Files struct {
	IsFile func(path string) bool
	// Read returns the text of a small file.
	Read func(path string) (string, error)
}

// A Program is what is started for a command: a file, and the arguments that go before those of the
// command.
type Program struct {
	File   string
	Before []string
}

// ErrNotFound is the error of a name that no directory has.
var ErrNotFound = errors.New("there is no such program")

// A ScriptError refuses a file that an interpreter would have to run.
type ScriptError struct{ Path, Why, Fix string }

func (e *ScriptError) Error() string { return fmt.Sprintf("%s %s; %s", e.Path, e.Why, e.Fix) }

// Find finds the program of a command. dirs are those of PATH, clean. The working directory is not
// searched. A command with a path is relative to dir.
func (f Files) Find(command, dir string, dirs []string) (Program, error) {
	if !strings.ContainsAny(command, `\/:`) {
		for _, d := range dirs {
			if p, err := f.at(d+`\`+command, dirs); !errors.Is(err, ErrNotFound) {
				return p, err
			}
		}
		return Program{}, ErrNotFound
	}
	if !strings.HasPrefix(command, `\`) && !strings.HasPrefix(command, "/") && !strings.Contains(command, ":") {
		command = dir + `\` + command
	}
	return f.at(command, dirs)
}

// at finds the program of a path, with or without an extension.
func (f Files) at(path string, dirs []string) (Program, error) {
	path, err := Clean(path)
	if err != nil {
		return Program{}, err
	}
	for _, extension := range []string{"", ".exe", ".com", ".cmd", ".bat", ".ps1"} {
		// A file without an extension is a script for other systems, which npm puts beside its batch file.
		if file := path + extension; Extension(file) != "" && f.IsFile(file) {
			return f.start(file, dirs)
		}
	}
	return Program{}, ErrNotFound
}

func (f Files) start(file string, dirs []string) (Program, error) {
	const fix = "write the program that it starts, and its arguments"
	switch Extension(file) {
	case ".exe", ".com":
		return Program{File: file}, nil
	case ".cmd":
		text, err := f.Read(file)
		if err != nil {
			return Program{}, err
		}
		if shim, ok := ReadShim(text, Dir(file)); ok {
			return f.shim(file, shim, dirs)
		}
		return Program{}, &ScriptError{file, "is a batch file, and cmd.exe would read arguments as commands", fix}
	case ".bat":
		return Program{}, &ScriptError{file, "is a batch file, and cmd.exe would read arguments as commands", fix}
	case ".ps1":
		return Program{}, &ScriptError{file, "is a script of PowerShell, which would read arguments as expressions", fix}
	}
	return Program{}, &ScriptError{file, "is no program of Windows", "write the interpreter before it, such as node or python"}
}

func (f Files) shim(file string, s Shim, dirs []string) (Program, error) {
	before := append(s.Flags, s.Script)
	if f.IsFile(s.Beside) {
		return Program{s.Beside, before}, nil
	}
	for _, d := range dirs {
		if node := strings.TrimRight(d, `\`) + `\node.exe`; f.IsFile(node) {
			return Program{node, before}, nil
		}
	}
	return Program{}, &ScriptError{file, "starts node, and PATH has no node.exe", "install Node.js, or add its directory to PATH"}
}
