package house_test

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// startingCalls are what starts a program, for each package that has it. The constants are those
// of system calls.
var startingCalls = map[string][]string{
	"os/exec":                  {"Command", "CommandContext", "Cmd"},
	"os":                       {"StartProcess"},
	"syscall":                  {"ForkExec", "StartProcess", "Exec", "SYS_EXECVE", "SYS_EXECVEAT"},
	"golang.org/x/sys/windows": {"CreateProcess"},
	"golang.org/x/sys/unix":    {"Exec", "SYS_EXECVE", "SYS_EXECVEAT"},
}

// openingCalls open files by their names, or change what has a name.
var openingCalls = map[string][]string{
	"os": strings.Fields(`Open OpenFile OpenRoot OpenInRoot Create CreateTemp ReadFile ReadDir WriteFile DirFS CopyFS
		Mkdir MkdirAll MkdirTemp Remove RemoveAll Rename Link Symlink Chmod Chown Lchown Chtimes Truncate`),
	"io/ioutil":             {"ReadFile", "ReadDir", "WriteFile", "TempFile", "TempDir"},
	"path/filepath":         {"Glob", "Walk", "WalkDir"},
	"syscall":               openingSystemCalls,
	"golang.org/x/sys/unix": openingSystemCalls,
}

var openingSystemCalls = strings.Fields(`Open Openat Openat2 Creat Mkdir Mkdirat Mknod Mknodat Mkfifo Mkfifoat Rmdir
	Unlink Unlinkat Rename Renameat Renameat2 Link Linkat Symlink Symlinkat Chmod Fchmodat Chown Lchown Fchownat
	Utimes UtimesNano UtimesNanoAt Truncate`)

// callsOf returns what finds the calls, for each package that has them, that a file uses.
func callsOf(calls map[string][]string) func(source) []string {
	return func(s source) (found []string) {
		imported := map[string][]string{}
		for _, spec := range s.file.Imports {
			from, _ := strconv.Unquote(spec.Path.Value)
			as := path.Base(from)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			if imported[as] = calls[from]; as == "." && imported[as] != nil {
				found = append(found, "all of "+from)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				if name, of := nameOf(call); slices.Contains(imported[of], name) {
					found = append(found, of+"."+name)
				}
			}
			return true
		})
		return found
	}
}

// nameOf returns the name of a function, and of the package or value before its dot.
func nameOf(x ast.Node) (function, owner string) {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			owner = id.Name
		}
		return x.Sel.Name, owner
	case *ast.Ident:
		return x.Name, ""
	}
	return "", ""
}

var printing = []string{
	"os.Stdout", "os.Stderr", "os.NewFile", "fmt.Print", "fmt.Printf", "fmt.Println", "syscall.Write", "unix.Write",
	"log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf",
}

// printsOf returns what in a file of cmd writes to a standard stream by another way than the methods of a console.
func printsOf(s source) (found []string) {
	if !strings.HasPrefix(s.name, "cmd/") || s.dir == "cmd/internal/terminal" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			name, of := nameOf(n)
			if name == "Raw" || slices.Contains(printing, of+"."+name) {
				found = append(found, of+"."+name)
			}
		case *ast.CallExpr:
			name, of := nameOf(n.Fun)
			if of != "" || len(n.Args) == 0 || name != "print" && name != "println" {
				break
			}
			if text, ok := n.Args[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				found = append(found, name)
			}
		}
		return true
	})
	return found
}
