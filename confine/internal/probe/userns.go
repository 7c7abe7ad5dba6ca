package probe

// with is what holds for a host that was asked about user namespaces.
func (f Facts) With(userns Feature) Facts {
	f.UserNamespaces = userns
	if userns.Answer == No {
		f.lookAround()
	}
	return f
}
