package step

import (
	"errors"
)

var ErrHeldNot = errors.New("it succeeded and must not: the jail does not hold")
