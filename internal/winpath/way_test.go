package winpath

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// disk is a drive of a test: what each path is, without links at its end.
type disk struct {
	links map[string]string // symbolic links, and junctions, which begin with "J "
	odd   map[string]error  // other reparse points, with the error of Readlink
	asked []string
}

func (d *disk) way() Way {
	return Way{
		Lstat: func(path string) (fs.FileMode, error) {
			d.asked = append(d.asked, path)
			if target, ok := d.links[path]; ok {
				if strings.HasPrefix(target, "J ") {
					return fs.ModeIrregular, nil
				}
				return fs.ModeSymlink, nil
			}
			if _, ok := d.odd[path]; ok {
				return fs.ModeIrregular, nil
			}
			if strings.HasSuffix(path, "none") {
				return 0, fs.ErrNotExist
			}
			return fs.ModeDir, nil
		},
		Readlink: func(path string) (string, error) {
			if err := d.odd[path]; err != nil {
				return "", err
			}
			return strings.TrimPrefix(d.links[path], "J "), nil
		},
	}
}

// TestWay: a path of a project that a link leads to another machine is refused, with the link and where it
// leads, and nothing there is asked for. Links within this machine are followed.
func TestWay(t *testing.T) {
	const base = `C:\me\project`
	for path, c := range map[string]struct {
		links map[string]string
		link  string // that is refused; "" for none
		to    string
	}{
		`C:\me\project\.mcp.json`:         {nil, "", ""},
		`c:/ME/project/a/b.js`:            {map[string]string{`C:\ME\project\a`: `\\evil\s`}, `C:\ME\project\a`, `\\evil\s\b.js`},
		`C:\me\project\file`:              {map[string]string{`C:\me\project\file`: `\\evil\s\x`}, `C:\me\project\file`, `\\evil\s\x`},
		`C:\me\project\slashes`:           {map[string]string{`C:\me\project\slashes`: `//evil/s`}, `C:\me\project\slashes`, `\\evil\s`},
		`C:\me\project\mixed`:             {map[string]string{`C:\me\project\mixed`: `\/evil\s`}, `C:\me\project\mixed`, `\\evil\s`},
		`C:\me\project\junction\x`:        {map[string]string{`C:\me\project\junction`: `J \\evil\s`}, `C:\me\project\junction`, `\\evil\s\x`},
		`C:\me\project\unc`:               {map[string]string{`C:\me\project\unc`: `\\?\UNC\evil\s`}, `C:\me\project\unc`, `\\?\UNC\evil\s`},
		`C:\me\project\nt`:                {map[string]string{`C:\me\project\nt`: `\??\UNC\evil\s`}, `C:\me\project\nt`, `\\?\UNC\evil\s`},
		`C:\me\project\device`:            {map[string]string{`C:\me\project\device`: `\\.\UNC\evil\s`}, `C:\me\project\device`, `\\.\UNC\evil\s`},
		`C:\me\project\global`:            {map[string]string{`C:\me\project\global`: `\\?\GLOBALROOT\Device\Mup\evil\s`}, `C:\me\project\global`, `\\?\GLOBALROOT\Device\Mup\evil\s`},
		`C:\me\project\pipe`:              {map[string]string{`C:\me\project\pipe`: `\\.\pipe\x`}, `C:\me\project\pipe`, `\\.\pipe\x`},
		`C:\me\project\like`:              {map[string]string{`C:\me\project\like`: `\\wsl$.evil\s`}, `C:\me\project\like`, `\\wsl$.evil\s`},
		`C:\me\project\one\x`:             {map[string]string{`C:\me\project\one`: `two`, `C:\me\project\two`: `..\three`, `C:\me\three`: `\\evil\s`}, `C:\me\three`, `\\evil\s\x`},
		`C:\me\project\rooted`:            {map[string]string{`C:\me\project\rooted`: `\other\y`, `C:\other`: `\\evil\s`}, `C:\other`, `\\evil\s\y`},
		`C:\me\project\drive`:             {map[string]string{`C:\me\project\drive`: `D:\x`, `D:\x`: `\\evil\s`}, `D:\x`, `\\evil\s`},
		`C:\me\project\long`:              {map[string]string{`C:\me\project\long`: `\\?\D:\x`, `D:\x`: `\\evil\s`}, `D:\x`, `\\evil\s`},
		`C:\me\project\volume\x`:          {map[string]string{`C:\me\project\volume`: `J \\?\Volume{a-b}\`, `\\?\Volume{a-b}\x`: `\\evil\s`}, `\\?\Volume{a-b}\x`, `\\evil\s`},
		`C:\me\project\x.js:stream`:       {map[string]string{`C:\me\project\x.js`: `\\evil\s\x`}, `C:\me\project\x.js`, `\\evil\s\x`},
		`C:\me\project\a\..\b`:            {map[string]string{`C:\me\project\b`: `\\evil\s`}, `C:\me\project\b`, `\\evil\s`},
		`C:\me\beside\x`:                  {map[string]string{`C:\me\beside`: `\\evil\s`}, `C:\me\beside`, `\\evil\s\x`},
		`\\evil\share\x`:                  {nil, "", `\\evil\share\x`},
		`//evil/share`:                    {nil, "", `\\evil\share`},
		`\\?\UNC\evil\s\x`:                {nil, "", `\\?\UNC\evil\s\x`},
		`C:\me\project\kept`:              {map[string]string{`C:\me`: `\\nas\me`, `C:\me\project\kept`: `x`}, "", ""}, // the user is there already
		`C:\me\project\linux`:             {map[string]string{`C:\me\project\linux`: `\\wsl.localhost\Debian\x`}, `C:\me\project\linux`, `\\wsl.localhost\Debian\x`},
		`//WSL$/Debian/x`:                 {nil, "", `\\WSL$\Debian\x`},
		`C:\me\project\local`:             {map[string]string{`C:\me\project\local`: `J D:\x`}, "", ""},
		`C:\me\project\none\x`:            {map[string]string{`C:\me\project\link`: `\\evil\s`}, "", ""},
		`C:\me\project\nul`:               {map[string]string{`C:\me\project\nul`: `\\evil\s`}, "", ""}, // no file has the name
		`C:\me\project\a\..\link\..\none`: {map[string]string{`C:\me\project\link`: `\\evil\s`}, "", ""},
	} {
		d := &disk{links: c.links}
		err := d.way().Check(base, path)
		var away *AwayError
		if errors.As(err, &away) != (c.to != "") || away != nil && (away.Link != c.link || away.To != c.to || away.Err != nil || away.Path != path) {
			t.Errorf("%s: %v, want %s to %s", path, err, c.link, c.to)
		}
		if away != nil && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "sign you in") && !strings.Contains(err.Error(), "asks the network")) {
			t.Errorf("%s: %v", path, err)
		}
		if i := slices.IndexFunc(d.asked, isAway); i >= 0 {
			t.Errorf("%s: asked for %s", path, d.asked[i])
		}
	}
}

// TestWayUnknown: a link that cannot be read, or leads in a circle, is refused. A reparse point that is no
// link is none.
func TestWayUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		disk disk
		want string
	}{
		"circle":    {disk{links: map[string]string{`C:\p\x`: `y`, `C:\p\y`: `x`}}, "too many links"},
		"unread":    {disk{odd: map[string]error{`C:\p\x`: fs.ErrPermission}}, "permission denied"},
		"empty":     {disk{links: map[string]string{`C:\p\x`: ``}}, "it is empty"},
		"no root":   {disk{links: map[string]string{`C:\p\x`: `D:x`}}, "working directory of a drive"},
		"cloud":     {disk{odd: map[string]error{`C:\p\x`: fs.ErrNotExist}}, ""},
		"ends here": {disk{links: map[string]string{`C:\p\x`: `y\z`}}, ""},
	} {
		err := c.disk.way().Check(`C:\p`, `C:\p\x`)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `C:\p\x`)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestWayOnShare: in a directory of another machine its files are looked at, and links from there are not
// followed to one.
func TestWayOnShare(t *testing.T) {
	d := &disk{links: map[string]string{`\\nas\me\p\link`: `\\evil\s`, `\\nas\me\p\near`: `b`}}
	for path, refused := range map[string]bool{`\\NAS\me\p\a`: false, `\\nas\me\p\near`: false, `\\nas\me\p\link`: true, `\\nas\other\x`: true, `\\evil\me\p\a`: true} {
		if err := d.way().Check(`\\nas\me\p`, path); (err != nil) != refused {
			t.Errorf("%s: %v", path, err)
		}
	}
	d = &disk{links: map[string]string{`\\wsl$\U\p\link`: `\usr\bin\node`, `\\wsl$\U\p\other`: `\\wsl$\V\x`}}
	for path, refused := range map[string]bool{`\\WSL$\u\p\a`: false, `\\wsl$\U\p\link`: false, `\\wsl$\U\p\other`: true, `\\wsl.localhost\U\p\a`: true} {
		if err := d.way().Check(`\\wsl$\U\p`, path); (err != nil) != refused {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// FuzzWay: no path and no link make Check ask another machine.
func FuzzWay(f *testing.F) {
	for _, s := range []string{`\\evil\s`, `//evil/s`, `\??\UNC\e\s`, `a\..\..\x`, `D:x`, `\\?\C:\x`, `\\?\C:\..\\\e\s`, `\\?\Volume{a}\..\..\x`, `\\wsl$\..\..\evil\s`} {
		f.Add(`C:\p\x`, s)
		f.Add(s, `x`)
	}
	f.Fuzz(func(t *testing.T, path, target string) {
		d := &disk{links: map[string]string{`C:\p\x`: target, `C:\p\y`: "J " + target}}
		d.way().Check(`C:\p`, path)
		for _, asked := range d.asked {
			if root, _ := split(asked); root == "" || isAway(root) {
				t.Errorf("%q with a link to %q asks for %q", path, target, asked)
			}
		}
	})
}
