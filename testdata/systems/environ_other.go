//go:build unix && !darwin

package main

import (
	"os"
	"strconv"
)

func environment(s stage) error {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(s.Driver) + "/environ")
	return shows(s, text, err)
}
