package installed

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// projectFS has the files of a project, which a server may have written: it opens only regular
// files, of up to maxProjectFile bytes.
type projectFS string

const maxProjectFile = 4 << 20

// Open implements fs.FS.
func (dir projectFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := os.OpenFile(filepath.Join(string(dir), filepath.FromSlash(name)), os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > maxProjectFile) {
		err = fmt.Errorf("%s is no regular file of up to %d bytes", f.Name(), maxProjectFile)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
