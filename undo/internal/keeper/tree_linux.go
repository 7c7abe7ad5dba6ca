package keeper

import (
	"fmt"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// maxTree bounds the names below a directory that is moved, each of which gets a record.
const maxTree = 20000

// tree records what is below a directory that is about to move, and returns the rest of
// each path after that of the directory. The contents stay where they are: the records name
// the inodes.
func (k *Keeper) tree(dir int, name, path string) (below []string) {
	left := maxTree
	below = k.walk(dir, name, path, "", &left, nil)
	k.flush()
	if left < 0 {
		k.missing(path, fmt.Sprintf("this directory was moved, and of the names below it only the first %d were recorded", maxTree))
	}
	return below
}

func (k *Keeper) walk(dir int, name, path, rest string, left *int, out []string) []string {
	fd, lock, err := k.opener.dir(dir, name)
	if err != nil {
		k.missing(path+rest, "it was moved, and the names below it are not known: "+err.Error())
		return out
	}
	defer lock()
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		k.missing(path+rest, "it was moved, and not all of the names below it are known: "+err.Error())
	}
	for _, child := range names {
		// A negative rest tells the caller that names are missing.
		if *left--; *left < 0 {
			return out
		}
		st, err := object.Look(fd, child)
		if err != nil {
			k.missing(path+rest+"/"+child, "it was moved, and cannot be looked at: "+err.Error())
		}
		if err != nil || st.Kind == object.None {
			continue
		}
		below := rest + "/" + child
		if k.full(path + below) {
			return out
		}
		out = append(out, below)
		m, foreign := k.marked(path+below, &st)
		if st.Kind == object.Dir && (!m.kept || foreign) {
			st.Masked = k.opener.maskedDir(fd, child)
		}
		switch {
		case m.kept && !foreign:
			k.again(path+below, m)
		default:
			k.add(path+below, m, journal.Record{Word: wordOf(foreign), At: time.Now().UnixNano(), Path: path + below, State: st})
		}
		m.addCandidate(st)
		if st.Kind == object.Dir {
			out = k.walk(fd, child, path, below, left, out)
		}
	}
	return out
}
