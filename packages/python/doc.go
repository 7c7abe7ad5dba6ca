// Package python decides from texts how packages of a Python index are fetched, listed and
// started. It knows what a launcher's package is called by pip and uv (Requirement), the words that
// have them fetch it (Request), what is fetched (Package), which programs a package has
// (EntryPoints) and the file that starts one (Starter), and on which versions of Python a tree runs
// (Range).
//
// The package reads what its callers hand it. It starts nothing, asks no index, and imports
// neither os nor syscall.
//
// # A tree
//
//	site/          the packages, as `pip install --target` unpacks them
//	bin/NAME       a starter for each console script, and other programs of the packages
//	children/      a sitecustomize.py for Python programs that a program of the tree starts
//
// A starter makes the environment of a virtual environment: the standard library, then site/.
// Packages of the machine are not visible. The tree names no interpreter and no path of the
// machine, so that one and the same list of wheels becomes the same files everywhere, but for
// the compiled files in __pycache__.
//
// # Limits
//
//   - sys.prefix is that of the interpreter. A package that looks for its data files below
//     sys.prefix, which are in site/ here, does not find them.
//   - The starters need Python 3.
package python
