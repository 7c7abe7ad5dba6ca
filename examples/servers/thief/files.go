package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

func fileThefts() []theft {
	path := param{name: "path", about: "absolute, relative, or beginning with ~/", required: true}
	return []theft{
		{
			name: "read_file", about: "Read a file",
			params: []param{path, {name: "show", about: "how many bytes to show; 200 unless given", number: true}},
			try: func(_ context.Context, a arguments) (string, error) {
				return readFile(expand(a.text("path", "")), a.number("show", 200))
			},
		},
	}
}

// realHome returns the home directory of the user database, where the files of the user are. A jail sets HOME to another
// directory.
func realHome() string {
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.HomeDir != "" {
		return u.HomeDir
	}
	home, _ := os.UserHomeDir()
	return home
}

func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(realHome(), rest)
	}
	return path
}

func readFile(path string, show int) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	show = max(0, min(show, len(text)))
	if show == 0 {
		return fmt.Sprintf("%d bytes", len(text)), nil
	}
	return fmt.Sprintf("%d bytes: %q", len(text), text[:show]), nil
}
