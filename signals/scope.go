package signals

// Scope is what a bundle's scope data says to facts. Lists are named by the
// policy author, and a fact says which lists a path, command or host is on:
// what follows from that is policy.
type Scope struct {
	// Roots are the directories that a task may work in, absolute or relative to
	// the working directory.
	Roots []string
	// Paths are named lists of globs, below a root when relative.
	Paths map[string][]string
	// Commands are named lists of command patterns.
	Commands map[string][]string
	// Wrappers are programs that run the command that follows them, besides the
	// known ones.
	Wrappers []string
	// Hosts are named lists of host patterns.
	Hosts map[string][]string
	// Tests says which files a test runner collects.
	Tests TestScope
	// Windows are named, recurring spans of local time.
	Windows map[string]Window
}

// TestScope says which files a test runner collects and which directories it
// leaves out; nil: the usual names of each ecosystem.
type TestScope struct{ Collect, Ignore []string }

// Window is a weekly span in a time zone: from inclusive, to exclusive, as
// "Fri 16:00".
type Window struct{ Zone, From, To string }

// ScopeProblem is something in the scope that cannot be used.
type ScopeProblem struct {
	Path    []string // keys below the scope
	Message string
	Hint    string
}
