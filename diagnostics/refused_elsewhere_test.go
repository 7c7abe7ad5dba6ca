package diagnostics

import (
	"strings"
	"testing"
)

// TestRefusedElsewhere lists messages of real programs about refusals that are not the
// jail's. No diagnosis is made for them.
func TestRefusedElsewhere(t *testing.T) {
	for _, text := range []string{
		"Access denied - path outside allowed directories: /home/u/notes/a.md not in /home/u/work",
		"Access denied - symlink target outside allowed directories: /home/u/.ssh/id_rsa not in /home/u/work",
		"Error: EACCES: permission denied, open '/home/u/work/out.txt'",
		"PermissionError: [Errno 13] Permission denied: '/home/u/work/out.txt'",
		"sh: 1: ./tool.sh: Permission denied", "bash: line 1: ./tool.sh: Permission denied", "Error: spawn /home/u/work/tool.sh EACCES", "PermissionError: [Errno 13] Permission denied: './tool.sh'",
		"cat: nofile: No such file or directory", "cat: /nowhere/at/all: No such file or directory", "EACCES: permission denied, scandir '/nowhere'",
		"sh: 1: nosuchprogram: not found", "Error: spawn nosuchprogram ENOENT",
		"HTTP 403 Forbidden", "Request failed with status code 403: Access denied", "AxiosError: Request failed with status code 401", "GitHub API error: 403 Forbidden: permission denied",
		"The requested URL returned error: 403", "fetch failed: 503 Service Unavailable", "AccessDenied: Access Denied (Service: Amazon S3; Status Code: 403)",
		"Permission denied, please try again.",
		"rpc error: code = PermissionDenied desc = caller does not have permission", "ERROR:  permission denied for table users", "ERROR 1045 (28000): Access denied for user 'u'@'localhost' (using password: YES)",
		"fatal: not a git repository (or any of the parent directories): .git", "getaddrinfo ENOTFOUND api.github.com", "Error: BAR_KEY environment variable is required", "Invalid arguments: query is required",
	} {
		ev := evidence(text)
		tool := "/home/u/work/tool.sh"
		ev.Exists = func(p string) bool { return p == tool || someHost.exists(p) }
		ev.Executable = func(p string) bool { return p != tool }
		if d := Diagnose(ev); !d.Silent() {
			t.Errorf("%s\n%s", text, d.Text())
		}
	}
	// The controls: similar words about refusals of the jail.
	for _, text := range []string{
		"Error: EACCES: permission denied, open '/home/u/notes/a.md'", "cat: /home/u/notes/a.md: No such file or directory", "sh: 1: ./tool.sh: Permission denied", "Error: spawn rg ENOENT",
		"Permission denied", "fetch failed", "getaddrinfo ENOTFOUND api.x.com", "Error: FOO_TOKEN environment variable is required", "Parent directory does not exist: /home/u/notes",
		"git@github.com: Permission denied (publickey).\r\nfatal: Could not read from remote repository.", "u@host: Permission denied (publickey,password).", // the user's keys are not there
	} {
		ev := evidence(text)
		tool := "/home/u/work/tool.sh"
		ev.Exists = func(p string) bool { return p == tool || someHost.exists(p) }
		if Diagnose(ev).Silent() {
			t.Errorf("nothing is said of %s", text)
		}
	}
}

// TestRoots checks that a path that a server refuses because of its client's roots is
// explained and never granted.
func TestRoots(t *testing.T) {
	for _, path := range []string{"/home/u/notes/a.md", "/home/u/.ssh/id_rsa", "/home/u/work/out.txt"} {
		ev := evidence("Access denied - path outside allowed directories: " + path + " not in /home/u/work/src")
		ev.Roots = []string{"/home/u/work/src"}
		d := Diagnose(ev)
		if d.Attribution != None || d.Silent() || len(d.Words)+len(d.Hints) > 0 || !strings.Contains(d.Cause, `the client has given it "/home/u/work/src" as its roots`) {
			t.Errorf("%s", d.Text())
		}
		if block := blockText(d); !strings.Contains(block, "The jail blocked nothing here: the server itself refuses") || !strings.Contains(block, "Open that directory in the client") {
			t.Errorf("%s", block)
		}
		ev.Roots = []string{"/home/u"}
		if d := Diagnose(ev); !d.Silent() {
			t.Errorf("it lies in the roots: %s", d.Text())
		}
	}
}

// TestHomeOfServer checks that a path in the private HOME that the server itself refuses is
// explained: the call said "~".
func TestHomeOfServer(t *testing.T) {
	const home = "/home/u/.local/state/mcp-jail/homes/github"
	ev := evidence("Access denied - path outside allowed directories: " + home + "/notes/a.md not in /home/u/work/src")
	d := Diagnose(ev)
	if d.Attribution != None || len(d.Words) > 0 || !strings.Contains(d.Cause, "which is in its private HOME: in the jail a ~ does not stand for your home directory") || !strings.Contains(advised(d), `write the whole path into the call, "/home/u/notes/a.md"`) {
		t.Errorf("%s", d.Text())
	}
	ev.Profile.HomePrivate = false
	if d := Diagnose(ev); !d.Silent() {
		t.Errorf("with the user's home: %s", d.Text())
	}
}
