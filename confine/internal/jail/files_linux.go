package jail

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

func (b *rootBuilder) links() error {
	for _, l := range b.Spec.Links {
		if err := b.mkdirs(path.Dir(l.Path), openDir); err != nil {
			return err
		}
		err := stub.Symlinkat(b.Task, l.Target, b.root, rel(l.Path))
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return sys.On(l.Path, err)
		}
	}
	return nil
}

func (b *rootBuilder) files() error {
	for _, f := range b.Spec.Files {
		put := b.touchFile
		if f.Over {
			put = b.cover
		}
		if err := put(f); err != nil {
			return err
		}
	}
	return nil
}

func (b *rootBuilder) touchFile(f spec.MadeFile) error { return b.touch(f.Path, f.Content, openDir) }

// cover mounts a file of the jail's own over a file of the host's or over a symlink. It does
// nothing if there is no such file.
func (b *rootBuilder) cover(f spec.MadeFile) error {
	target, err := OpenLast(b.Task, b.root, rel(f.Path))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return sys.On(f.Path, err)
	}
	defer stub.Close(b.Task, target)
	// Like the source of a mask, the file is in the jail's /dev until it is attached.
	const name = ".covering-file"
	fd, err := stub.Openat(b.Task, b.PrivateFS.dev, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return sys.On(f.Path, err)
	}
	defer stub.Close(b.Task, fd)
	if err := writeAll(b.Task, fd, f.Content); err != nil {
		return sys.On(f.Path, err)
	}
	object, err := OpenObject(b.Task, b.PrivateFS.dev, name)
	if err != nil {
		return sys.On(f.Path, err)
	}
	defer stub.Close(b.Task, object)
	tree, err := openTree(b.Task, object, "", unix.AT_EMPTY_PATH, maskAttr)
	if err != nil {
		return sys.On(f.Path, err)
	}
	defer stub.Close(b.Task, tree)
	if err := attachTo(b.Task, tree, target); err != nil {
		return sys.On(f.Path, err)
	}
	return sys.On(f.Path, stub.Unlinkat(b.Task, b.PrivateFS.dev, name, 0))
}

func writeAll(t *stub.Task, fd int, content string) error {
	n, err := stub.Write(t, fd, []byte(content))
	if err != nil {
		return err
	}
	return t.OnComplete(func() error {
		if t.Resolve(n) < len(content) {
			return unix.ENOSPC
		}
		return nil
	})
}
