package diagnostics_test

import (
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

func Example() {
	profile := &policy.Profile{
		Server: "notes", Dir: "/home/u/work", Workspace: "/home/u/work",
		Entries: []policy.Entry{{Path: "/home/u/work", Rights: policy.Read, Origin: policy.OriginRule}},
		Env:     []policy.Variable{{Name: "TOKEN", Value: "s3cr3t-s3cr3t", Secret: true}},
	}
	tail := diagnostics.NewTail(diagnostics.NewRedactor(profile.Env))
	fmt.Fprintln(tail, "starting with s3cr3t-s3cr3t") // the server's stderr
	fmt.Fprintln(tail, "Error: EROFS: read-only file system, open '/home/u/work/index.db'")

	d := diagnostics.Diagnose(diagnostics.Evidence{
		Stage:    diagnostics.StageStartup,
		Server:   "notes",
		Profile:  profile,
		Exit:     &diagnostics.Exit{Code: 1},
		Stderr:   tail.Lines(20),
		UserHome: "/home/u",
		Exists:   func(path string) bool { return true },
	})
	fmt.Print(d.Text())
	fmt.Println(d.Code, d.Attribution)
	os.Stdout.Write(diagnostics.ConfigFailure("notes", "mcp-jail.toml:3: unknown key").ErrorFrame([]byte("7"))[:33])
	// Output:
	// mcp-jail: notes ended before its first answer (exit status 1). The jail probably blocked this: notes may read index.db, but not write there.
	// mcp-jail:   The server said: "Error: EROFS: read-only file system, open '/home/u/work/index.db'"
	// mcp-jail:   to allow it: mcp-jail grant notes --last
	// -31002 likely
	// {"jsonrpc":"2.0","id":7,"error":{
}
