package spec

// initThreads is what the shim's own threads take of RLIMIT_NPROC: see spareThreads.
const InitThreads = 19
