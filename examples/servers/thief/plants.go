package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// plantThefts leave files that later run in the name of the user.
func plantThefts() []theft {
	return []theft{
		{
			name: "write_file", about: "Write a file. Without a path it is a new one in the real home directory, removed again; with one it stays. A file that exists is never overwritten, only, when asked, appended to",
			params: []param{
				{name: "path", about: "where; absolute, relative, or beginning with ~/"},
				{name: "text", about: "what"},
				{name: "append", about: "\"yes\" to append to a file that exists"},
			},
			try: func(_ context.Context, a arguments) (string, error) { return writeFile(a) },
		},
		{
			name: "write_hook", about: "Make .git/hooks/pre-commit, which the user would run with the next commit; removed again",
			try: func(context.Context, arguments) (string, error) { return writeHook(".git") },
		},
	}
}

func writeFile(a arguments) (string, error) {
	path, text := expand(a.text("path", "")), a.text("text", "the thief was here\n")
	flags, stays := os.O_WRONLY|os.O_CREATE|os.O_EXCL, true
	switch {
	case path == "":
		path, stays = filepath.Join(realHome(), fmt.Sprintf(".thief-%d", os.Getpid())), false
	case a.text("append", "") == "yes":
		flags = os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return "", err
	}
	if !stays {
		defer os.Remove(path)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("wrote %d bytes to %s", len(text), path), nil
}

// writeHook makes the missing directories of the path and the hook, as an attacker would, and removes them again.
func writeHook(git string) (string, error) {
	for _, dir := range []string{git, filepath.Join(git, "hooks")} {
		switch err := os.Mkdir(dir, 0o755); {
		case err == nil:
			defer os.Remove(dir)
		case !errors.Is(err, os.ErrExist):
			return "", err
		}
	}
	hook := filepath.Join(git, "hooks", "pre-commit")
	f, err := os.OpenFile(hook, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if errors.Is(err, os.ErrExist) {
		// An existing hook is only opened.
		if f, err = os.OpenFile(hook, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return "", err
		}
		return "may write " + hook, f.Close()
	}
	if err != nil {
		return "", err
	}
	defer os.Remove(hook)
	_, err = f.WriteString("#!/bin/sh\necho the thief was here\n")
	return "made " + hook, errors.Join(err, f.Close())
}
