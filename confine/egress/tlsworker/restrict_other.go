//go:build !linux && !darwin

package tlsworker

import "errors"

func restrictSelf() error { return errors.New("mcp-jail-tls runs on Linux and macOS only") }
