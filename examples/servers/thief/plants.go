package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
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
			try:   func(_ context.Context, a arguments) (string, error) { return writeFile(a) },
			sweep: always(nil),
		},
		{
			name: "chmod", about: "Set the permissions and the time of a path to what they are",
			params: []param{{name: "path", about: "absolute, relative, or beginning with ~/", required: true}},
			try: func(_ context.Context, a arguments) (string, error) {
				return chmod(expand(a.text("path", "")))
			},
			sweep: func(b bounty) []arguments { return onFile(b, realHome()) },
		},
		{
			name: "write_hook", about: "Make .git/hooks/pre-commit, which the user would run with the next commit; removed again",
			try:   func(context.Context, arguments) (string, error) { return writeHook(".git") },
			sweep: always(nil),
		},
		{
			// Not in the sweep: a crash in the middle would leave a renamed repository.
			name: "swap_git", about: "Move .git away and make another one with a hook in its place; undone again",
			try: func(context.Context, arguments) (string, error) { return swapGit() },
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

func chmod(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(path, info.Mode()); err != nil {
		return "", err
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		return "", err
	}
	return fmt.Sprintf("may change %s of %s", info.Mode().Perm(), path), nil
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

func swapGit() (loot string, err error) {
	away := fmt.Sprintf(".git-thief-%d", os.Getpid())
	if err := os.Rename(".git", away); err != nil {
		return "", err
	}
	defer func() {
		if back := os.Rename(away, ".git"); back != nil {
			err = errors.Join(err, fmt.Errorf("and .git is now at %s: %w", away, back))
		}
	}()
	loot, err = writeHook(".git")
	return loot + " in a .git of its own", err
}
