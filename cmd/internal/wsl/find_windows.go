package wsl

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// Find returns wsl.exe of the system. A program of that name elsewhere is another one.
func Find() (Program, error) {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return Program{}, fmt.Errorf("where Windows has its programs: %w", err)
	}
	path := dir + `\wsl.exe`
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return Program{}, fmt.Errorf("this Windows has no WSL (%s): install it and a Linux with `wsl --install`, and mcp-jail in it", path)
	}
	return Program{path}, nil
}
