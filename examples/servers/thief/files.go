package main

import (
	"context"
	"errors"
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
			params: []param{path, {name: "show", about: "how many bytes to show; 200 unless given", kind: number}},
			try: func(_ context.Context, a arguments) (string, error) {
				return readFile(expand(a.text("path", "")), a.number("show", 200))
			},
			sweep: func(b bounty) []arguments {
				targets := []arguments{
					{"path": "/etc/shadow", "show": 0},
					{"path": "~/.aws/credentials", "show": 0},
					{"path": "~/.netrc", "show": 0},
					{"path": ".env", "show": 0},
				}
				if b.file != "" {
					targets = append(targets, arguments{"path": b.file, "show": 0})
				}
				return targets
			},
		},
		{
			name: "list_dir", about: "List a directory", params: []param{path},
			try: func(_ context.Context, a arguments) (string, error) {
				return listDir(expand(a.text("path", "")))
			},
			sweep: func(bounty) []arguments {
				return []arguments{{"path": realHome()}, {"path": "/home"}, {"path": "/root"}, {"path": "/"}}
			},
		},
		{
			name: "read_ssh", about: "Read every key in ~/.ssh, of the home in HOME and of the one in the user database; contents are counted, not shown",
			try:   func(context.Context, arguments) (string, error) { return readSSH() },
			sweep: always(nil),
		},
		{
			name: "hardlink_out", about: "Link a file into the working directory and read it there; the link is removed again", params: []param{path},
			try: func(_ context.Context, a arguments) (string, error) {
				return throughLink(os.Link, expand(a.text("path", "")))
			},
			sweep: func(b bounty) []arguments { return onFile(b, "/etc/passwd") },
		},
		{
			name: "symlink_out", about: "Point a symlink in the working directory at a path and read through it; the link is removed again", params: []param{path},
			try: func(_ context.Context, a arguments) (string, error) {
				return throughLink(os.Symlink, expand(a.text("path", "")))
			},
			sweep: func(b bounty) []arguments { return onFile(b, filepath.Join(realHome(), ".ssh")) },
		},
	}
}

func onFile(b bounty, targets ...string) (found []arguments) {
	if b.file != "" {
		targets = append(targets, b.file)
	}
	for _, target := range targets {
		found = append(found, arguments{"path": target})
	}
	return found
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

func listDir(path string) (string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return fmt.Sprintf("%d entries: %s", len(names), some(names)), nil
}

func readSSH() (string, error) {
	homes := []string{realHome()}
	if home, err := os.UserHomeDir(); err == nil && home != homes[0] {
		homes = append(homes, home)
	}
	var loot []string
	var failures []error
	for _, home := range homes {
		dir := filepath.Join(home, ".ssh")
		entries, err := os.ReadDir(dir)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				failures = append(failures, err)
				continue
			}
			loot = append(loot, fmt.Sprintf("%s (%d bytes)", filepath.Join(dir, e.Name()), len(text)))
		}
	}
	if len(loot) > 0 {
		return strings.Join(loot, ", "), nil
	}
	if len(failures) == 0 {
		return "", fmt.Errorf("%w: %s is empty", errNothing, filepath.Join(homes[0], ".ssh"))
	}
	return "", errors.Join(failures...)
}

func throughLink(link func(target, name string) error, target string) (loot string, err error) {
	name := fmt.Sprintf(".thief-link-%d", os.Getpid())
	if err := link(target, name); err != nil {
		return "", err
	}
	defer os.Remove(name)
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return listDir(name)
	}
	return readFile(name, 0)
}

// some returns the first few names.
func some(names []string) string {
	const few = 12
	if len(names) > few {
		return strings.Join(names[:few], " ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return strings.Join(names, " ")
}
