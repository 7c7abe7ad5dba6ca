package mcpproxy

import (
	"bytes"
	"hash/maphash"
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
	seen   uint32            // one bit for each known key
	like   uint32            // the same for known keys in another case
	others map[uint64]uint64 // of an unknown name: the hash of its case folding, and its own
}

func (s *keySet) reset() { *s = keySet{} }

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
		return has(keyParams) || len(s.others) == 0
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
	// A collision of hashes reports a flaw that the frame does not have, and hides none.
	exact, folded := maphash.Bytes(hashSeed, name), maphash.Bytes(hashSeed, bytes.Map(fold, name))
	if other, ok := s.others[folded]; ok && other == exact {
		return keyUnknown, FlawDuplicate
	} else if ok {
		return keyUnknown, FlawCase
	}
	if len(s.others) == maxKeys {
		return keyUnknown, FlawBounds
	}
	if s.others == nil {
		s.others = map[uint64]uint64{}
	}
	s.others[folded] = exact
	return keyUnknown, 0
}

var hashSeed = maphash.MakeSeed()

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
