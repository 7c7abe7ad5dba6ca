package confine

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

func (b *rootBuilder) links() error {
	for _, l := range b.order.Links {
		if err := b.mkdirs(path.Dir(l.Path), openDir); err != nil {
			return err
		}
		err := b.t.Symlinkat(l.Target, b.root, rel(l.Path))
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return on(l.Path, err)
		}
	}
	return nil
}

func (b *rootBuilder) files() error {
	for _, f := range b.order.Files {
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

func (b *rootBuilder) touchFile(f madeFile) error { return b.touch(f.Path, f.Content, openDir) }

// cover puts a file of the jail's own over one of the host's, or over a symlink. Where
// there is none, none is needed.
func (b *rootBuilder) cover(f madeFile) error {
	target, err := openLast(b.t, b.root, rel(f.Path))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return on(f.Path, err)
	}
	defer b.t.Close(target)
	// Like a mask it lies in the jail's /dev, until it is attached.
	const name = ".covering-file"
	fd, err := b.t.Openat(b.own.dev, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return on(f.Path, err)
	}
	defer b.t.Close(fd)
	if err := writeAll(b.t, fd, f.Content); err != nil {
		return on(f.Path, err)
	}
	object, err := openObject(b.t, b.own.dev, name)
	if err != nil {
		return on(f.Path, err)
	}
	defer b.t.Close(object)
	tree, err := openTree(b.t, object, "", unix.AT_EMPTY_PATH, maskAttr)
	if err != nil {
		return on(f.Path, err)
	}
	defer b.t.Close(tree)
	if err := attachTo(b.t, tree, target); err != nil {
		return on(f.Path, err)
	}
	return on(f.Path, b.t.Unlinkat(b.own.dev, name, 0))
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
