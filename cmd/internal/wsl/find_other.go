//go:build !windows

package wsl

import "errors"

// Find returns an error: only Windows has wsl.exe.
func Find() (Program, error) {
	return Program{}, errors.New("--wsl is for Windows. In a Linux of WSL, `mcp-jail wrap --windows` has servers of clients on Windows start there")
}
