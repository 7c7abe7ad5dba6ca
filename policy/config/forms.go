package config

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/stamp"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/trust"
)

func serverForm() form {
	return form{Pattern: `^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`, Check: func(name string) error {
		if policy.ValidServerName(name) {
			return nil
		}
		return fmt.Errorf("the server name %q is refused: a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'", policy.Abbreviate(name))
	}}
}

// idForm is that of an id, and of the key of a server without one.
func idForm() form {
	return form{Pattern: serverForm().Pattern, Check: func(id string) error {
		if policy.ValidServerName(id) {
			return nil
		}
		return fmt.Errorf("the id %q is refused: mcp-jail wrap makes ids, of small letters, digits and '-'", policy.Abbreviate(id))
	}}
}

// directoryForm is that of where a server starts: policy.StartInWorkspace or a path that does not depend on
// where its client starts it.
func directoryForm() form {
	return form{Pattern: `^(workspace|~|(~/|/)[^\r\n]*)$`, Check: func(dir string) error {
		if dir == policy.StartInWorkspace {
			return nil
		}
		if dir != "~" && !strings.HasPrefix(dir, "~/") && !strings.HasPrefix(dir, "/") {
			return fmt.Errorf("the directory %q is refused: write a path from / or ~/, or \"workspace\"", policy.Abbreviate(dir))
		}
		return policy.CheckPath(dir)
	}}
}

func commandForm() form {
	return form{Pattern: `^[^*\n]+$`, Check: func(name string) error {
		if name == "" || strings.ContainsAny(name, "*\x00\n") {
			return fmt.Errorf("the command name %q is refused", policy.Abbreviate(name))
		}
		return nil
	}}
}

func pathForm() form {
	return form{Pattern: `^(~|~/[^\r\n]*|[^~\r\n][^\r\n]*)$`, Check: policy.CheckPath}
}

func sensitiveForm() form {
	return form{Pattern: `^(~/[^\r\n]*|[^~\r\n][^\r\n]*)$`, Check: policy.CheckSensitivePath}
}

func hostForm() form {
	return form{Pattern: `^(\*|(\*\.)?[^*@%/\\?#\x00-\x20\x7f]+)$`, Check: func(host string) error {
		_, err := policy.NormalizeHost(host)
		return err
	}}
}

func variableForm() form { return form{Pattern: `^[^=*\r\n]+$`, Check: policy.CheckVariable} }

func prefixForm() form { return form{Pattern: `^([^=*\r\n]+\*?|\*)$`, Check: policy.CheckEnvName} }

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
	// A Shape is what the decoder accepts at one place of a file.
	Shape = reader.Shape
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
