package confine

import "flag"

// updateGolden is this package's one -update flag.
var updateGolden = flag.Bool("update", false, "rewrite the golden files")
