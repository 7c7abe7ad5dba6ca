package hostfs

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxAncestors bounds the processes above this one that are looked at.
const maxAncestors = 8

// ancestors returns the files of the programs that this process descends from: the MCP client
// that started it, the interpreter of that client, its shell. It leaves out the processes of other
// users, whose files the kernel does not tell.
func ancestors() (files []string) {
	pid := os.Getppid()
	for range maxAncestors {
		if pid <= 1 {
			break
		}
		dir := "/proc/" + strconv.Itoa(pid)
		if file, err := os.Readlink(dir + "/exe"); err == nil && filepath.IsAbs(file) && !strings.HasSuffix(file, " (deleted)") {
			files = append(files, file)
		}
		stat, err := ReadFile(dir + "/stat")
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name may have spaces
		if err != nil || len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(string(fields[1])); err != nil {
			break
		}
	}
	return files
}
