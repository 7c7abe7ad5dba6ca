package rootfs

import (
	"errors"
	"path"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

func (b *Builder) links() error {
	for _, l := range b.Spec.Links {
		if err := b.mkdirs(path.Dir(l.Path), openDir); err != nil {
			return err
		}
		err := b.T.Symlinkat(l.Target, b.root, rel(l.Path))
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return step.On(l.Path, err)
		}
	}
	return nil
}

func (b *Builder) files() error {
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

func (b *Builder) touchFile(f spec.MadeFile) error { return b.touch(f.Path, f.Content, openDir) }

// cover puts a file of the jail's own over one of the host's, or over a symlink. Where
// there is none, none is needed.
func (b *Builder) cover(f spec.MadeFile) error {
	target, err := OpenLast(b.T, b.root, rel(f.Path))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return step.On(f.Path, err)
	}
	defer b.T.Close(target)
	// Like a mask it lies in the jail's /dev, until it is attached.
	const name = ".covering-file"
	fd, err := b.T.Openat(b.PrivateFS.dev, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return step.On(f.Path, err)
	}
	defer b.T.Close(fd)
	if err := writeAll(b.T, fd, f.Content); err != nil {
		return step.On(f.Path, err)
	}
	object, err := OpenObject(b.T, b.PrivateFS.dev, name)
	if err != nil {
		return step.On(f.Path, err)
	}
	defer b.T.Close(object)
	tree, err := openTree(b.T, object, "", unix.AT_EMPTY_PATH, maskAttr)
	if err != nil {
		return step.On(f.Path, err)
	}
	defer b.T.Close(tree)
	if err := attachTo(b.T, tree, target); err != nil {
		return step.On(f.Path, err)
	}
	return step.On(f.Path, b.T.Unlinkat(b.PrivateFS.dev, name, 0))
}

// writeAll writes a file in memory, which takes everything at once or is full.
func writeAll(t *stub.Task, fd int, content string) error {
	n, err := t.Write(fd, []byte(content))
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
