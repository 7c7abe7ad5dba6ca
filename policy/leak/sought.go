package leak

import (
	"encoding/binary"
	"net/url"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Unsought is a secret variable whose value is not looked for in what the server sends.
type Unsought struct{ Name, Why string }

// Sought returns the secrets to look for in the messages and requests of a server. env are its
// variables. Those that were granted as secrets are looked for, but for others, whose values are
// short, or occur in texts that show no secret. Of a URL with a password, the URL and the password
// are each looked for, of a value of several lines each longer line.
//
// A value that the server does not hold is no secret to look for: the time of a search, or a refused
// answer, would tell the server whether it has guessed a part of the value.
func Sought(env []policy.Variable) (secrets []Secret, others []Unsought) {
	for _, v := range env {
		if !v.Secret || v.Value == policy.Placeholder(v.Name) {
			continue
		}
		values, why := soughtValues(v.Name, v.Value)
		if why != "" {
			others = append(others, Unsought{v.Name, why})
		}
		for _, value := range values {
			secrets = append(secrets, Secret{Name: v.Name, Value: value})
		}
	}
	return secrets, others
}

func soughtValues(name, value string) (values []string, why string) {
	value = strings.TrimSpace(value)
	if u, err := url.Parse(value); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok && len(password) >= Shortest && !isWords(password) {
			return []string{value, password}, ""
		}
	}
	switch {
	case len(value) < Shortest:
		return nil, "its value has fewer than 8 bytes"
	case IsPlainValue(value) || IsPlainHost(name, value):
		return nil, "its value is a path or an address"
	case isNumeric(value):
		return nil, "its value is a number"
	case isWords(value):
		return nil, "its value is made of words"
	case !isNameOfSecret(name) && !holdsToken(value):
		return nil, "neither its name nor its value looks like a secret"
	case !strings.ContainsAny(value, "\r\n"):
		return []string{value}, ""
	}
	for _, line := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
		// The frame of a PEM block is no secret, and short lines are too common.
		if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
			values = append(values, line)
		}
	}
	if values == nil {
		why = "its lines are short"
	}
	return values, why
}

func isNumeric(value string) bool {
	return len(value) < 16 && strings.Trim(value, "0123456789.:,-_ ") == ""
}

func isWords(value string) bool {
	lower := strings.ToLower(value)
	if value != lower && value != strings.ToUpper(value) && value != strings.ToUpper(value[:1])+lower[1:] {
		return false
	}
	return len(value) < 16 && strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz.-_ ") == ""
}

// isNameOfSecret reports whether people give a name to secrets only. policy.LooksLikeSecret accepts
// more names: variables with AUTH or SESSION in their names hold authors and desktops too.
func isNameOfSecret(name string) bool {
	for _, part := range [...]string{"AUTHOR", "AUTH", "SESSION", "COOKIE"} {
		name = strings.ReplaceAll(strings.ToUpper(name), part, "")
	}
	return policy.LooksLikeSecret(name)
}

// grams is a set of short texts, given by their hashes (a Bloom filter). has may be true for a text
// that was not added.
type grams struct {
	bits  []uint64
	shift uint8
}

func newGrams(n, each int) grams {
	bits := 12
	for bits < 23 && 1<<bits < each*n {
		bits++
	}
	return grams{make([]uint64, 1<<bits/64), uint8(64 - bits)}
}

func (g *grams) add(h uint64) { h >>= g.shift & 63; g.bits[h/64] |= 1 << (h % 64) }

func (g *grams) has(h uint64) bool { h >>= g.shift & 63; return g.bits[h/64]&(1<<(h%64)) != 0 }

// addTwice and hasTwice use two bits for a text, so that hasTwice is true for fewer texts that were
// not added.
func (g *grams) addTwice(h uint64) { g.add(h); g.add(again(h)) }

func (g *grams) hasTwice(h uint64) bool { return g.has(h) && g.has(again(h)) }

func again(h uint64) uint64 { return (h ^ h>>32) * mix }

const mix = 0x9E3779B97F4A7C15

func eight(b []byte) uint64 { return binary.LittleEndian.Uint64(b) * mix }

func four(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) * mix }

func three(a, b, c byte) uint64 { return (uint64(a)<<16 | uint64(b)<<8 | uint64(c) | 1<<40) * mix }
