package download

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// place puts the unpacked packages into their places, and links their programs.
func place(tree []*node, w *walk, work string) error {
	used := map[string]bool{}
	for _, n := range tree {
		a := w.fetch(n.name, "", n.Integrity) // which is there
		to := filepath.Join(work, filepath.FromSlash(n.path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if addsToLock(a.dir, n) {
			return errOther
		}
		if !used[a.dir] {
			used[a.dir] = true
			if err := os.Rename(a.dir, to); err != nil {
				return err
			}
			continue
		}
		if err := w.registry.unpack(w.ctx, n.name, "", n.Integrity, to); err != nil {
			return err
		}
	}
	return link(tree, work)
}

// addsToLock reports whether npm adds to its lock file when it unpacks a package: packages in the archive,
// or a script that builds what node-gyp can build.
func addsToLock(dir string, n *node) bool {
	return has(dir, "node_modules") || has(dir, "binding.gyp") && !n.HasInstallScript
}

func has(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// link makes the links of the packages' programs, as npm does.
func link(tree []*node, work string) error {
	mode := 0o777 &^ processUmask()
	for _, n := range tree {
		for name, target := range n.Bin {
			target = path.Clean(strings.TrimPrefix(target, "./"))
			if name == "" || strings.ContainsAny(name, "/\\") || name == "." || name == ".." || !filepath.IsLocal(target) {
				return errOther
			}
			file := filepath.Join(work, filepath.FromSlash(n.path), filepath.FromSlash(target))
			info, err := os.Lstat(file)
			if err != nil || !info.Mode().IsRegular() {
				return errOther
			}
			if err := os.Chmod(file, mode); err != nil {
				return err
			}
			head, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if line, _, found := bytes.Cut(head[:min(len(head), 2048)], []byte("\n")); found && bytes.HasPrefix(line, []byte("#!")) && bytes.HasSuffix(line, []byte("\r")) {
				return errOther
			}
			modules := n.path[:strings.LastIndex(n.path, "node_modules/")+len("node_modules")]
			bin := filepath.Join(work, filepath.FromSlash(modules), ".bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				return err
			}
			to := path.Join("..", strings.TrimPrefix(n.path, modules+"/"), target)
			if err := os.Symlink(to, filepath.Join(bin, name)); err != nil {
				return errOther // two packages have a program of this name
			}
		}
	}
	return nil
}
