package sys

// loIndex is the number of the first interface of a network namespace.
const LoIndex = 1
