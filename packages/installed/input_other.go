//go:build !linux

package installed

import "os"

// inputOf returns a pipe: a program can read the text once.
func inputOf(text string) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // it ends with the last reader, at the latest
		write.WriteString(text)
		write.Close()
	}()
	return read, nil
}
