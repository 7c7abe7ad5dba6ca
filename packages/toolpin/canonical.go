package toolpin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// maxDepth is the deepest nesting of a result. Schemas need about 20 levels.
const maxDepth = 64

// JSON is JSON in its canonical form, or "" for no JSON. In a file it is the value that it stands for.
type JSON string

// MarshalJSON implements json.Marshaler.
func (j JSON) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(text []byte) (err error) {
	*j, err = Canonical(text)
	return err
}

// Canonical returns the canonical form (RFC 8785) of one JSON text. Programs differ in how they read two
// members of one name, invalid UTF-8 and half of a surrogate pair, so these are errors.
func Canonical(text []byte) (JSON, error) {
	if err := checkBounds(text); err != nil {
		return "", err
	}
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(); err != nil {
		return "", invalid(err)
	}
	return JSON(v), nil
}

// checkBounds refuses what jsontext takes: deep nesting, and numbers that it would replace by the
// largest double.
func checkBounds(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	for {
		token, err := d.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return invalid(err)
		}
		if d.StackDepth() > maxDepth {
			return fmt.Errorf("the JSON is nested more than %d deep", maxDepth)
		}
		if token.Kind() != '0' {
			continue
		}
		if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
			return fmt.Errorf("the number %s is beyond the range of a double", show.Named(token.String(), 40))
		}
	}
}

// invalid says in words what is wrong with a text.
func invalid(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON text ends early")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		name := show.Named(syntax.JSONPointer.LastToken(), 60)
		return fmt.Errorf("the member %s is there twice, and programs differ in which one they read", name)
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %s", syntax.ByteOffset, show.Named(syntax.Err.Error(), 200))
	}
	return err
}

// Quote returns a text as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func Quote(text string) JSON {
	out, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd"))
	return JSON(out)
}

// text returns the text of a JSON string. ok is false for other JSON.
func (j JSON) text() (text string, ok bool) {
	if !strings.HasPrefix(string(j), `"`) {
		return "", false
	}
	out, err := jsontext.AppendUnquote(nil, string(j))
	return string(out), err == nil
}
