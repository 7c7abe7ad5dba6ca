package mcpproxy

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// place is an object or array whose members mean something to the scanner.
type place uint8

const (
	nowhere    place = iota
	inBatch          // the outermost array
	inEnvelope       // a message
	inParams
	inParamsMeta
	inResult
	inResultMeta
	inError
	inContent // result.content
	inCapabilities
	inExperimental // params.capabilities.experimental
	inErrorData
	places // how many there are
)

// member is a name that the scanner knows in some place.
type member uint8

const (
	unknown member = iota
	mJSONRPC
	mID
	mMethod
	mParams
	mResult
	mError
	mName
	mArguments
	mMeta
	mContent
	mIsError
	mCode
	mVersion
	mStructured
	mMessage
	mData
	mRequestID
	mCapabilities
	mInputs
	mRoots
	mExperimental
	mToken    // params._meta.progressToken
	mProgress // params.progressToken
	mOwn      // any name that begins with OwnPrefix
)

// known lists the members of each place. A name that differs from one of them
// only in case is a flaw, because some decoders (encoding/json, which folds as
// bytes.EqualFold does) take it for that one.
var known = [places][]struct {
	name string
	m    member
}{
	inEnvelope: {{"jsonrpc", mJSONRPC}, {"id", mID}, {"method", mMethod}, {"params", mParams}, {"result", mResult}, {"error", mError}},
	inParams: {
		{"name", mName}, {"arguments", mArguments}, {"_meta", mMeta},
		{"requestId", mRequestID}, {"capabilities", mCapabilities}, {"inputResponses", mInputs},
		{"progressToken", mProgress},
	},
	inParamsMeta:   {{VersionKey, mVersion}, {"progressToken", mToken}},
	inResult:       {{"content", mContent}, {"isError", mIsError}, {"_meta", mMeta}, {"structuredContent", mStructured}},
	inError:        {{"code", mCode}, {"message", mMessage}, {"data", mData}},
	inCapabilities: {{"roots", mRoots}, {"experimental", mExperimental}},
}

// maxNames is how many unknown names of one object are remembered.
const maxNames = 32

// names is the set of member names of one open object.
type names struct {
	known  uint32 // bits by member
	n      int    // unknown ones
	exact  [maxNames]uint64
	folded [maxNames]uint64
}

func (s *names) reset() { s.known, s.n = 0, 0 }

// add looks a decoded name up and remembers it. Flaws are: it was there before,
// or it equals another name but for its case. A name that is a known one but for
// its case comes back as that one, with FlawCase: see Scanner.shadow.
func (s *names) add(p place, name []byte) (member, Flaw) {
	for _, k := range known[p] {
		if string(name) == k.name {
			bit := uint32(1) << k.m
			if s.known&bit != 0 {
				return k.m, FlawDuplicate
			}
			s.known |= bit
			return k.m, 0
		}
	}
	plain := undotted(name)
	for _, k := range known[p] {
		if bytes.EqualFold(plain, []byte(k.name)) {
			return k.m, FlawCase
		}
	}
	exact, folded := hashes(name)
	for i := range s.n {
		if s.folded[i] == folded {
			if s.exact[i] == exact {
				return unknown, FlawDuplicate
			}
			return unknown, FlawCase
		}
	}
	if s.n == maxNames {
		return unknown, FlawBounds
	}
	s.exact[s.n], s.folded[s.n] = exact, folded
	s.n++
	return unknown, 0
}

// hashes returns FNV-1a of the name and of its case folding. Equal names have
// equal hashes, so nothing is missed; a collision can only make a frame look
// worse than it is.
func hashes(name []byte) (exact, folded uint64) {
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

// fold returns the smallest rune that differs from r only in case.
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
