package steps

import (
	"fmt"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// refuseFixed refuses the steps that an attribute of a file or of its directory denies: immutable and
// append-only (chattr(1)). Begun all the same, they could leave temporary names that undo may not
// remove.
func (r *Review) refuseFixed() {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Action != Refuse {
			if why := s.fixed(); why != "" {
				s.refuse(why)
			}
		}
	}
}

func (s *Step) fixed() string {
	paths := []string{s.Path}
	if s.Action != Attributes {
		paths = append(paths, filepath.Dir(s.Path))
	}
	if s.From != "" {
		paths = append(paths, s.From, filepath.Dir(s.From))
	}
	for _, path := range paths {
		fd, err := object.OpenPath(path, 0)
		if err != nil {
			continue
		}
		var st unix.Statx_t
		err = unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &st)
		unix.Close(fd)
		for _, a := range []struct {
			bit        uint64
			name, flag string
		}{{unix.STATX_ATTR_IMMUTABLE, "immutable", "i"}, {unix.STATX_ATTR_APPEND, "append-only", "a"}} {
			if err != nil || st.Attributes&a.bit == 0 {
				continue
			}
			then := "" // a directory is known as before; a file has another time of its inode then
			if object.KindOf(uint32(st.Mode)) != object.Dir {
				then = ", move the file away"
			}
			return fmt.Sprintf("%s is %s: take that attribute away (chattr -%s)%s, and run undo again", path, a.name, a.flag, then)
		}
	}
	return ""
}
