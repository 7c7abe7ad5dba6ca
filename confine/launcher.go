package confine

// The launcher: see DESIGN.md for the contract; filled in by backend_*.go.
