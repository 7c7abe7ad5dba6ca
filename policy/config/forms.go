package config

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

func serverForm() form {
	return form{Pattern: `^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`, Check: func(name string) error {
		if policy.ValidServerName(name) {
			return nil
		}
		return fmt.Errorf("the server name %q is refused: a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'", policy.Abbreviate(name))
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
