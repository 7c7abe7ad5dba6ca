package mcpproxy

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// scope is an object or array whose members the scanner knows.
type scope uint8

const (
	scopeNone    scope = iota
	scopeBatch         // the outermost array
	scopeMessage       // a message
	scopeParams
	scopeParamsMeta
	scopeResult
	scopeResultMeta
	scopeError
	scopeContent // result.content
	scopeCapabilities
	scopeExperimental // params.capabilities.experimental
	scopeErrorData
	scopeCount // the number of scopes
)

// key is a member name that the scanner knows in some scope.
type key uint8

const (
	keyUnknown key = iota
	keyJSONRPC
	keyID
	keyMethod
	keyParams
	keyResult
	keyError
	keyName
	keyArguments
	keyMeta
	keyContent
	keyIsError
	keyCode
	keyVersion
	keyStructured
	keyMessage
	keyData
	keyRequestID
	keyCapabilities
	keyInputs
	keyRoots
	keyExperimental
	keyToken    // params._meta.progressToken
	keyProgress // params.progressToken
	keyReserved // any name that begins with ReservedPrefix
)

// knownKeys lists the members of each scope. A name that equals one of them but for its
// case is a flaw, because some decoders accept it (encoding/json compares names by
// bytes.EqualFold).
var knownKeys = [scopeCount][]struct {
	name string
	m    key
}{
	scopeMessage: {{"jsonrpc", keyJSONRPC}, {"id", keyID}, {"method", keyMethod}, {"params", keyParams}, {"result", keyResult}, {"error", keyError}},
	scopeParams: {
		{"name", keyName}, {"arguments", keyArguments}, {"_meta", keyMeta},
		{"requestId", keyRequestID}, {"capabilities", keyCapabilities}, {"inputResponses", keyInputs},
		{"progressToken", keyProgress},
	},
	scopeParamsMeta:   {{VersionKey, keyVersion}, {"progressToken", keyToken}},
	scopeResult:       {{"content", keyContent}, {"isError", keyIsError}, {"_meta", keyMeta}, {"structuredContent", keyStructured}},
	scopeError:        {{"code", keyCode}, {"message", keyMessage}, {"data", keyData}},
	scopeCapabilities: {{"roots", keyRoots}, {"experimental", keyExperimental}},
}

// maxKeys is the number of unknown names that are recorded for one object.
const maxKeys = 32

// keySet is the set of member names of one open object.
type keySet struct {
	seen   uint32 // one bit for each known key
	like   uint32 // the same for known keys in another case
	n      int    // number of unknown names
	exact  [maxKeys]uint64
	folded [maxKeys]uint64
}

func (s *keySet) reset() { s.seen, s.like, s.n = 0, 0, 0 }

// isMessage reports whether an object with these members is a JSON-RPC message and not, for
// example, a line of a log. Some servers and clients do without jsonrpc. Then a method counts with
// params or without other members, since logs of HTTP requests have a method too, and an error
// counts with an id. Names in another case count, because some readers accept them.
func (s *keySet) isMessage() bool {
	has := func(m key) bool { return (s.seen|s.like)>>m&1 == 1 }
	switch {
	case has(keyJSONRPC):
		return true
	case has(keyMethod):
		return has(keyParams) || s.n == 0
	}
	return has(keyID) && (has(keyResult) || has(keyError))
}

// add looks up a decoded name and records it. The flaw tells that the name was there
// before, or that it equals another name but for its case. A name that equals a known key
// but for its case returns that key with FlawCase: see Scanner.shadowDepth.
func (s *keySet) add(p scope, name []byte) (key, Flaw) {
	for _, k := range knownKeys[p] {
		if string(name) == k.name {
			bit := uint32(1) << k.m
			if s.seen&bit != 0 {
				return k.m, FlawDuplicate
			}
			s.seen |= bit
			return k.m, 0
		}
	}
	plain := foldSpecial(name)
	for _, k := range knownKeys[p] {
		if bytes.EqualFold(plain, []byte(k.name)) {
			s.like |= uint32(1) << k.m
			return k.m, FlawCase
		}
	}
	exact, folded := hashKey(name)
	for i := range s.n {
		if s.folded[i] == folded {
			if s.exact[i] == exact {
				return keyUnknown, FlawDuplicate
			}
			return keyUnknown, FlawCase
		}
	}
	if s.n == maxKeys {
		return keyUnknown, FlawBounds
	}
	s.exact[s.n], s.folded[s.n] = exact, folded
	s.n++
	return keyUnknown, 0
}

// hashKey returns FNV-1a of the name and of its case folding. Equal names have equal
// hashes, so no duplicate is missed. A collision reports a flaw that the frame does not
// have.
func hashKey(name []byte) (exact, folded uint64) {
	const offset, prime = 14695981039346656037, 1099511628211
	exact, folded = offset, offset
	for len(name) > 0 {
		r, n := utf8.DecodeRune(name)
		for _, c := range name[:n] {
			exact = (exact ^ uint64(c)) * prime
		}
		name = name[n:]
		folded = (folded ^ uint64(fold(r))) * prime
	}
	return exact, folded
}

func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
