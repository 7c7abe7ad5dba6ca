package install

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/store"
)

// Progress is how far an installation is.
type Progress struct {
	Step  step
	Files int   // unpacked so far
	Bytes int64 // fetched and unpacked so far
}

// step is what an installation does.
type step string

const (
	waiting  step = "waiting"  // for another installation of the same package
	looking  step = "looking"  // for something newer
	fetching step = "fetching" // resolving, fetching and unpacking
	scripts  step = "scripts"  // running the scripts of packages
	sealing  step = "sealing"  // hashing the files and moving them to their place
)

// limits bound what an installation uses of the disk. 0 is the usual limit.
type limits struct {
	FileMB  int // of one file: 512
	TotalMB int // of all that is fetched and unpacked: 2048. It is measured now and then, so it can be exceeded shortly
	Files   int // that are unpacked: 300,000. They are counted now and then, too
}

func (l limits) file() int    { return cmp.Or(l.FileMB, 512) }
func (l limits) total() int64 { return int64(cmp.Or(l.TotalMB, 2048)) << 20 }
func (l limits) files() int   { return cmp.Or(l.Files, 300_000) }

// tooLargeError reports that an installation was ended because of its size.
type tooLargeError struct {
	Package string
	File    bool // true: one file is too large; false: all files together are
	MB      int  // the limit
	Files   int  // if not 0, the limit of the number of files was exceeded; File and MB do not count
}

func (e *tooLargeError) Error() string {
	if e.Files != 0 {
		return fmt.Sprintf("%s and the packages that it needs have more than %d files, which is the limit of an installation. Nothing was installed", e.Package, e.Files)
	}
	if e.File {
		return fmt.Sprintf("%s: a file of it, or of a package that it needs, is larger than %d MB, which is the limit of an installation. Nothing was installed", e.Package, e.MB)
	}
	return fmt.Sprintf("%s and the packages that it needs take more than %d MB, which is the limit of an installation. Nothing was installed", e.Package, e.MB)
}

func (i *Installer) progress(p Progress) {
	if i.Progress != nil {
		i.Progress(p)
	}
}

// A watch measures the files that an installation writes, a few times a second or less often.
type watch struct {
	installer *Installer
	stage     *store.Stage
	step      step
	work      string // the directory in which the installer unpacks
	cache     string // npm's cache; "" for pip and uv
	tooLarge  context.CancelCauseFunc
	pkg       string
}

func (w *watch) run() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			begin := time.Now()
			w.look()
			// A look takes a tenth of the time at most: a tree may have 100,000 files.
			pause := max(250*time.Millisecond, 9*time.Since(begin))
			select {
			case <-done:
				return
			case <-time.After(pause):
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (w *watch) look() {
	p := Progress{Step: w.step}
	for _, dir := range []string{w.work, filepath.Join(w.cache, "content-v2"), filepath.Join(w.cache, "tmp")} {
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		files, bytes := measure(w.stage.Root().FS(), filepath.ToSlash(w.stage.Below(dir)))
		p.Bytes += bytes
		if dir == w.work {
			p.Files = files
		}
	}
	w.installer.progress(p)
	limits := w.installer.Limits
	switch {
	case w.tooLarge == nil:
	case p.Bytes > limits.total():
		w.tooLarge(&tooLargeError{Package: w.pkg, MB: int(limits.total() >> 20)})
	case p.Files > limits.files():
		w.tooLarge(&tooLargeError{Package: w.pkg, Files: limits.files()})
	}
}

func measure(stage fs.FS, dir string) (files int, bytes int64) {
	fs.WalkDir(stage, dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files++
			bytes += info.Size()
		}
		return nil
	})
	return files, bytes
}
