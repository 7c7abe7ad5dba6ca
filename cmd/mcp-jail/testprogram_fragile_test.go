package main

import (
	"bufio"
	"os"
	"strings"
)

// fragileMain is a legacy server that exits when a client sends server/discover.
func fragileMain() {
	in := bufio.NewReader(os.Stdin)
	r, w, err := os.Pipe()
	if err != nil {
		os.Exit(1)
	}
	os.Stdin = r
	go func() {
		for {
			line, err := in.ReadString('\n')
			if strings.Contains(line, "server/discover") {
				os.Exit(101)
			}
			w.WriteString(line)
			if err != nil {
				w.Close()
				return
			}
		}
	}()
	serve("fragile", victimTools, useVictim)
}
