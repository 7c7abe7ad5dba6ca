package config

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/stamp"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/trust"
)

type form = reader.Form

func looks(pattern string, check func(string) error) form {
	return form{Pattern: pattern, Check: check}
}

var (
	serverForm = looks(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`, named(policy.ValidServerName,
		"the server name %q is refused: a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'"))
	// idForm is that of an id, and of the key of a server without one.
	idForm = looks(serverForm.Pattern, named(policy.ValidServerName, "the id %q is refused: mcp-jail wrap makes ids, of small letters, digits and '-'"))
	// directoryForm is that of where a server starts: policy.StartInWorkspace or a path that does not depend on
	// where its client starts it.
	directoryForm = looks(`^(workspace|~|(~/|/)[^\r\n]*)$`, checkDirectory)
	commandForm   = looks(`^[^*\n]+$`, named(func(name string) bool { return name != "" && !strings.ContainsAny(name, "*\x00\n") }, "the command name %q is refused"))
	pathForm      = looks(`^(~|~/[^\r\n]*|[^~\r\n][^\r\n]*)$`, policy.CheckPath)
	sensitiveForm = looks(`^(~/[^\r\n]*|[^~\r\n][^\r\n]*)$`, policy.CheckSensitivePath)
	hostForm      = looks(`^(\*|(\*\.)?[^*@%/\\?#\x00-\x20\x7f]+)$`, func(host string) error {
		_, err := policy.NormalizeHost(host)
		return err
	})
	variableForm = looks(`^[^=*\r\n]+$`, policy.CheckVariable)
	prefixForm   = looks(`^([^=*\r\n]+\*?|\*)$`, policy.CheckEnvName)
)

// named checks a name. refusal has a place for it.
func named(valid func(string) bool, refusal string) func(string) error {
	return func(name string) error {
		if valid(name) {
			return nil
		}
		return fmt.Errorf(refusal, policy.Abbreviate(name))
	}
}

func checkDirectory(dir string) error {
	if dir == policy.StartInWorkspace {
		return nil
	}
	if dir != "~" && !strings.HasPrefix(dir, "~/") && !strings.HasPrefix(dir, "/") {
		return fmt.Errorf("the directory %q is refused: write a path from / or ~/, or \"workspace\"", policy.Abbreviate(dir))
	}
	return policy.CheckPath(dir)
}

// These patterns are for parts of a net rule. policy.CheckNetRule checks the parts, with the
// whole rule.
const (
	methodPattern   = `^[A-Z0-9_-]{1,32}$`
	prefixPattern   = `^(/[^?#\r\n]*)?$`
	variablePattern = `^[A-Za-z0-9_]{1,256}$`
	filePattern     = `^(~/|/)[^\r\n]*$`
	headerPattern   = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$"
)

type (
	// A Stamp tells whether the files of a configuration have changed since it was taken.
	Stamp = stamp.Stamp
	// TrustStore remembers which project files the user accepted, by path and SHA-256.
	TrustStore = trust.TrustStore
	// UntrustedError reports a project file that was not accepted, or has changed since.
	UntrustedError = trust.UntrustedError
	// TrustStoreError reports a trust store that another user may have written.
	TrustStoreError = trust.TrustStoreError
)

// Suggest returns the candidate that word most likely means, or "" if none is close.
func Suggest(word string, candidates []string) string { return reader.Suggest(word, candidates) }

// Digest returns an identifier of a policy, or of a table of the configuration. It does not
// depend on places in a file.
func Digest(value any) string { return stamp.Digest(value) }
