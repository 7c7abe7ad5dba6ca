package jail

import (
	"os"
)

// Stdio is what the program gets as its first three descriptors. A nil file is
// /dev/null. The launcher does not close them.
type Stdio struct{ In, Out, Err *os.File }
