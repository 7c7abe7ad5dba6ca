package policy

// UnsearchableRule is the Rule of an entry that hides a directory which cannot be looked into.
const UnsearchableRule = "cannot be searched"
