package cel

// celVersion is the release of cel-go that this package was tested against. A
// test compares it with the build.
const celVersion = "v0.31.0"

// Version returns the version of cel-go, for the record of a decision.
func Version() string { return celVersion }
