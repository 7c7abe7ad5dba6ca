package policy

// Unsearched is the Rule of an entry that hides a directory which cannot be looked into.
const Unsearched = "cannot be searched"
