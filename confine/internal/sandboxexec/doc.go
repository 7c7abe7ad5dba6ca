// Package sandboxexec starts programs under macOS's sandbox-exec, watches and ends them.
package sandboxexec
