package winpath

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is the error of a name that no directory has.
var ErrNotFound = errors.New("there is no such program")

// A ScriptError refuses a file that an interpreter would have to run.
type ScriptError struct{ Path, Why, Fix string }

func (e *ScriptError) Error() string { return fmt.Sprintf("%s %s; %s", e.Path, e.Why, e.Fix) }

// Find finds the program of a command. dirs are those of PATH, clean. The working directory is not
// searched. A command with a path is relative to dir.
func Find(command, dir string, dirs []string, isFile func(path string) bool) (string, error) {
	if !strings.ContainsAny(command, `\/:`) {
		for _, d := range dirs {
			if p, err := programAt(d+`\`+command, isFile); !errors.Is(err, ErrNotFound) {
				return p, err
			}
		}
		return "", ErrNotFound
	}
	if !strings.HasPrefix(command, `\`) && !strings.HasPrefix(command, "/") && !strings.Contains(command, ":") {
		command = dir + `\` + command
	}
	return programAt(command, isFile)
}

// programAt finds the program of a path, with or without an extension.
func programAt(path string, isFile func(path string) bool) (string, error) {
	path, err := Clean(path)
	if err != nil {
		return "", err
	}
	for _, extension := range []string{"", ".exe", ".com", ".cmd", ".bat", ".ps1"} {
		// A file without an extension is a script for other systems, which npm puts beside its batch file.
		if file := path + extension; Extension(file) != "" && isFile(file) {
			return startable(file)
		}
	}
	return "", ErrNotFound
}

// startable returns a file, or the error that says why it is not started.
func startable(file string) (string, error) {
	switch Extension(file) {
	case ".exe", ".com":
		return file, nil
	case ".cmd", ".bat":
		return "", &ScriptError{file, "is a batch file, and cmd.exe would read arguments as commands", "write the program that it starts and its arguments, or  cmd /c  in front of it"}
	case ".ps1":
		return "", &ScriptError{file, "is a script of PowerShell, which would read arguments as expressions", "write the program that it starts, and its arguments"}
	}
	return "", &ScriptError{file, "is no program of Windows", "write the interpreter before it, such as node or python"}
}
