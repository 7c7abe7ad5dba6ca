package runtime

import (
	"context"
	"slices"
	"strings"
)

// A tree is a directory of Windows that has one interpreter for each of its directories.
type tree struct {
	root, program, source string
}

// installer is the source of what the installers of python.org have made.
const installer = "python.org"

// trees returns where programs for Windows put versions of a language. Only a python.exe below a directory
// that begins with "Python" is that of the installer.
func (s *search) trees() (all []tree) {
	if s.found.Language == Python {
		for _, at := range [][2]string{{"LOCALAPPDATA", `\Programs\Python`}, {"PROGRAMFILES", ""}} {
			if base := strings.TrimRight(s.variable(at[0]), `\`); base != "" {
				all = append(all, tree{base + at[1], "python.exe", installer})
			}
		}
	}
	for _, m := range s.Host.VersionManagers() {
		if m.Language == string(s.found.Language) {
			all = append(all, tree{m.Versions, m.Program, m.Name})
		}
	}
	return all
}

// findOnWindows finds interpreters on Windows. Names have no case there, and the working directory is not
// searched. Only .exe files count, and PATHEXT is not read: a batch file would take arguments for commands.
func (s *search) findOnWindows(ctx context.Context) {
	dirs := s.windowsPath()
	for i, name := range s.windowsNames() {
		for _, dir := range dirs {
			file := join(dir, name)
			if !s.isFile(file) {
				continue
			}
			if why := s.standIn(dir); why != "" {
				s.refuse(file, "PATH", why, nil)
				continue
			}
			s.addOnWindows(ctx, place{file: file, source: "PATH", isDefault: i == 0 && len(s.found.Interpreters) == 0})
		}
	}
	for _, t := range s.trees() {
		s.addTree(ctx, t)
	}
	s.askLauncher(ctx, dirs)
}

func (s *search) windowsNames() []string {
	if s.found.Language == Node {
		return []string{"node.exe"}
	}
	return []string{"python.exe", "python3.exe"}
}

// windowsPath returns the directories of PATH that are whole paths of this machine.
func (s *search) windowsPath() (dirs []string) {
	for dir := range strings.SplitSeq(s.variable("PATH"), ";") {
		dir = strings.TrimRight(strings.ReplaceAll(strings.Trim(dir, `"`), "/", `\`), `\`)
		same := func(d string) bool { return strings.EqualFold(d, dir) }
		if isWhole(dir) && !slices.ContainsFunc(dirs, same) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// variable returns the value of a variable of the host, whose name has no case on Windows.
func (s *search) variable(name string) string {
	for _, v := range s.Host.Environ {
		if n, value, _ := strings.Cut(v, "="); n != "" && strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// isWhole reports whether a path has a drive, and none of the names that lead back.
func isWhole(dir string) bool {
	if len(dir) < 2 || dir[1] != ':' || 'a' > dir[0]|0x20 || dir[0]|0x20 > 'z' || len(dir) > 2 && dir[2] != '\\' {
		return false
	}
	names := strings.Split(dir[2:], `\`)
	return !slices.Contains(names, "..") && !slices.Contains(names, ".") && !strings.ContainsAny(dir[2:], `:*?"<>|`)
}

func join(dir, name string) string { return strings.TrimRight(dir, `\`) + `\` + name }

func (s *search) isFile(file string) bool {
	info, err := s.Host.Lstat(file)
	return err == nil && info.Mode.IsRegular()
}

// standIn says why the programs of a directory are no interpreters.
func (s *search) standIn(dir string) string {
	switch {
	case strings.HasSuffix(strings.ToLower(dir), `\microsoft\windowsapps`):
		return "it is a stand-in that opens the store of Windows"
	case s.isFile(join(dir, "volta.exe")), s.isFile(join(dir, "volta-shim.exe")):
		return "it is a stand-in of volta, which starts one of the versions below VOLTA_HOME"
	case strings.HasSuffix(strings.ToLower(dir), `\scripts`) && s.isFile(dir[:len(dir)-len("scripts")]+"pyvenv.cfg"):
		return "it is a stand-in of a virtual environment, which starts the Python that this was made from"
	}
	return ""
}

// versionsOf returns the directories of a tree, the newest version first.
func (s *search) versionsOf(t tree) (dirs []string) {
	if !isWhole(t.root) {
		return nil
	}
	entries, _ := s.Host.ReadDir(t.root)
	var names []string
	for _, e := range entries {
		if t.source != installer || strings.HasPrefix(strings.ToLower(e.Name), "python") {
			names = append(names, e.Name)
		}
	}
	for _, name := range newestFirst(names) {
		dirs = append(dirs, join(t.root, name))
	}
	return dirs
}

func (s *search) addTree(ctx context.Context, t tree) {
	for _, dir := range s.versionsOf(t) {
		if file := join(dir, t.program); s.isFile(file) {
			if !slices.Contains(s.found.managers, t.source) {
				s.found.managers = append(s.found.managers, t.source)
			}
			p := place{file: file, source: t.source}
			if v := bareVersion(dir[strings.LastIndexByte(dir, '\\')+1:]); strings.Count(v, ".") == 2 && isRelease(v) == 1 {
				p.version = v
			}
			s.addOnWindows(ctx, p)
		}
	}
}

// askLauncher asks the launcher of Python, py.exe, which knows every installation, if no other place has
// one.
func (s *search) askLauncher(ctx context.Context, dirs []string) {
	if s.found.Language != Python || len(s.found.Interpreters) > 0 || s.Launcher == nil {
		return
	}
	for _, dir := range dirs {
		py := join(dir, "py.exe")
		if !s.isFile(py) || s.standIn(dir) != "" {
			continue
		}
		if reason := s.faultOnWindows(py); reason != "" {
			s.refuse(py, "PATH", reason, nil)
			continue
		}
		text, err := s.Launcher(ctx, py)
		if err != nil {
			s.refuse(py, "PATH", "it does not tell which versions there are: "+err.Error(), err)
			return
		}
		for _, file := range launcherPaths(text) {
			s.addOnWindows(ctx, place{file: file, source: "py"})
		}
		return
	}
}

// launcherPaths returns the interpreters in what py.exe answers to -0p, in its order. A line has a version,
// a star if it is the default, and a path, which may have blanks.
func launcherPaths(text string) (files []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.Index(line, `:\`)
		if !strings.HasPrefix(line, "-") || at < 1 || line[at-1] == '-' {
			continue
		}
		file := strings.TrimSpace(strings.TrimSuffix(line[at-1:], "*")) // where an old launcher puts it
		if isWhole(file) && strings.HasSuffix(strings.ToLower(file), ".exe") && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

func (s *search) faultOnWindows(file string) string {
	if s.Untrusted != nil {
		if why := s.Untrusted(file); why != "" {
			return why
		}
	}
	if err := s.owners.CheckTrusted(file); err != nil {
		return err.Error()
	}
	return ""
}

func (s *search) addOnWindows(ctx context.Context, p place) {
	same := func(i Interpreter) bool { return strings.EqualFold(i.Path, p.file) }
	if i := slices.IndexFunc(s.found.Interpreters, same); i >= 0 {
		if have := &s.found.Interpreters[i]; !slices.Contains(have.Sources, p.source) {
			have.Sources = append(have.Sources, p.source)
		}
		return
	}
	if ctx.Err() != nil || !s.isFile(p.file) {
		return
	}
	reason := s.faultOnWindows(p.file)
	if name := strings.ToLower(p.file[strings.LastIndexByte(p.file, '\\')+1:]); reason == "" && !IsInterpreter(s.found.Language, strings.TrimSuffix(name, ".exe")) {
		reason = "its name is not that of an interpreter"
	}
	if reason != "" {
		s.refuse(p.file, p.source, reason, nil)
		return
	}
	if p.version == "" {
		var ok bool
		if p.version, ok = s.askVersion(ctx, p.file, p.source); !ok {
			return
		}
	}
	s.found.Interpreters = append(s.found.Interpreters, Interpreter{Language: s.found.Language, Path: p.file, Version: p.version, Sources: []string{p.source}, Default: p.isDefault})
}
