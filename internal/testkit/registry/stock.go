package registry

// Stock is what a registry has, and how it behaves. The zero Stock is an empty registry.
type Stock struct {
	Packages []Package
	Wheels   []Wheel
	Faults   []Fault

	Token string // demanded for everything, see Package.Token
	Base  string // what addresses in answers begin with; otherwise as the client came
}
